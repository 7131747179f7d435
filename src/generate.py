"""Play games of a search against itself and save their positions with labels, to train on with algo=nnue."""

import io
import math
import time
from contextlib import closing, nullcontext
from itertools import count
from pathlib import Path

from omegaconf import DictConfig

from .config.cli import hydra_command, refuse_multirun
from .core.errors import require


@hydra_command("generate", refuse_multirun)
def run(cfg: DictConfig) -> None:
    import numpy as np

    from .config import compose, schema
    from .config.build import build, require_class
    from .core.files import require_writable, write_atomic
    from .core.play.curriculum import Curriculum
    from .core.runs.console import printable, progress_bar

    names = cfg.composition
    plays = hasattr(require_class(cfg.algo, "algo"), "play_games")
    require(plays, f"algo={names.algo} does not learn from labeled positions: leave it out")
    cfg = compose.validate(cfg, schema.Generate)
    output = Path(cfg.output)
    require(output.suffix == ".npy", f"output={output} must end in .npy")
    require_writable(output)  # before the games are played
    env = compose.build_env(cfg)
    compose.require_algorithm_fits(cfg, env.game)
    algo = build(cfg.algo, "algo")
    algo.check(env, Curriculum({}, None))

    end = math.inf if cfg.minutes is None else time.monotonic() + 60 * cfg.minutes
    numbers = range(algo.games) if cfg.minutes is None else count()
    games = algo.play_games(env.game, algo.first_net(env.game), cfg.seed, 0, numbers)
    bar = progress_bar("games", algo.games) if cfg.minutes is None else nullcontext(lambda done: None)
    parts = []
    with closing(games), bar as advance:
        try:
            for game in games:
                parts.append(game.records)
                advance(len(parts))
                if time.monotonic() >= end:
                    break
        except KeyboardInterrupt:
            if not parts:
                raise
            print("stopped: the games so far are kept")
    records = np.concatenate(parts)
    content = io.BytesIO()
    np.save(content, records)
    write_atomic(output, content.getvalue())
    print(printable(f"{len(records):,} positions of {len(parts):,} games in {output}"))


if __name__ == "__main__":
    run()
