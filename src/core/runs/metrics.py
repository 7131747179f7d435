"""Every metric that a run may log, and its meaning. Logging a name that is not listed here is an error.

`*` stands for a name that depends on the composition, such as an opponent. `step` is the axis of all others: episodes
for tabular learning, environment steps for the rest.
"""

from fnmatch import fnmatchcase
from pathlib import Path

import yaml

GROUPS: dict[str, dict[str, str]] = {
    "Every run": {
        "step": "episodes or environment steps learned from so far; the x axis",
        "time/seconds": "seconds of training so far, over all resumed parts of the run",
        "time/steps_per_second": "learning speed since the previous row",
        "eval/win_rate": "the learning curve: share of games won by the frozen learner at each evaluation during "
        "training, against the first baseline of the environment or alone; selects the best checkpoint, unless "
        "eval/all/win_rate or eval/not_lost_share is logged",
        "eval/win_rate_low": "lower end of its 95% Wilson interval",
        "eval/win_rate_high": "upper end of its 95% Wilson interval",
        "eval/episodes": "games of that evaluation",
        "eval/all/win_rate": "the same over the games against all baselines, which share them evenly; selects the best "
        "checkpoint, unless eval/not_lost_share is logged",
        "eval/all/win_rate_low": "lower end of its 95% Wilson interval",
        "eval/all/win_rate_high": "upper end of its 95% Wilson interval",
        "eval/all/win_rate_error": "its standard error, from the games against each baseline",
        "eval/all/episodes": "games against all baselines in that evaluation",
        "eval/win_rate_curve": "an image: the metric that selects the best checkpoint over the steps, with the results "
        "of the final evaluation",
        "final/win_rate": "final evaluation: share of games won by the best checkpoint against the first baseline, or "
        "alone, on games that selected nothing; once a run, in wandb a summary value",
        "final/win_rate_low": "lower end of its 95% Wilson interval",
        "final/win_rate_high": "upper end of its 95% Wilson interval",
        "final/episodes": "games of the final evaluation, against each baseline",
        "final/baselines": "a table in wandb: the final evaluation, one row for each baseline",
        "final/*/win_rate": "final evaluation: share of games won against the baseline named; in one-player games the "
        "baseline's own share, and `trained` is the learner",
        "final/*/draw_rate": "share of those games drawn",
        "final/*/loss_rate": "share of those games lost",
        "final/*/aborted_rate": "share of those games that could not be played to a result; they are no draws, and "
        "do not count for Elo",
        "train/stage": "stage of the curriculum, from 0",
    },
    "Two-player games": {
        "eval/elo": "strength of the frozen learner over time: Elo above the first baseline, which is 0, from the "
        "games of eval/win_rate and no others. The baseline does not change during a run, so values can be compared "
        "over steps, and over runs with the same one. Bradley-Terry with a draw as half a point and one more drawn "
        "game: 400 log10((p + 0.5) / (n - p + 0.5)) for p points in n games, so at most 400 log10(2 n + 1), which is "
        "1200 for 500 games: to tell apart learners that win nearly everything, choose a stronger first baseline. "
        "Q-tables play 100 games for it, or 2 against a deterministic baseline",
        "eval/elo_low": "lower end of its 95% interval, by the Fisher information, which is too narrow if nearly all "
        "games are won or lost",
        "eval/elo_high": "upper end of its 95% interval",
        "final/elo": "the same for the best checkpoint, from the games of final/win_rate",
        "final/elo_low": "lower end of its 95% interval",
        "final/elo_high": "upper end of its 95% interval",
        "train/past_selves": "with agent@env.opponent=past_selves or algo=alphazero: snapshots in the pool",
        "train/first_player_win_rate": "algo=alphazero and nnue: share of its games against itself since the previous "
        "row that were won by the player who moves first",
        "train/draw_rate": "algo=alphazero and nnue: share of these games that were drawn",
        "eval/past_selves_elo": "algo=alphazero: strength of the network without search over time, Elo above its own "
        "initial weights, from games against past selves of the same run, with moves sampled from the policies; "
        "Bradley-Terry over all such games so far",
        "eval/past_selves_elo_low": "lower end of its 95% interval",
        "eval/past_selves_elo_high": "upper end of its 95% interval",
        "train/past_selves_score": "the learner's share of points in training games against them since the previous "
        "evaluation, a draw being half a point",
    },
    "Networks": {
        "train/lr": "learning rate",
        "train/episode_return": "mean sum of rewards of the games finished since the previous row, undiscounted",
        "train/episode_length": "mean steps of the learner in them",
        "train/win_rate": "the share of them that was won, exploration included",
        "train/win_rate_low": "lower end of its 95% Wilson interval",
        "train/win_rate_high": "upper end of its 95% Wilson interval",
        "train/truncated_share": "the share of them that reached the step limit; near 1 the policy stalls",
        "train/episodes": "their number",
        "train/replay_size": "positions in the replay buffer that can be trained on; algo=nnue: in the window",
        "train/chosen_share": "share of steps in which the policy chose an action; the others played all safe ones",
        "train/diagnostics": "an image: how often each action was chosen in training, in the current curriculum "
        "stage; drawn with every evaluation",
        "eval/stage_score": "the score that selects checkpoints, on the current stage of the curriculum; compared with "
        "curriculum.promote_at",
        "losses/loss": "the weighted sum of the losses below; all are means over the updates since the previous row",
        "losses/policy_loss": "clipped surrogate objective, negated; "
        "for imitation the cross entropy with the teacher's actions, for AlphaZero with the policies found by search",
        "losses/value_loss": "mean squared error of the value against the estimated returns, or the outcome",
        "losses/entropy": "mean entropy of the policy over the legal actions, in nats",
        "losses/approx_kl": "KL divergence of the policy from the one that collected the rollout (Schulman's k3)",
        "losses/clip_fraction": "share of steps whose probability ratio was clipped",
        "losses/grad_norm": "norm of the gradient before clipping",
        "losses/validation_loss": "algo=nnue: cross entropy of the positions held out, less the entropy of their "
        "targets, so that 0 is the best possible",
        "train/generation": "algo=nnue: rounds of games and training before this one",
        "train/score_scale": "algo=nnue: points of the search per unit of log odds of winning, which fits the outcomes "
        "of the latest games best",
        "losses/aux_loss": "binary cross entropy of the auxiliary task of the game",
    },
    "Tabular learning": {
        "train/td_error": "mean absolute correction of the table in the latest game",
        "train/table_size": "entries in the table",
        "eval/not_lost_share": "share of lines not lost over every play of the opponent, counted like eval/lost_lines; "
        "not a win rate: draws count in full; selects the best checkpoint",
        "eval/lost_lines": "lines lost over every play of the opponent: both seats, "
        "with shortcuts and without, added up",
        "eval/lost_lines_table_*": "lines lost by the table alone in the seat named (first or second)",
        "eval/lost_lines_shortcuts_*": "lines lost by the table with win-in-1 and block-in-1 before it",
    },
}
CURVES = ("eval/not_lost_share", "eval/all/win_rate", "eval/win_rate")  # the first that is logged selects checkpoints
METRICS: dict[str, str] = {name: words for group in GROUPS.values() for name, words in group.items()}


def register(title: str, metrics: dict[str, str]) -> None:
    """Add the metrics of a game."""
    GROUPS[title] = metrics
    METRICS.update(metrics)


for _path in sorted((Path(__file__).parents[2] / "envs").glob("*/metrics.yaml")):  # beside the game that logs them
    register(**yaml.safe_load(_path.read_text()))


def is_documented(name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in METRICS)


def page() -> str:
    """Return the content of docs/metrics.md."""
    lines = [
        "<!-- Written by: python -m src.core.runs.metrics > docs/metrics.md -->",
        "# Metrics",
        "",
        str(__doc__),
    ]
    for group, metrics in GROUPS.items():
        lines += [f"## {group}", "", "| metric | what it means |", "|---|---|"]
        lines += [*(f"| `{name}` | {words} |" for name, words in metrics.items()), ""]
    return "\n".join(lines)


if __name__ == "__main__":
    print(page(), end="")
