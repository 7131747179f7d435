"""Learning and search in tactical board games.

`import boardlab` registers its environments in Gymnasium, such as `boardlab/Minesweeper-16x16-v0`. Extensions build on
the names in `__all__`, which are stable; the functions to use from outside are in `boardlab.api`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .core.package import INSTALLED, ROOT, answer_to_both_names

if TYPE_CHECKING:
    from .algos.trainer import LearnerConfig as LearnerConfig
    from .algos.trainer import NetworkLearnerConfig as NetworkLearnerConfig
    from .algos.trainer import NetworkTrainer as NetworkTrainer
    from .algos.trainer import Trainer as Trainer
    from .api import add_config_dir as add_config_dir
    from .api import load_agent as load_agent
    from .api import make as make
    from .api import make_aec as make_aec
    from .api import make_agent as make_agent
    from .api import make_vec as make_vec
    from .core.errors import UserError as UserError
    from .core.play.agent import Agent as Agent
    from .core.play.agent import Decision as Decision
    from .core.play.game import Game as Game
    from .core.play.game import Trait as Trait
    from .core.play.game import TwoPlayerGame as TwoPlayerGame
    from .envs.two_player_env import OutcomeReward as OutcomeReward
    from .envs.two_player_env import SoloEnv as SoloEnv
    from .envs.two_player_env import VersusEnv as VersusEnv
    from .nets.boards import Heads as Heads

__version__ = "0.2.0"

EXPORTS = {  # imported when one of their names is used: some take seconds
    "algos.trainer": ("LearnerConfig", "NetworkLearnerConfig", "NetworkTrainer", "Trainer"),
    "api": ("add_config_dir", "load_agent", "make", "make_aec", "make_agent", "make_vec"),
    "core.errors": ("UserError",),
    "core.play.agent": ("Agent", "Decision"),
    "core.play.game": ("Game", "Trait", "TwoPlayerGame"),
    "envs.two_player_env": ("OutcomeReward", "SoloEnv", "VersusEnv"),
    "nets.boards": ("Heads",),
}
__all__ = sorted(name for names in EXPORTS.values() for name in names)


def __getattr__(name: str) -> Any:
    for module, names in EXPORTS.items():
        if name in names:
            return getattr(import_module(f".{module}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


answer_to_both_names()
if ROOT == INSTALLED:  # the commands of a checkout do without Gymnasium until they need it
    from .registration import register_envs

    register_envs()
