"""Record games of an agent as an animated GIF."""

from pathlib import Path

from omegaconf import DictConfig

from .config.cli import expand_opponent, hydra_command
from .core.errors import require

RESULTS = {1: "won", 0: "drawn", -1: "lost", None: "aborted"}


@hydra_command("record", expand_opponent)
def run(cfg: DictConfig) -> None:
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


if __name__ == "__main__":
    run()
