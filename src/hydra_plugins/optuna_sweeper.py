"""Hydra's entry to the hyperparameter search, installed into the namespace package where Hydra looks for sweepers.

Every command and every job of a launcher imports this module, so it imports the search and Optuna only when needed.
"""

from typing import Any

from hydra.core.plugins import Plugins
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig


class OptunaSweeper(Sweeper):
    """Run the trials of a search as jobs of the launcher; its settings are in conf/hydra/sweeper/search.yaml."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        self.config, self.hydra_context = config, hydra_context
        self.launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> None:
        from boardlab.config.hparams_search import Search, Settings

        assert self.config is not None
        assert self.launcher is not None
        directory, check = self.config.hydra.sweep.dir, self.validate_batch_is_legal
        Search(directory, Settings(**self.settings), self.launcher.launch, check).run(arguments)
