"""The page of the wargame without a browser: clicks, drawings and URLs."""

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from src.config.compose import own_hydra
from src.core.errors import UserError
from src.core.play.agent import Agent, RandomAgent
from src.envs.deployment.bots import FirstUnit, Redeployed
from src.envs.deployment.game import DeploymentGame
from src.envs.deployment.odds import Odds, attack_odds, range_of, targets
from src.envs.deployment.rules.hexgrid import distance, neighbors
from src.envs.deployment.rules.scenario import Profile
from src.envs.deployment.step_report import Command, StepReport
from src.play import ConfigLab
from src.web.deployment import board, match_setup, panels
from src.web.deployment.board import Marks
from src.web.deployment.descriptions import (
    ABBREVIATIONS,
    address_player,
    describe_action,
    describe_event,
    headline,
    log_entry,
    odds_table,
    result_text,
    status,
    unit_card,
    unit_table,
    voices,
)
from src.web.deployment.match import DeploymentMatch, Seat, warm_up
from src.web.deployment.match_setup import MatchSetup
from src.web.deployment.page import _setup_of
from src.web.saved_games import SavedGame
from tests.envs.deployment.making import COVER_MAP, bot, conf, contents, full_game, small_game
from tests.lab import ROOT

HUMAN = Seat("human", None, np.random.default_rng(0))


def robot(seed: int) -> Seat:
    return Seat("tactical", bot(0.1), np.random.default_rng(seed))


@pytest.fixture(scope="module")
def game() -> DeploymentGame:
    return full_game()


@pytest.fixture(scope="module")
def played(game: DeploymentGame) -> DeploymentMatch:
    """Return a finished game of two agents."""
    match = DeploymentMatch(game, (robot(1), robot(2)), 4)
    while not match.is_over:
        match.play(match.decide())
    return match


def values(text: str, name: str) -> list[str]:
    """Return the values of an attribute in an HTML text, whose tags must be closed."""
    return [part.attrib[name] for part in ElementTree.fromstring(f"<a>{text}</a>").iter() if name in part.attrib]


def test_every_hex_on_the_board_can_be_picked_and_cover_is_drawn(game: DeploymentGame):
    field = game.scenario.board
    expected = {f"hex-{row * 25 + col}" for col in range(25) for row in range(21) if (col, row) not in field.forbidden}
    ids = values(board.ground(game.scenario), "data-id")
    assert set(ids) == expected
    assert len(ids) == len(expected) == 513
    covered = small_game(board={"map": COVER_MAP}).scenario
    assert "cover" in " ".join(values(board.ground(covered), "class")).split()


def test_neighbors_are_one_hex_apart_and_outlines_have_no_inner_edges():
    for one in ((3, 4), (6, 8)):
        x, y = board.center(one)
        centers = [board.center(other) for other in neighbors(*one)]
        apart = {round(np.hypot(other_x - x, other_y - y), 6) for other_x, other_y in centers}
        assert apart == {round(2 * board.HALF, 6)}
    assert board.outline([(5, 5)]).count("M") == 6
    assert board.outline([(5, 5), *neighbors(5, 5)]).count("M") == 18


def test_units_are_drawn_with_their_wounds_and_the_dead_are_not(played: DeploymentMatch):
    state = played.state
    text = board.pieces(state, Marks())
    standing = [unit for unit in state.units.values() if unit.hp > 0]
    assert values(text, "data-unit") == [unit.id for unit in standing]
    assert text.count('class="hp lost"') == sum(unit.profile.hp - unit.hp for unit in standing)
    assert text.count('class="hp"') == sum(unit.hp for unit in standing)


def test_every_profile_has_a_sign_and_sides_differ_in_shape():
    profiles = {name: Profile.load(name, node) for name, node in conf("profiles/veterans").items()}
    known = {name: board.sign(profile) for name, profile in profiles.items()}
    assert len(set(known.values())) == len(known) == 9, "no two profiles look the same"
    for name, role in (("behemoth", "behemoth"), ("stalker", "mounted"), ("spitter", "rifleman")):
        assert board.sign(replace(profiles[name], name="unknown")) == board.SIGNS[role]
    slow = replace(profiles["stalker"], name="unknown", move=6)
    assert board.sign(slow) == board.SIGNS["stalker"], "it has no ranged weapon"
    assert [
        board.badge(player).count(shape) for player, shape in ((1, '<circle class="body"'), (2, '<rect class="body"'))
    ] == [1, 1]


def test_the_focus_is_where_something_happens(played: DeploymentMatch):
    moment = next(k for k, report in enumerate(played.reports) if report.dice is not None) + 1
    state, last = played.at(moment), played.reports[moment - 1]
    unit = next(unit for unit in state.units.values() if unit.hp > 0)
    assert board.focus(state, Marks(last=last, unit=unit.id)) == [last.start, last.end]
    assert board.focus(state, Marks([(3, 4)], unit.id, last=last)) == [(unit.col, unit.row)], "a person acts with it"
    assert board.focus(state, Marks([(3, 4)], unit.id, cursor=(5, 6), last=last)) == [(5, 6)]
    start = played.at(0)
    assert board.focus(start, Marks([(3, 4), (4, 4)], unit.id)) == [(3, 4), (4, 4)], "its zone, as it is not placed"
    assert board.focus(start, Marks()) == []
    assert 'class="focus"' not in board.pieces(start, Marks())
    x, y = board.center((5, 6))
    assert f'class="focus" x="{x - board.AROUND:.1f}" y="{y - board.AROUND:.1f}"' in board.pieces(
        state, Marks(cursor=(5, 6))
    )


def test_every_step_of_a_game_can_be_drawn_and_described(played: DeploymentMatch):
    for moment, report in enumerate(played.reports, 1):
        state = played.at(moment)
        drawn = board.pieces(state, Marks(last=report, is_new=True))
        for text in (drawn, status(played, state), log_entry(moment, report), unit_table(state, 1)):
            ElementTree.fromstring(f"<a>{text}</a>")


@pytest.mark.parametrize(("outcome", "ending"), [(1, "Player 1 wins, 5 to 15"), (-1, "Player 2 wins, 15 to 5")])
def test_the_points_of_the_winner_come_first(game: DeploymentGame, outcome: int, ending: str):
    match = DeploymentMatch(game, (robot(1), robot(2)), 0)
    match.state.games.sides["victory_points"][match.state.i] = (5, 15)
    match.state.game["outcome"] = outcome
    assert result_text(match, match.state) == ending


def test_a_refused_step_leaves_no_trace(game: DeploymentGame):
    match = DeploymentMatch(game, (HUMAN, HUMAN), 0)
    before = contents(match.state)
    with pytest.raises(UserError, match="it is a wall"):
        match.play(match.step_at((2, 13), "R1"))
    with pytest.raises(UserError, match="choose a unit"):
        match.step_at((0, 13), None)
    assert contents(match.state) == before
    assert match.moves == match.reports == []


def test_candidates_are_what_the_engine_accepts(game: DeploymentGame):
    match = DeploymentMatch(game, (HUMAN, HUMAN), 0)
    assert set(match.candidates("R1")) == set(game.scenario.pools[0])
    assert match.candidates("B1") == match.candidates(None) == match.candidates("nobody") == []
    match.play(match.step_at((0, 13), "R1"))
    assert match.candidates("R1") == []
    assert (0, 13) not in match.candidates("R2")


def test_a_hex_in_battle_means_to_go_there_or_to_attack_there(game: DeploymentGame):
    match = DeploymentMatch(game, (HUMAN, HUMAN), 0)
    for roster in game.scenario.rosters:
        for unit in roster:
            match.play(match.step_at(unit.position, unit.id))
    assert match.state.phase == "move"
    for at in match.candidates(match.state.active_unit_id):
        assert match.step_at(at, None).arguments[0] in game.legal_actions(match.state)
    while match.state.phase != "shoot":
        match.play(Command("play", (game.actions.wait_action,)))
    targets = match.candidates(match.state.active_unit_id)
    assert targets
    assert {match.step_at(at, None).arguments[0] for at in targets} == set(game.legal_actions(match.state)) - {
        game.actions.wait_action
    }
    with pytest.raises(UserError, match="cannot go anywhere"):
        match.play(match.step_at((12, 10), None))


def test_people_end_their_deployment_by_confirming_it():
    game = full_game(confirming_players=[1, 2])
    match = DeploymentMatch(game, (HUMAN, HUMAN), 0)
    for player, roster in enumerate(game.scenario.rosters, 1):
        for unit in roster:
            assert match.unconfirmed is None
            match.play(match.step_at(unit.position, unit.id))
        assert match.unconfirmed == match.to_move == player
        placed = f"Player {player} has placed every unit: confirm, or take units back"
        assert headline(match, match.state, None) == placed
        assert match.candidates(None) == []
        match.play(Command("confirm_deployment", (player,)))
        assert match.unconfirmed is None
    assert match.state.phase == "move"


def test_taking_back_is_offered_only_if_a_unit_can_be_taken_back():
    game = full_game(deployment_order_mode="alternated_p1_start", confirming_players=[1, 2])
    match = DeploymentMatch(game, (HUMAN, HUMAN), 0)
    while match.unconfirmed is None:
        match.place_rest()
    assert headline(match, match.state, None) == "Player 2 has placed every unit: confirm, or take units back"
    match.play(Command("confirm_deployment", (2,)))
    assert headline(match, match.state, None) == "Player 1 has placed every unit: confirm"


def test_a_step_is_taken_back_until_dice_are_rolled(game: DeploymentGame):
    match = DeploymentMatch(game, (HUMAN, robot(2)), 4)
    rng, allowed, refused = np.random.default_rng(1), 0, set()
    assert match.why_not_take_back() == "there is nothing to take back yet"
    while not match.is_over:
        before, player = contents(match.state), match.to_move
        dice = match.state.game["random"].copy()
        match.play(Command("play", (bot(0.1).decide(game, match.state, rng).action,)))
        refusal = match.why_not_take_back()
        if refusal is None:
            assert player == 1
            assert match.state.game["random"] == dice, "no dice were rolled"
            done, report = match.moves[-1], match.reports[-1]
            match.take_back()
            assert contents(match.state) == before
            match.play(done)
            assert match.reports[-1] == report
            allowed += 1
        else:
            steps = len(match.moves)
            with pytest.raises(UserError, match=re.escape(refusal)):
                match.take_back()
            assert len(match.moves) == steps
            refused.add(refusal)
            assert player == 2 or match.state.game["random"] != dice or match.is_over
    assert allowed > 20
    assert refused == {
        "player 2 has acted since: only your own latest steps can be taken back",
        "dice were rolled: what was done before them cannot be taken back",
        "the game is over: start a new one",
    }


def test_a_placement_is_taken_back_until_another_or_a_confirmation():
    game = full_game(deployment_order_mode="alternated_p1_start", confirming_players=[1, 2])
    match = DeploymentMatch(game, (HUMAN, robot(2)), 0)
    match.play(match.step_at(match.candidates("R1")[0], "R1"))
    assert match.to_move == 2
    match.take_back()
    assert not match.state.deployment_state.deployed_units
    match.play(match.step_at(match.candidates("R1")[1], "R1"))
    match.play(match.decide())
    assert "has acted since" in (match.why_not_take_back() or "")
    match = DeploymentMatch(full_game(confirming_players=[1]), (HUMAN, robot(2)), 0)
    match.place_rest()
    match.play(Command("undeploy_unit", ("R1",)))
    assert match.why_not_take_back() == "only placements can be taken back during the deployment"
    match.place_rest()
    match.play(Command("confirm_deployment", (1,)))
    assert match.why_not_take_back() == "a confirmed deployment cannot be taken back"


def test_the_rest_and_every_placement_of_the_page_are_the_same_in_every_game(game: DeploymentGame):
    def places(place: Callable[[DeploymentMatch], None], agent: Agent | None) -> int:
        found = set()
        for seed in range(5):
            seat = Seat("player 1", agent, np.random.default_rng(seed))
            match = DeploymentMatch(game, (seat, robot(seed)), seed)
            while match.to_move == 1:
                place(match)
            found.add(tuple(str(unit) for unit in match.state.units.values()))
        return len(found)

    assert places(DeploymentMatch.place_rest, None) == 1
    for placement in match_setup.PLACEMENTS.values():
        assert places(lambda match: match.play(match.decide()), Redeployed(placement, RandomAgent())) == 1


def test_a_set_up_asks_its_people_to_confirm():
    assert [MatchSetup(player_2=name).people for name in ("human", "greedy")] == [(1, 2), (1,)]
    with own_hydra():
        game = match_setup.game_of(ConfigLab([], 0), "skirmish", "player_by_player", "choice", "own", (2,))
    assert game.world.settings.confirming == 0b10
    warm_up(game)


def test_an_address_names_a_set_up():
    chosen = MatchSetup(scenario="siege", player_2="greedy", placement_2="back_line", seed="7")
    assert chosen.address == "/deployment?scenario=siege&player_2=greedy&placement_2=back_line&seed=7"
    assert MatchSetup().address == "/deployment"
    assert match_setup.read(chosen._asdict()) == chosen


@pytest.mark.parametrize(
    "query",
    [
        {"scenario": "chess"},
        {"order": "random"},
        {"player_1": "<b>"},
        {"color": "red"},
        {"seed": "-1"},
        {"seed": "1e3"},
        {"seed": "99999999999999"},
        {"placement_1": "somewhere"},
    ],
)
def test_an_address_that_means_nothing_is_refused(query: dict[str, str]):
    with pytest.raises(UserError, match=r"unknown|expected"):
        match_setup.read(query)


def test_a_person_chooses_the_unit_that_acts_unless_the_first_one_does():
    assert MatchSetup().activation == "choice"
    assert MatchSetup(activation="by_id").address == "/deployment?activation=by_id"
    assert panels._options("activation", "choice") == {"by_id": "by order", "choice": "your choice"}
    with own_hydra():
        for activation in ("choice", "by_id"):
            game = match_setup.game_of(ConfigLab([], 0), "skirmish", "player_by_player", activation, "own")
            assert game.world.settings.is_choice == (activation == "choice")


def test_a_game_saved_before_there_was_a_choice_goes_on_by_id():
    old = MatchSetup(seed="3")._asdict()
    del old["activation"]
    for setup, expected in ((old, "by_id"), (MatchSetup()._asdict(), "choice")):
        assert _setup_of(SavedGame("/deployment", setup, 3, [], "")).activation == expected


@pytest.mark.parametrize(("trained", "is_wrapped"), [("by_id", True), ("choice", False)])
def test_a_network_that_never_chose_a_unit_acts_with_the_first(
    trained: str, is_wrapped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    add_run(tmp_path, "one", "deployment")
    with (tmp_path / "one" / "config.yaml").open("a") as config:
        config.write(f"env: {{game: {{activation: {trained}}}}}\n")
    lab, network = ConfigLab([tmp_path], seed=0), RandomAgent()
    monkeypatch.setattr(ConfigLab, "agent", lambda *_: network)
    (run,) = match_setup.runs(lab)
    found = match_setup.trained_agent(lab, full_game(activation="choice"), "skirmish", run.name)
    assert isinstance(found, FirstUnit) == is_wrapped
    assert match_setup.trained_agent(lab, full_game(), "skirmish", run.name) is network


def add_run(folder: Path, name: str, env: str) -> None:
    (folder / name / "checkpoints").mkdir(parents=True)
    (folder / name / "checkpoints" / "best.safetensors").touch()
    (folder / name / "config.yaml").write_text(f"composition: {{env: {env}, algo: ppo}}\n")


def test_a_run_of_another_scenario_is_refused_before_it_is_loaded(game: DeploymentGame, tmp_path: Path):
    for name, env in (("one", "deployment_mirror"), ("two", "deployment_alternated"), ("three", "tictactoe")):
        add_run(tmp_path, name, env)
    lab = ConfigLab([tmp_path], seed=0)
    names = {run.env: run.name for run in match_setup.runs(lab)}
    assert set(names) == {"deployment_mirror", "deployment_alternated"}
    mirror, alternated = (f"run:{names[env]}" for env in ("deployment_mirror", "deployment_alternated"))
    with pytest.raises(UserError, match=f"{mirror} cannot play here: it was trained on env=deployment_mirror: choose"):
        match_setup.match_of(lab, game, MatchSetup(player_2=mirror))
    for name in (alternated.replace("two", "three"), alternated.replace("two", "one/../two")):
        with pytest.raises(UserError, match="is not a finished run"):
            match_setup.match_of(lab, game, MatchSetup(player_2=name))


def test_the_rules_are_not_loaded_before_somebody_visits():
    """They import Numba, which other pages must not wait for."""
    loaded = "import sys, src.web.deployment; sys.exit('numba' in sys.modules)"
    subprocess.run([sys.executable, "-c", loaded], check=True, cwd=ROOT)


def test_a_rehearsal_tries_everything_there_is_to_tell(game: DeploymentGame, monkeypatch: pytest.MonkeyPatch):
    """What it leaves out would be compiled while people wait."""
    seen: set[str] = set()
    play = DeploymentMatch.play

    def noted(match: DeploymentMatch, step: Command) -> None:
        play(match, step)
        seen.update({match.reports[-1].phase} if match.reports[-1].dice else ())

    monkeypatch.setattr(DeploymentMatch, "play", noted)
    warm_up(game)
    assert seen == {"shoot", "charge", "fight"}


def weapon(**changes: int) -> dict[str, int]:
    return {"attacks": 2, "hit": 3, "strength": 4, "ap": 0, "damage": 1} | changes


TARGET = {"toughness": 4, "save": 3, "invulnerable": 7}


def test_the_odds_of_an_attack_are_exact():
    # 2/3 hit, 1/2 wound, 1/3 are not saved: an attack succeeds in 1/9 of all cases
    odds = attack_odds(weapon(), TARGET, 2, covered=False)
    assert (odds.hit, odds.wound, odds.unsaved) == pytest.approx((2 / 3, 1 / 2, 1 / 3))
    assert odds.loss == pytest.approx((64 / 81, 16 / 81, 1 / 81))
    assert (odds.kill, odds.mean) == pytest.approx((1 / 81, 18 / 81))
    assert attack_odds(weapon(damage=3), TARGET, 2, covered=False).loss == pytest.approx((64 / 81, 0, 17 / 81))
    assert attack_odds(weapon(attacks=1), TARGET, 1, covered=True).kill == pytest.approx(1 / 18), "2+ in cover"
    assert attack_odds(weapon(attacks=1, ap=4), TARGET, 1, covered=False).kill == pytest.approx(1 / 3), "no save"
    assert attack_odds(weapon(attacks=3, damage=2), TARGET, 3, covered=False).loss == pytest.approx(
        ((8 / 9) ** 3, 0, 3 * (8 / 9) ** 2 / 9, 3 * (8 / 9) / 81 + 1 / 729)
    )


def test_odds_are_shown_for_every_legal_target_and_for_no_other(game: DeploymentGame, played: DeploymentMatch):
    phases = set()
    for moment in range(len(played.moves)):
        state = played.at(moment)
        attacks = [one for one in game.legal_actions(state) if game.actions.is_attack(one)]
        legal = {state.unit_id(game.actions.target(state, one)) for one in attacks if state.active_unit_id}
        found = targets(state)
        assert set(found) == legal
        assert all(0 <= (one.kill if isinstance(one, Odds) else one) <= 1 for one in found.values())
        if state.phase == "shoot" and state.active_unit_id:
            seen = range_of(state, state.active_unit_id).seen
            assert {(state.units[one].col, state.units[one].row) for one in found} <= set(seen)
        if found:
            phases.add(state.phase)
            assert board.pieces(state, Marks(odds=found)).count('class="odds"') == len(found)
            assert odds_table(found).count("<tr>") == len(found) + 1
    assert phases == {"shoot", "charge", "fight"}


def test_a_target_in_cover_is_saved_more_often():
    """Bots play on a board with cover until one of their targets stands in it."""
    game = small_game(board={"map": COVER_MAP})
    for seed in range(50):
        match = DeploymentMatch(game, (robot(seed), robot(seed + 100)), seed)
        while not match.is_over:
            state = match.state
            for one, odds in targets(state).items() if state.phase == "shoot" else ():
                unit = state.units[one]
                if (unit.col, unit.row) in game.scenario.board.cover and isinstance(odds, Odds):
                    world, u, target = state.world, int(state.game["active"]), state.number(one)
                    seen, bare = (
                        attack_odds(world.weapon[0, u], world.units[target], unit.hp, covered)
                        for covered in (True, False)
                    )
                    if seen != bare:
                        assert odds == seen
                        return
            match.play(match.decide())
    pytest.fail("no target stood in cover")


def test_the_weapon_sets_the_range_and_walls_block_sight(played: DeploymentMatch):
    state = played.at(next(k for k, report in enumerate(played.reports) if report.phase == "shoot"))
    armed = [(one.profile.ranged.range, one) for one in state.units.values() if one.profile.ranged and one.col >= 0]
    most, unit = min(armed, key=lambda pair: pair[0])
    found, terrain = range_of(state, unit.id), state.scenario.board
    hexes = [(col, row) for col in range(terrain.cols) for row in range(terrain.rows)]
    near = {one for one in hexes if distance((unit.col, unit.row), one) <= most}
    assert near < set(hexes)
    assert set(found.within) == near - set(terrain.forbidden)
    assert set(found.seen) < set(found.within)
    assert not set(found.seen) & set(terrain.walls)
    assert set(found.within) - set(terrain.walls) - set(found.seen), "what is behind a wall is in range, but not seen"
    text = board.pieces(state, Marks(range=found))
    assert 'class="range"' in text
    assert 'class="range"' not in board.pieces(state, Marks())
    assert range_of(state, "nobody").within == []


def test_the_log_speaks_of_you_and_the_opponent(played: DeploymentMatch):
    you, watched = voices({0}), voices(())

    def said(action: str, player: int = 1) -> str:
        return describe_action(StepReport(player, 1, "move", action, None, None, None, 0, ()), you)

    assert said("deploy_unit A1 (3, 4)") == "You place A1 on column 3, row 4"
    assert said("deploy_unit B1 (3, 4)", 2) == "The opponent places B1 on column 3, row 4"
    assert said("A1 goes to (3, 4)") == "Your A1 moves to column 3, row 4"
    assert said("B1 shoots A1", 2) == "The opponent's B1 shoots A1"
    assert (said("pass_deployment"), said("pass_deployment", 2)) == ("You pass", "The opponent passes")
    assert said("player 1 chooses A1") == "You choose A1"
    assert said("confirm_deployment 2") == "The opponent confirms the deployment"
    assert said("undeploy_unit A1") == "You take A1 back"
    assert describe_event("A1 loses 1 hp, 2 left", you) == "A1 loses 1 hit point, 2 left"
    assert describe_event("player 1 takes objective (3, 4)", you) == "you take the objective on column 3, row 4"
    assert describe_event("player 2 scores 5", you) == "the opponent scores 5 points"
    assert describe_event("round 2: player 1's turn", you) == "round 2: your turn"
    assert describe_event("round 2: player 1's turn", watched) == "round 2: player 1's turn"
    for report in played.reports:
        words = " ".join([describe_action(report, you), *(describe_event(one, you) for one in report.events)])
        assert not any(raw in words for raw in ("deploy_unit", "(", "player", " hp", "None")), words


def test_a_headline_speaks_to_the_one_person_who_plays(game: DeploymentGame):
    match = DeploymentMatch(game, (HUMAN, robot(2)), 4)
    unit = next(iter(match.state.units))
    assert address_player("Player 1 deploys: place R1", match.human_seats) == "You deploy: place R1"
    assert address_player("Player 1, R1: choose a hex", {0}) == "Your R1: choose a hex"
    assert address_player("Player 2, K1", {0}) == "The opponent's K1"
    assert address_player("Player 2 deploys", {0}) == "The opponent deploys"
    assert address_player("Player 1 has placed every unit: confirm", {0}) == "You have placed every unit: confirm"
    assert address_player("Player 1: choose one", {0}) == "You: choose one"
    assert address_player("Player 2 wins, 5 to 3: player 1 has no units left", {0}) == (
        "The opponent wins, 5 to 3: you have no units left"
    )
    assert address_player("Player 1 wins, 5 to 3", {1}) == "The opponent wins, 5 to 3"
    assert address_player("Player 1, R1: choose a hex", {0, 1}) == "Player 1, R1: choose a hex"
    assert address_player(headline(match, match.state, unit), {0}).startswith("You deploy: place")


def test_a_card_and_a_table_explain_their_words(played: DeploymentMatch):
    state = played.at(20)
    for unit in state.units.values():
        text = unit_card(unit, "You")
        assert f"{unit.hp} of {unit.profile.hp} hit points" in text
        assert ("Shoots" in text, "Fights" in text) == (unit.profile.ranged is not None, unit.profile.melee is not None)
    assert unit_table(state, 1).count("<abbr title=") == len(ABBREVIATIONS)
