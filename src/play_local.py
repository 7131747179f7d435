"""Play a game in the terminal, by hand or by any agent."""

from omegaconf import DictConfig

from .config.cli import hydra_command, use_env_of_run
from .core.errors import require


@hydra_command("play_local", use_env_of_run)
def run(cfg: DictConfig) -> None:
    from pathlib import Path

    import numpy as np

    from .config import compose, schema
    from .core.files import require_writable
    from .core.seeding import generator

    if "agent" not in cfg:  # agent=null: the user plays
        cfg = DictConfig({**cfg, "agent": None})
    cfg = compose.validate(cfg, schema.PlayLocal)
    if cfg.heatmap is not None:
        require(Path(cfg.heatmap).parent.is_dir(), f"heatmap={cfg.heatmap}: its folder does not exist")
        require_writable(Path(cfg.heatmap))
    env = compose.build_env(cfg)
    require(hasattr(env, "play_local"), f"env={cfg.composition.env} cannot be played in the terminal")
    agent = None if cfg.agent is None else compose.build_agent("agent", cfg, env.game)
    rng = np.random.default_rng() if cfg.seed is None else generator(cfg.seed, "play_local")
    env.play_local(agent, rng, None if cfg.heatmap is None else Path(cfg.heatmap))


if __name__ == "__main__":
    run()
