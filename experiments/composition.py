"""What the commands compose, for experiments that do without them."""

from hydra import compose, initialize_config_dir
from omegaconf import DictConfig

from src.compose import CONF


def composed(command: str, *overrides: str) -> DictConfig:
    """The configuration of `python -m src.<command> <overrides>`."""
    with initialize_config_dir(str(CONF.resolve()), version_base="1.3"):
        return compose(command, list(overrides))
