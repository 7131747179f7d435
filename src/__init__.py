"""Learning and search in tactical board games; the functions to use from outside are in `boardlab.api`.

`import boardlab` registers its environments in Gymnasium, such as `boardlab/Minesweeper-16x16-v0`.
"""

from .core.package import INSTALLED, ROOT, answer_to_both_names

answer_to_both_names()
if ROOT == INSTALLED:  # the commands of a checkout do without Gymnasium until they need it
    from .registration import register_envs

    register_envs()
