"""Learning and search in tactical board games; the functions to use from outside are in `boardlab.api`.

Importing the package registers its environments in Gymnasium, such as `boardlab/Minesweeper-16x16-v0`.
"""

from .core.package import answer_to_both_names
from .registration import register_envs

answer_to_both_names()
register_envs()
