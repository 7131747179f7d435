"""The Gymnasium environment: an episode from deployment to result, masks, rewards, refusals, placements."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from src.config.build import build
from src.core.errors import UserError
from src.core.play.agent import Agent, RandomAgent, SelfPlay
from src.envs.deployment.bots import Bot
from src.envs.deployment.bots.placement import BackLine, Deterministic, FrontLine, Placement, Scripted
from src.envs.deployment.env import DeploymentEnv
from src.envs.deployment.game import DeploymentGame
from src.envs.deployment.rules.state import GameState
from src.envs.deployment.rules.world import DEPLOYMENT
from src.envs.two_player_env import OutcomeReward
from tests.envs.deployment.making import (
    COVER_MAP,
    REWARD,
    armies,
    bot,
    contents,
    drawn,
    full_game,
    make_env,
    roster,
    settings,
    small_game,
)
from tests.test_compositions import composed

COMPILED_OR_NOT = pytest.mark.parametrize("opponent", [bot(), RandomAgent()], ids=["compiled", "python"])
ORDERS = ("player_by_player", "alternated_p1_start")


def episode(env: DeploymentEnv, seed: int, rng: np.random.Generator) -> Iterator[tuple]:
    observation, info = env.reset(seed=seed)
    yield observation, 0.0, False, False, info
    over = False
    while not over:
        step = env.step(int(rng.choice(np.flatnonzero(info["action_mask"]))))
        over, info = step[2] or step[3], step[4]
        yield step


def state_of(env: DeploymentEnv) -> GameState:
    return env._batch.states[0]


def test_it_is_a_gymnasium_environment(monkeypatch: pytest.MonkeyPatch):
    """The checker draws from the whole action space, so it is given one of legal actions only."""
    env = make_env(full_game(deployment_type="fixed"), seat="first")
    monkeypatch.setattr(env.action_space, "sample", lambda: np.int64(np.flatnonzero(env.action_masks())[0]))
    check_env(env, skip_render_check=True)


@pytest.mark.parametrize("seat", ["first", "second", "random"])
def test_reset_starts_in_deployment(seat: str):
    """10.3.1, whoever deploys first."""
    env, seats = make_env(seat=seat), set()
    for seed in range(12):
        _, info = env.reset(seed=seed)
        assert state_of(env).phase == "deployment"
        assert state_of(env).deployment_state.current_deployer == info["seat"] + 1
        seats.add(info["seat"])
    assert seats == {"first": {0}, "second": {1}, "random": {0, 1}}[seat]


def test_which_unit_acts_is_an_option_of_the_environment():
    """With `choice` an episode has a second action for every unit that acts: first which one, then what it does."""
    env = build(composed("env=deployment", "env.game.activation=choice").env, "env")
    assert composed("env=deployment").env.game.activation == "by_id"
    _, info = env.reset(seed=0)
    rng, chosen, acted = np.random.default_rng(0), 0, 0
    while "outcome" not in info:
        state = env._batch.states[0]
        if state.phase != "deployment":
            chosen += state.active_unit_id is None
            acted += state.active_unit_id is not None
        *_, info = env.step(int(drawn(rng, info["action_mask"][None])[0]))
    assert chosen == acted > 20


@pytest.mark.parametrize("start", ["command", "move"])
@pytest.mark.parametrize("order", ORDERS)
def test_a_whole_deployment_leads_to_the_configured_phase(start: str, order: str):
    """10.3.2, step by step through the environment: one unit of the learner a step."""
    game = small_game(post_deployment_start_phase=start, deployment_order_mode=order)
    env, placed = make_env(game, seat="first"), []
    state = state_of(env)
    for _ in episode(env, 0, np.random.default_rng(0)):
        if state.phase != "deployment":
            break
        placed.append(sum(unit.col >= 0 for unit in state.units.values() if unit.player == 1))
    assert placed == [0, 1]
    assert state.phases_entered[0] == start
    assert state.deployment_state.deployment_complete


@pytest.mark.parametrize("opponent", [bot(), bot(1.0), RandomAgent()])
def test_no_empty_mask_is_ever_handed_out(opponent: Agent):
    """10.3.3, and every action drawn from one is accepted."""
    env, rng = make_env(opponent=opponent), np.random.default_rng(1)
    for seed in range(15):
        for *_, terminated, truncated, info in episode(env, seed, rng):
            assert ("action_mask" in info) == (not (terminated or truncated))
            if "action_mask" in info:
                assert info["action_mask"].any()
                np.testing.assert_array_equal(info["action_mask"], env.action_masks())
                assert state_of(env).game["to_move"] == info["seat"]
    assert env.episode_stats.episode_metrics()["deployment_invalid_action_attempt_rate"] == 0


def test_an_empty_mask_is_refused():
    """sb3-contrib would silently sample uniformly among illegal actions."""
    batch = make_env().vectorize(3)
    batch.reset(seed=0)
    np.testing.assert_array_equal(batch.action_masks(), batch.games.mask)
    batch.games.mask[1] = False
    with pytest.raises(UserError, match="no legal action"):
        batch.action_masks()


@pytest.mark.parametrize("wrong", [True, 4.0, 4.7, "4", None, np.array([4]), np.array(3.0)])
@pytest.mark.parametrize("penalty", [None, 0.25])
def test_what_is_no_action_is_refused(wrong: Any, penalty: float | None):
    """It is an error, and not penalized."""
    env = DeploymentEnv(small_game(), bot(1.0), REWARD, "first", {}, invalid_action_penalty=penalty)
    env.reset(seed=0)
    before = contents(state_of(env))
    with pytest.raises(UserError, match="is not a whole number"):
        env.step(wrong)
    assert contents(state_of(env)) == before
    assert env._batch.buffers.results["invalid"][0] == 1
    env.step(np.array(int(env.action_masks().argmax())))


# Two riflemen shoot before a lone spitter can act, and often kill it.
AMBUSH = armies(roster(a1=("rifleman", (4, 5)), a2=("rifleman", (6, 5))), roster(b1=("spitter", (4, 1))))


@pytest.mark.parametrize(("asked", "steps"), [(False, 40), pytest.param(True, 15, marks=pytest.mark.slow)])
def test_a_game_decided_before_the_learner_acts_is_begun_again(asked: bool, steps: int):
    game = small_game(deployment_type="fixed", scenario=AMBUSH)
    greedy = bot(objective=0.0, to_objective=0.0)

    class Asked(RandomAgent):
        def decide(self, game, view, rng):
            return greedy.decide(game, view, rng)

    env = make_env(game, Asked() if asked else greedy, seat="second")
    assert sum(is_over_before_the_second_player_acts(game, greedy, seed) for seed in range(12)) > 1
    for seed in range(12):
        _, info = env.reset(seed=seed)
        assert info["action_mask"].any()
        assert state_of(env).units["b1"].hp == 1
    batch = env.vectorize(6)
    rng, (_, info) = np.random.default_rng(0), batch.reset(seed=0)
    for _ in range(steps):
        assert info["action_mask"].any(axis=1).all()
        *_, info = batch.step(drawn(rng, info["action_mask"]))
    assert batch.episode_stats.episodes > 2


def is_over_before_the_second_player_acts(game: DeploymentGame, player: Bot, seed: int) -> bool:
    state = game.initial(np.random.default_rng(seed))
    while game.outcome(state) is None and game.to_move(state) == 0:
        action = player.decide(game, state, np.random.default_rng(0)).action
        assert action is not None
        game.play(state, action)
    return game.outcome(state) is not None


def test_a_learner_that_never_acts_is_an_error():
    deadly = {"attacks": 99, "hit": 2, "strength": 99, "ap": 6, "damage": 99, "range": 99}
    profiles = settings()["profiles"]
    profiles = profiles | {"rifleman": profiles["rifleman"] | {"ranged": deadly}}
    game = small_game(deployment_type="fixed", scenario=AMBUSH, profiles=profiles, debug=False)
    env = make_env(game, bot(objective=0.0, to_objective=0.0), seat="second")
    with pytest.raises(UserError, match="before the learner's first action"):
        env.reset(seed=0)
    with pytest.raises(UserError, match="call reset"):
        env.action_masks()


def test_an_illegal_action_is_counted_and_changes_nothing():
    env = make_env(seat="first")
    _, info = env.reset(seed=0)
    before = contents(state_of(env))
    for action in np.flatnonzero(~info["action_mask"])[:7]:
        with pytest.raises(UserError):
            env.step(int(action))
    assert contents(state_of(env)) == before
    over = False
    while not over:
        *_, terminated, truncated, info = env.step(int(env.action_masks().argmax()))
        over = terminated or truncated
    assert info["deployment_valid_action_rate"] == pytest.approx(5 / 12)
    assert info["deployment_invalid_action_attempt_rate"] == pytest.approx(7 / 12)


def test_rewards_add_up_to_how_the_game_stands():
    """8: outcome once, performance as discounted changes that sum to the final lead, and the placement once."""
    env, rng, outcomes = make_env(opponent=bot()), np.random.default_rng(2), set()
    for seed in range(25):
        total = dict.fromkeys(("outcome", "performance", "deployment"), 0.0)
        info: dict = {}
        weight = 1 / REWARD.gamma**2  # discount of a step: the reset is one, too
        for _, reward, terminated, _, info in episode(env, seed, rng):
            parts = info.get("rewards", dict.fromkeys(total, 0.0))
            assert reward == pytest.approx(sum(parts.values()))
            assert terminated or parts["outcome"] == 0
            weight *= REWARD.gamma
            parts["performance"] *= weight
            total = {name: total[name] + parts[name] for name in total}
        state, player = state_of(env), info["seat"] + 1
        assert total["outcome"] == {1: 1.0, 0: 0.25, -1: -1.0}[info["outcome"]]
        points, alive = state.victory_points, {}
        for who in (1, 2):
            units = [unit for unit in state.units.values() if unit.player == who]
            whole = sum(unit.profile.points for unit in units)
            alive[who] = sum(unit.profile.points for unit in units if unit.hp > 0) / whole
        lead = 0.5 * (points[player] - points[3 - player]) / 60 + 0.25 * (alive[player] - alive[3 - player])
        assert total["performance"] == pytest.approx(weight * lead)
        assert 0 < total["deployment"] <= 0.125
        outcomes.add(info["outcome"])
    assert {1, -1} <= outcomes


def test_the_outcome_can_be_the_only_reward():
    values, ends = {1: 2.0, 0: 0.5, -1: -3.0}, set()
    env = DeploymentEnv(small_game(), bot(1.0), OutcomeReward(2.0, 0.5, -3.0, gamma=1.0), "random", {})
    for seed in range(15):
        for _, reward, terminated, _, info in episode(env, seed, np.random.default_rng(seed)):
            assert reward == (values[info["outcome"]] if terminated else 0)
        ends.add(info["outcome"])
    assert len(ends) > 1


@pytest.mark.parametrize("weight", [0.125, 1.0])
def test_placement_is_paid_for_nearness_to_objectives(weight: float):
    """(4, 5) lies a hex from the objective around (4, 3), (0, 5) lies further: the shaping prefers the first."""
    paid = {}
    for one in ((4, 5), (0, 5)):
        env = DeploymentEnv(small_game(), bot(), REWARD._replace(objective_placement=weight), "first", {})
        env.reset(seed=0)
        *_, info = env.step(env.game.actions.deploy(0, state_of(env).cell_of(one)))
        paid[one] = info["rewards"]["deployment"]
    assert paid[4, 5] > paid[0, 5] > 0
    assert paid[4, 5] == pytest.approx(weight * (1 - 1 / 9) / 2)


def test_what_is_asked_too_early_or_too_late_is_refused():
    env = make_env()
    with pytest.raises(UserError, match="call reset"):
        env.step(0)
    with pytest.raises(UserError, match="seat=middle must be one of first"):
        make_env(seat="middle")
    list(episode(env, 0, np.random.default_rng(0)))
    with pytest.raises(UserError, match="call reset"):
        env.step(0)


def test_the_opponent_may_be_the_learner_itself():
    opponent = SelfPlay()
    env = make_env(small_game(), opponent, "second")
    with pytest.raises(UserError, match="there is none here"):
        env.reset(seed=0)
    opponent.set_agent(RandomAgent())
    assert len(list(episode(env, 0, np.random.default_rng(0)))) > 5


def test_a_blocked_placement_of_the_opponent_is_an_error():
    """Scripted positions on the very hexes that the learner takes."""
    everywhere = [{"cols": [0, 8], "rows": [0, 6]}]
    game = small_game(zones={"player_1": everywhere, "player_2": everywhere}, deployment_max_hex_slots=60)
    env = make_env(game, Bot(Scripted(), 1, 0, 0, 0, 0, 0), seat="first")
    env.reset(seed=0)
    env.step(game.actions.deploy(0, state_of(env).cell_of((2, 1))))
    with pytest.raises(UserError, match="has no free hex left"):
        env.step(game.actions.deploy(1, state_of(env).cell_of((0, 6))))


@pytest.mark.parametrize(("changes", "covered"), [({}, 0), ({"board": {"map": COVER_MAP}}, 8)])
def test_render_shows_the_board(changes: dict[str, Any], covered: int):
    env = make_env(small_game(**changes), seat="first")
    env.reset(seed=0)
    shown = str(env.render())
    assert "deployment, player 1 to place; left: player 1: a1 a2; player 2: b1 b2 b3" in shown
    assert ("##" in shown, shown.count("*")) == (True, covered)


def test_a_batch_holds_one_state_for_good():
    """The state is never replaced or copied: episodes are played in the same arrays."""
    env = make_env()
    games = env._batch.games
    arrays = [id(array) for array in games]
    for seed in range(3):
        list(episode(env, seed, np.random.default_rng(seed)))
    assert [id(array) for array in games] == arrays
    assert state_of(env).games is games


def placing(game: DeploymentGame, opponent: Agent, seat: Any, **placements: Placement) -> DeploymentEnv:
    return DeploymentEnv(game, opponent, REWARD, seat, {}, placements=placements)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seat", ["first", "second"])
@COMPILED_OR_NOT
def test_the_learner_begins_in_the_battle_with_its_units_placed(opponent: Agent, seat: str, order: str):
    game = small_game(deployment_order_mode=order)
    env = placing(game, opponent, seat, scripted=Scripted())
    for seed in range(5):
        _, info = env.reset(seed=seed)
        state, first = state_of(env), info["seat"] * game.world.slots
        assert state.phase != "deployment"
        expected = [state.cell_of(unit.position) for unit in game.scenario.rosters[info["seat"]]]
        assert state.games.units["start"][0, first : first + len(expected)].tolist() == expected


def test_drawn_placements_do_not_count_as_deployments():
    batch = placing(full_game(), bot(), "first", front=FrontLine("first"), back=BackLine("first")).vectorize(8)
    batch.reset(seed=3)
    rng, starts = np.random.default_rng(0), {0: set[int](), 1: set[int]()}
    for _ in range(200):
        for i, placement in enumerate(batch.buffers.results["placement"]):
            starts[int(placement)].update(batch.games.units["start"][i, :5].tolist())
        _, _, ended, _, info = batch.step(drawn(rng, batch.action_masks()))
        assert (batch.games.games["phase"] != DEPLOYMENT).all()
        if ended.any():
            assert (info["final_info"]["deployment_steps_mean"][ended] == 14).all(), "both sides were placed"
    assert starts[0]
    assert starts[1]
    assert not starts[0] & starts[1], "the front line and the back line"
    assert batch.episode_stats.episodes == 0


@COMPILED_OR_NOT
def test_units_that_were_placed_for_the_learner_are_not_rewarded(opponent: Agent):
    env = placing(small_game(), opponent, "first", front=FrontLine("first"))
    env.reset(seed=1)
    *_, info = env.step(int(np.flatnonzero(env.action_masks())[-1]))
    assert info["rewards"]["deployment"] == 0


def test_placements_that_do_not_fit_are_refused():
    with pytest.raises(UserError, match=r"env\.placements is for active deployments"):
        placing(small_game(deployment_type="fixed"), bot(), "first", front=FrontLine("first"))
    with pytest.raises(UserError, match="script does not fit"):
        placing(full_game(zones="trench"), bot(), "first", front=FrontLine("first"), scripted=Scripted())
    placing(full_game(zones="trench"), bot(), "first", line=Deterministic())
