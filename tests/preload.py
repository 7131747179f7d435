"""Imports what commands import, and parses what they compose: the fork server of multiprocessing does so once."""

import gc
import importlib
import pkgutil
from contextlib import suppress
from pathlib import Path

gc.disable()
LIBRARIES = (
    "wandb.sdk.launch",  # which a run imports; first, because what it does takes longer the more modules there are
    *("antlr4", "hydra._internal.hydra", "hydra.core.plugins", "matplotlib.pyplot", "rich.progress"),
    *("torch._dynamo", "torch.distributed", "wandb"),  # the first of which an optimizer imports
    *("src.config.cli", "src.config.compose", "src.config.load", "tests.fork_server", "tests.parsed_configs"),
)
for name in LIBRARIES:
    importlib.import_module(name)
for package in ("algos", "core", "envs", "nets"):
    for found in pkgutil.walk_packages([str(Path(__file__).parents[1] / "src" / package)], f"src.{package}."):
        with suppress(ImportError):  # an optional package
            importlib.import_module(found.name)
importlib.import_module("hydra.core.plugins").Plugins.instance()  # which looks for all of them
parsed_configs = importlib.import_module("tests.parsed_configs")
parsed_configs.keep()
parsed_configs.parse_all()
gc.collect()
gc.freeze()  # a collection in a child would copy all the memory that it shares
gc.enable()
