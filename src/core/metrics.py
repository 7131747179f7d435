"""Every metric a run may log, and what it means. Logging a name that is not here is an error.

`*` stands for a name that depends on the composition, such as an opponent. `step` is the axis of all others: episodes
for tabular learning, environment steps for the rest.
"""

from fnmatch import fnmatchcase

GROUPS: dict[str, dict[str, str]] = {
    "Every run": {
        "step": "episodes or environment steps learned from so far; the x axis",
        "time/seconds": "seconds of training so far, over all resumed parts of the run",
        "time/steps_per_second": "learning speed since the previous row",
        "eval/score": "what best checkpoints and the curriculum go by, from 0 to 1: the share of lines not lost in "
        "games that can be walked completely, else the win rate in games of their own, against the first baseline or "
        "alone",
        "eval/win_rate": "share of games won by the finished agent against the first baseline of the environment",
        "eval/win_rate_low": "lower end of its 95% Wilson interval",
        "eval/win_rate_high": "upper end of its 95% Wilson interval",
        "eval/episodes": "games behind eval/win_rate",
        "eval/win_rate_curve": "a picture: eval/score over the steps beside the win rates of the final evaluation",
        "eval/*/win_rate": "share of games won against each baseline by name",
        "eval/*/draw_rate": "share of games drawn against that baseline",
        "eval/*/loss_rate": "share of games lost against that baseline",
        "train/stage": "rung of the curriculum, 0 being the first",
    },
    "Networks": {
        "train/lr": "learning rate",
        "train/episode_return": "mean sum of rewards of the games finished in the latest rollout, undiscounted",
        "train/episode_length": "mean steps of the learner in them",
        "train/win_rate": "the share of them that was won, exploration included",
        "train/episodes": "their number",
        "train/chosen_share": "share of the steps in which the policy chose; in the others all that was sure was done",
        "train/diagnostics": "a picture: what was chosen how often in training, since the last rung of a curriculum",
        "eval/stage_score": "the score on the current rung of the curriculum, by which it is climbed",
        "losses/loss": "the weighted sum of the losses below",
        "losses/policy_loss": "clipped surrogate objective, negated; "
        "for imitation the cross entropy with what is right",
        "losses/value_loss": "mean squared error of the value against the estimated returns, or the outcome",
        "losses/entropy": "mean entropy of the policy over the legal actions, in nats",
        "losses/approx_kl": "divergence of the policy from the one that played (Schulman's k3), in the last epoch",
        "losses/clip_fraction": "share of steps whose probability ratio was clipped",
        "losses/grad_norm": "length of the gradient before it is clipped",
    },
    "Minesweeper": {
        "eval/*/safe_revealed": "Minesweeper: share of the safe cells revealed, a game",
        "eval/*/steps": "Minesweeper: steps a game",
        "eval/*/invalid_rate": "Minesweeper: share of the steps that were invalid",
        "eval/*/reward_*": "Minesweeper: each component of the reward, summed over a game",
        "eval/*/guess": "Minesweeper: reveals a game that were not certain, for agents that know",
        "eval/*/won_without_guess": "Minesweeper: share of games won without such a reveal",
        "eval/mine_ece": "Minesweeper: expected calibration error of the mine probabilities, on fresh boards",
        "eval/mine_auroc": "Minesweeper: area under the ROC curve of the mine probabilities",
        "losses/mine_loss": "Minesweeper: binary cross entropy of the mine probabilities",
    },
    "The wargame": {
        "deployment_valid_action_rate": "wargame: share of the learner's deployment actions that the engine accepted",
        "deployment_invalid_action_attempt_rate": "wargame: share that the engine refused; 0 with a correct mask",
        "deployment_steps_mean": "wargame: units placed a game, by both players",
        "deployment_deadlock_count": "wargame: games cut off because units were left that could not be placed",
        "deployment_pass_count": "wargame: passes for want of a legal placement, by both players",
        "winrate_with_active_deployment": "wargame: share of training games won, where units are placed by actions",
        "deployment_correlation/*": "wargame: correlation of where the player named put its units in training with "
        "what became of them: survival or damage done, by the distance to an objective or to the enemy's zone",
        "eval/*/deployment_*": "wargame: the same over the games of an evaluation, as means a game and of both players",
    },
    "Tabular learning": {
        "train/td_error": "mean absolute correction of the table in the latest game",
        "train/table_size": "entries in the table",
        "eval/lost_lines": "lines lost over every play of the opponent: both seats, "
        "with shortcuts and without, added up",
        "eval/lost_lines_table_*": "lines lost by the table alone in the seat named (first or second)",
        "eval/lost_lines_shortcuts_*": "lines lost by the table with win-in-1 and block-in-1 before it",
    },
}
METRICS: dict[str, str] = {name: words for group in GROUPS.values() for name, words in group.items()}


def is_documented(name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in METRICS)


def page() -> str:
    """As METRICS.md beside this file has it."""
    lines = ["<!-- Written by: python -m src.core.metrics > src/core/METRICS.md -->", "# Metrics", "", str(__doc__)]
    for group, metrics in GROUPS.items():
        lines += [f"## {group}", "", "| metric | what it means |", "|---|---|"]
        lines += [*(f"| `{name}` | {words} |" for name, words in metrics.items()), ""]
    return "\n".join(lines)


if __name__ == "__main__":
    print(page(), end="")
