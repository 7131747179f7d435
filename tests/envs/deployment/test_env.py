"""The Gymnasium environment: an episode from deployment to result, masks, rewards, metrics."""

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from src.core.errors import UserError
from src.core.play.agent import RandomAgent, SelfPlay
from src.envs.deployment.batch import Batch
from src.envs.deployment.bots import Bot
from src.envs.deployment.bots.placement import Scripted
from src.envs.deployment.env import DeploymentEnv
from src.envs.deployment.game import DeploymentGame
from tests.envs.deployment.making import COVER_MAP, REWARD, bot, full_game, make_env, roster, settings, small_game


def test_it_is_a_gymnasium_environment(monkeypatch: pytest.MonkeyPatch):
    """The checker draws from the whole action space, so it is given one of legal actions only."""
    env = make_env(full_game(deployment_type="fixed"), seat="first")
    monkeypatch.setattr(env.action_space, "sample", lambda: np.int64(np.flatnonzero(env.action_masks())[0]))
    check_env(env, skip_render_check=True)


def episode(env: DeploymentEnv, seed: int, rng: np.random.Generator):
    observation, info = env.reset(seed=seed)
    yield observation, 0.0, False, False, info
    over = False
    while not over:
        legal = np.flatnonzero(info["action_mask"])
        step = env.step(int(legal[rng.integers(legal.size)]))
        over, info = step[2] or step[3], step[4]
        yield step


@pytest.mark.parametrize("seat", ["first", "second", "random"])
def test_reset_starts_in_deployment(seat: str):
    """10.3.1, whoever deploys first."""
    env, seats = make_env(seat=seat), set()
    for seed in range(12):
        _, info = env.reset(seed=seed)
        state = env._batch.states[0]
        assert state.phase == "deployment"
        assert state.deployment_state.current_deployer == info["seat"] + 1
        seats.add(info["seat"])
    assert seats == {"first": {0}, "second": {1}, "random": {0, 1}}[seat]


@pytest.mark.parametrize("start", ["command", "move"])
@pytest.mark.parametrize("order", ["player_by_player", "alternated_p1_start"])
def test_a_whole_deployment_leads_to_the_configured_phase(start: str, order: str):
    """10.3.2, step by step through the environment: one unit of the learner a step."""
    game = small_game(post_deployment_start_phase=start, deployment_order_mode=order)
    env, rng = make_env(game, seat="first"), np.random.default_rng(0)
    state = env._batch.states[0]
    placed = []
    for _ in episode(env, 0, rng):
        if state.phase != "deployment":
            break
        placed.append(sum(unit.col >= 0 for unit in state.units.values() if unit.player == 1))
    assert placed == [0, 1]
    assert state.phases_entered[0] == start
    assert state.deployment_state.deployment_complete


@pytest.mark.parametrize("opponent", [bot(), bot(1.0), RandomAgent()])
def test_no_empty_mask_is_ever_handed_out(opponent):
    """10.3.3, and every action drawn from one is accepted."""
    env, rng = make_env(opponent=opponent), np.random.default_rng(1)
    for seed in range(15):
        for *_, terminated, truncated, info in episode(env, seed, rng):
            assert ("action_mask" in info) == (not (terminated or truncated))
            if "action_mask" in info:
                assert info["action_mask"].any()
                np.testing.assert_array_equal(info["action_mask"], env.action_masks())
                assert env._batch.states[0].game["to_move"] == info["seat"]
    assert env.episode_stats.episode_metrics()["deployment_invalid_action_attempt_rate"] == 0


def test_an_empty_mask_is_refused():
    """sb3-contrib would silently sample uniformly among illegal actions."""
    batch = make_env().vectorize(3)
    batch.reset(seed=0)
    np.testing.assert_array_equal(batch.action_masks(), batch._batch.games.mask)
    batch._batch.games.mask[1] = False
    with pytest.raises(UserError, match="no legal action"):
        batch.action_masks()


@pytest.mark.parametrize("wrong", [True, 4.0, 4.7, "4", None, np.array([4])])
def test_what_is_no_action_is_refused(wrong):
    env = make_env(seat="first")
    env.reset(seed=0)
    before = env._batch.saved()["arrays"]["games"].tobytes()
    with pytest.raises(UserError, match="is not a whole number"):
        env.step(wrong)
    assert env._batch.saved()["arrays"]["games"].tobytes() == before
    assert env._batch.buffers.results["invalid"][0] == 1
    env.step(np.array(int(env.action_masks().argmax())))


# Two riflemen shoot before a lone spitter can act, and often kill it.
AMBUSH = {
    "player_1": roster(a1=("rifleman", (4, 5)), a2=("rifleman", (6, 5))),
    "player_2": roster(b1=("spitter", (4, 1))),
}


@pytest.mark.parametrize(
    ("asked", "steps", "episodes"), [(False, 150, 20), pytest.param(True, 15, 2, marks=pytest.mark.slow)]
)
def test_a_game_decided_before_the_learner_acts_is_begun_again(asked: bool, steps: int, episodes: int):
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
        assert env._batch.states[0].units["b1"].hp == 1
    batch = env.vectorize(6)
    rng, (_, info) = np.random.default_rng(0), batch.reset(seed=0)
    for _ in range(steps):
        assert info["action_mask"].any(axis=1).all()
        *_, info = batch.step(np.where(info["action_mask"], rng.random(info["action_mask"].shape), -1).argmax(axis=1))
    assert batch.episode_stats.episodes > episodes


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
    before = {name: array.tobytes() for name, array in env._batch.games._asdict().items()}
    for action in np.flatnonzero(~info["action_mask"])[:7]:
        with pytest.raises(UserError):
            env.step(int(action))
    assert {name: array.tobytes() for name, array in env._batch.games._asdict().items()} == before
    rng, over = np.random.default_rng(0), False
    while not over:
        legal = np.flatnonzero(env.action_masks())
        *_, terminated, truncated, info = env.step(int(legal[rng.integers(legal.size)]))
        over = terminated or truncated
    assert info["deployment_valid_action_rate"] == pytest.approx(5 / 12)
    assert info["deployment_invalid_action_attempt_rate"] == pytest.approx(7 / 12)


def test_rewards_add_up_to_how_the_game_stands():
    """8: outcome once, performance and placement as changes that sum to the final lead; all values from the config."""
    env, rng, outcomes = make_env(opponent=bot()), np.random.default_rng(2), set()
    for seed in range(25):
        total = dict.fromkeys(("outcome", "performance", "deployment"), 0.0)
        info: dict = {}
        for _, reward, terminated, _, info in episode(env, seed, rng):
            parts = info.get("rewards", dict.fromkeys(total, 0.0))
            assert reward == pytest.approx(sum(parts.values()))
            assert terminated or parts["outcome"] == 0
            total = {name: total[name] + parts[name] for name in total}
        state, player = env._batch.states[0], info["seat"] + 1
        assert total["outcome"] == {1: 1.0, 0: 0.25, -1: -1.0}[info["outcome"]]
        points = state.victory_points
        alive = {p: points_of(state, p, living=True) / points_of(state, p, living=False) for p in (1, 2)}
        lead = 0.5 * (points[player] - points[3 - player]) / 60 + 0.25 * (alive[player] - alive[3 - player])
        assert total["performance"] == pytest.approx(lead)
        assert 0 < total["deployment"] <= 0.125
        outcomes.add(info["outcome"])
    assert {1, -1} <= outcomes


def points_of(state, player: int, *, living: bool) -> int:
    return sum(u.profile.points for u in state.units.values() if u.player == player and (u.hp > 0 or not living))


def test_placement_is_paid_for_nearness_to_objectives():
    """(4, 5) lies a hex from the objective around (4, 3), (0, 5) lies further: the shaping prefers the first."""
    paid = {}
    for one in ((4, 5), (0, 5)):
        env = make_env(seat="first")
        env.reset(seed=0)
        state = env._batch.states[0]
        action = env.game.actions.deploy(0, state.cell_of(one))
        *_, info = env.step(action)
        paid[one] = info["rewards"]["deployment"]
    assert paid[4, 5] > paid[0, 5] > 0
    assert paid[4, 5] == pytest.approx(0.125 * (1 - 1 / 9) / 2)


def test_the_same_seed_gives_the_same_episode():
    def record(seed: int) -> list:
        env = make_env(opponent=bot(0.5))
        return [(step[0].tobytes(), step[1]) for step in episode(env, seed, np.random.default_rng(0))]

    assert record(3) == record(3)
    assert record(3) != record(4)


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
    env = DeploymentEnv(small_game(), opponent, REWARD, "second", {})
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
    state = env._batch.states[0]
    env.step(game.actions.deploy(0, state.cell_of((2, 1))))
    with pytest.raises(UserError, match="has no free hex left"):
        env.step(game.actions.deploy(1, state.cell_of((0, 6))))


def test_render_shows_the_board():
    env = make_env(seat="first")
    env.reset(seed=0)
    text = env.render()
    assert "deployment, player 1 to place; left: player 1: a1 a2; player 2: b1 b2 b3" in text
    assert "##" in text
    assert "*" not in text
    covered = make_env(small_game(board={"map": COVER_MAP}))
    covered.reset(seed=0)
    assert covered.render().count("*") == 8


def test_a_batch_holds_one_state_for_good():
    """The state is never replaced or copied: episodes are played in the same arrays."""
    env = make_env()
    batch: Batch = env._batch
    arrays = [id(array) for array in batch.games]
    for seed in range(3):
        list(episode(env, seed, np.random.default_rng(seed)))
    assert [id(array) for array in batch.games] == arrays
    assert all(state.games is batch.games for state in batch.states)
