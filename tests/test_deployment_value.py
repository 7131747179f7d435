"""The results of the experiment on learned deployment belong to the games and weights of now."""

import pytest

from experiments.deployment_value import __main__ as experiment


@pytest.mark.parametrize("env", experiment.RUNS)
def test_every_cell_was_played_with_the_game_and_weights_of_now(env: str):
    games = 1000 if env in experiment.SCENARIOS else 2000
    for name in experiment.opponents(experiment.HERE / experiment.RUNS[env]):
        path = experiment.path_of(env, name, 160 if name == "planner" else games, 2028)
        assert path.exists(), f"{path}: run python -m experiments.deployment_value, and write its figures to the pages"
        table = "table.md" if env in experiment.SCENARIOS else "classic/table.md"
        row = experiment.row(experiment.Cell(env, name, games, [], path))
        assert row in (experiment.HERE / table).read_text().splitlines()
