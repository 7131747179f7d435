"""Record games of an agent as an animated GIF."""

from pathlib import Path

import hydra
from omegaconf import DictConfig

from .config import CONF
from .config.cli import expand_opponent, launch
from .config.errors import exit_on_user_error
from .core.errors import require

RESULTS = {1: "won", 0: "drawn", -1: "lost", None: "aborted"}


@hydra.main(version_base="1.3", config_path=str(CONF), config_name="record")
@exit_on_user_error
def main(cfg: DictConfig) -> None:
    from .config import compose, schema
    from .core.files import require_writable, write_atomic
    from .core.play import arena
    from .core.play.canvas import Animation
    from .core.runs.console import printable, progress_bar

    cfg = compose.validate(cfg, schema.Record, unused=("opponent",))
    output = Path(cfg.output)
    require(output.suffix.lower() == ".gif", f"output={cfg.output} must end with .gif")
    require_writable(output)  # before the games are played
    game = compose.build_env(cfg).game
    agent, opponent = compose.build_players(cfg, schema.Record, game)
    arena.require_openings(game, cfg.opening_plies)
    animation, lines = Animation(cfg.width), []
    with progress_bar("games", cfg.games) as advance:
        for number in range(cfg.games):
            before = len(animation)
            seat, outcome = arena.watch(
                game,
                agent,
                opponent,
                number,
                cfg.seed,
                lambda state: animation.add(game.image(state), 1 / cfg.fps),
                cfg.opening_plies,
            )
            animation.hold(cfg.last_frame_seconds)
            place = "" if opponent is None else f" as player {seat + 1}"
            lines.append(f"game {number + 1}: {RESULTS[outcome]}{place}, {len(animation) - before} positions")
            advance(number + 1)
    data = animation.encode()
    write_atomic(output, data)
    print(printable("\n".join([*lines, f"{output}: {len(data) / 1000:,.0f} kB"])))


def run() -> None:
    launch(main, expand_opponent)


if __name__ == "__main__":
    run()
