"""Compose the configurations of the commands, for experiments that do not call them."""

from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf

from src.config import CONF, schema
from src.config.compose import resolved, task_overrides, validate


def composed(command: str, *overrides: str, with_hydra: bool = False) -> DictConfig:
    """Return the configuration of `python -m src.<command> <overrides>`."""
    with initialize_config_dir(str(CONF.resolve()), version_base="1.3"):
        return compose(command, list(overrides), return_hydra_config=with_hydra)


def kept_by_train(*overrides: str) -> dict[str, Any]:
    """Return the configuration that src.train saves with a run of these overrides, as plain values."""
    cfg = composed("train", *overrides, with_hydra=True)
    HydraConfig.instance().set_config(cfg)  # from which the choices are read
    own = OmegaConf.masked_copy(cfg, [str(key) for key in cfg if key != "hydra"])
    assert isinstance(own, DictConfig)
    kept = validate(own, schema.Train)
    kept.composition.overrides = task_overrides()
    return resolved(kept)
