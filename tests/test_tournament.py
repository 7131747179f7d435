"""The command: names of players, errors before any game, and its files."""

import pytest

from src.config.agent_specs import AgentSpec, parse_spec, parse_specs, quote_agents
from src.core.errors import UserError
from tests.lab import ROOT, Lab, read_json

SHIPPED = ROOT / "experiments" / "tictactoe_qlearning"
EASY = ("env=tictactoe", "agents=[random,weak=alphabeta:difficulty=easy,minimax]")


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("random", AgentSpec("random", "random", ())),
        ("alphabeta:difficulty=hard", AgentSpec("alphabeta:difficulty=hard", "alphabeta", ("difficulty=hard",))),
        ("x=alphabeta:depth=2:seed=1", AgentSpec("x", "alphabeta", ("depth=2", "seed=1"))),
        ("runs/a=1,b/0", AgentSpec("0", "runs/a=1,b/0", ())),
        ("net=runs/some", AgentSpec("net", "runs/some", ())),
        ("hard = alphabeta:depth=2", AgentSpec("hard", "alphabeta", ("depth=2",))),
        (
            "runs/some:checkpoint_name=last",
            AgentSpec("some:checkpoint_name=last", "runs/some", ("checkpoint_name=last",)),
        ),
    ],
)
def test_players_are_named(text: str, spec: AgentSpec):
    assert parse_spec(text) == spec


def test_names_that_are_not_clear_are_refused():
    for text in ("", "alphabeta:hard", "a=b=c:", "=random"):
        with pytest.raises(UserError, match="must be NAME"):
            parse_spec(text)
    with pytest.raises(UserError, match="random is listed twice"):
        parse_specs(["random", "minimax", "random"])
    with pytest.raises(UserError, match="agents has 0 entries"):
        parse_specs([])
    assert len(parse_specs(["random", "other=random"])) == 2


def test_the_list_needs_no_quotes():
    assert quote_agents(["env=quoridor", "agents=[a, b:c=d]"]) == ["env=quoridor", "agents=['a','b:c=d']"]
    assert quote_agents(["agents=['a','b']"]) == ["agents=['a','b']"]


def test_a_tournament_prints_and_writes_its_table(lab: Lab):
    files = ("json=out/table.json", "markdown=out/table.md")
    agents = f"agents=[random,weak=alphabeta:difficulty=easy,{SHIPPED}]"
    done = lab.succeed("tournament", agents, "games=10", "opening_plies=2", *files)
    result, table = read_json(lab.folder / "out/table.json"), (lab.folder / "out/table.md").read_text()
    assert result["agents"] == {
        "random": "random",
        "weak": "alphabeta:difficulty=easy",
        "tictactoe_qlearning": str(SHIPPED),
    }
    assert result["anchor"] == "random"
    assert [match["games"] for match in result["matches"]] == [10, 10, 10]
    names = [player["player"] for player in result["players"]]
    assert names[0] == "tictactoe_qlearning"
    assert [player["elo"] for player in result["players"] if player["player"] == "random"] == [0]
    assert [line.split(" | ")[0] for line in table.splitlines()[2:]] == [f"| {name}" for name in names]
    assert "Elo above random" in done.stdout
    assert sorted(path.name for path in lab.folder.rglob("*")) == ["out", "table.json", "table.md"]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_table(lab: Lab):
    tables = []
    for seed in (1, 1, 2):
        lab.succeed("tournament", *EASY, "games=10", "opening_plies=2", f"seed={seed}", "json=table.json")
        tables.append(read_json(lab.folder / "table.json"))
    assert tables[0] == tables[1]
    assert tables[0]["matches"] != tables[2]["matches"]
