"""Every metric a run may log, and what it means. Logging a name that is not here is an error.

`*` stands for a name that depends on the composition, such as an opponent. `step` is the axis of all others: episodes
for tabular learning, environment steps for the rest.
"""

from fnmatch import fnmatchcase

METRICS: dict[str, str] = {
    # every run
    "step": "episodes or environment steps learned from so far; the x axis",
    "time/seconds": "seconds of training so far, over all resumed parts of the run",
    "time/steps_per_second": "learning speed since the previous row",
    "eval/win_rate": "share of games won by the finished agent against the first baseline of the environment",
    "eval/win_rate_low": "lower end of its 95% Wilson interval",
    "eval/win_rate_high": "upper end of its 95% Wilson interval",
    "eval/episodes": "games behind eval/win_rate",
    "eval/*/win_rate": "the same against each baseline by name",
    "eval/*/draw_rate": "share of games drawn against that baseline",
    "eval/*/loss_rate": "share of games lost against that baseline",
    "train/stage": "rung of the curriculum, 0 being the first",
    "eval/*/safe_revealed": "Minesweeper: share of the safe cells revealed, a game",
    "eval/*/steps": "Minesweeper: steps a game",
    "eval/*/invalid_rate": "Minesweeper: share of the steps that were invalid",
    "eval/*/reward_*": "Minesweeper: each component of the reward, summed over a game",
    "eval/*/guess": "Minesweeper: reveals a game that were not certain, for agents that know",
    "eval/*/won_without_guess": "Minesweeper: share of games won without such a reveal",
    # tabular learning
    "train/td_error": "mean absolute correction of the table in the latest game",
    "train/table_size": "entries in the table",
    "eval/score": "what best checkpoints and the curriculum go by, from 0 to 1; for tables the share of lines not lost",
    "eval/lost_lines": "lines lost over every play of the opponent: both seats, with shortcuts and without, added up",
    "eval/lost_lines_table_*": "lines lost by the table alone in the seat named (first or second)",
    "eval/lost_lines_shortcuts_*": "lines lost by the table with win-in-1 and block-in-1 before it",
}


def is_documented(name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in METRICS)
