"""Step through a game in the terminal, for a person or any agent."""

import hydra
from omegaconf import DictConfig

from src.core.cli import launch, refuse_multirun
from src.core.errors import require


@hydra.main(version_base="1.3", config_path="../conf", config_name="play_local")
def main(cfg: DictConfig) -> None:
    from pathlib import Path

    import numpy as np

    from src import compose, schema
    from src.core.seeding import generator

    if "agent" not in cfg:  # nobody but the person at the keyboard
        cfg = DictConfig({**cfg, "agent": None})
    cfg = compose.checked(cfg, schema.PlayLocal)
    env = compose.build(cfg.env, "env")
    require(hasattr(env, "play_local"), f"env={cfg.composition.env} cannot be stepped through in the terminal yet")
    agent = None if cfg.agent is None else compose.build_agent("agent", cfg, env.game)
    rng = np.random.default_rng() if cfg.seed is None else generator(cfg.seed, "play_local")
    env.play_local(agent, rng, None if cfg.heatmap is None else Path(cfg.heatmap))


if __name__ == "__main__":
    launch(main, refuse_multirun)
