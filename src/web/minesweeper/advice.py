"""Hints and mine probabilities of solvers and networks, as text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...core.errors import UserError
from ...core.play.agent import Decision
from ...core.runs.index.playable import FinishedRun
from ...envs.minesweeper.game import Minesweeper, View
from ...envs.minesweeper.solver import Proof, analyze, find_proof
from ..players import AgentCache, Player, trained_players
from ..services import Services
from .board import percent
from .match import MinesweeperMatch

NONE, EXACT = "none", "exact"
LISTED = 3  # mistakes in the text after a game


def players_of(runs: list[FinishedRun]) -> dict[str, Player]:
    hybrids = {
        f"hybrid:{run.name}": Player(f"Hybrid with {run.name}", "hybrid", {"value_net.run": str(run.path)})
        for run in runs
    }
    return {
        EXACT: Player("Exact solver", "exact"),
        "heuristic": Player("Heuristic: the locally safest cell", "heuristic"),
        "rules": Player("The two classic rules, no guess", "rules"),
        "random": Player("Random", "random"),
        **hybrids,
        **trained_players(runs, "Network"),
    }


def odds_sources(players: Mapping[str, Player]) -> dict[str, str]:
    networks = {key: player.title for key, player in players.items() if player.run is not None}
    return {NONE: "hidden", EXACT: "exact", **networks}


@dataclass(frozen=True)
class Advice:
    action: int | None
    text: str
    risky: bool = False
    also: tuple[int, ...] = ()  # further safe reveals
    proof: tuple[int, ...] = ()  # the numbers that prove it


class Advisor:
    """Agents and the solver for boards of one size."""

    def __init__(self, services: Services, players: Mapping[str, Player], rows: int, cols: int) -> None:
        self._services, self._players = services, players
        # Views contain the number of mines, so it does not matter how many this game has.
        self._game = Minesweeper(rows, cols, 1, safe_neighborhood=False)
        self._agents = AgentCache(services, self._game, players, self._run_game)
        self._latest: tuple[tuple[str, int, bytes], np.ndarray] | None = None

    def _run_game(self, player: Player) -> Minesweeper:
        """Return a game of this size with the observations of the run."""
        assert player.run is not None
        size = {"config.H": self._game.rows, "config.W": self._game.cols, "config.mine_count": 1}
        free = {"config.mine_density": None, "config.guarantee_safe_neighborhood": False}
        game = self._services.run_game(player.run, {**size, **free, "config.first_click": "agent"})
        assert isinstance(game, Minesweeper)
        return game

    def odds(self, key: str, view: View) -> np.ndarray:
        """Return (rows, cols) mine probabilities, exact or predicted by a network; the latest are cached."""
        query = (key, view.mines, view.visible.tobytes())
        if self._latest is not None and self._latest[0] == query:
            return self._latest[1]
        if key == EXACT:
            odds = analyze(view.visible, view.mines).mine_probability
        else:
            predicted = self._agents.decide(key, view, np.random.default_rng(0)).info.get("mine_probability")
            if predicted is None:
                raise UserError(f"{self._players[key].title} does not predict mine probabilities: choose exact")
            odds = np.where(view.visible < 0, np.reshape(predicted, view.visible.shape), 0.0)
        self._latest = query, odds
        return odds

    def advise(self, key: str, view: View, rng: np.random.Generator) -> Advice:
        """Return the action of an agent, with its exact mine probability and the info of the agent."""
        decision = self._agents.decide(key, view, rng)
        if decision.action is None:
            return Advice(None, f"The agent stops here: {decision.info.get('reason', 'it chose no move')}.")
        cell = decision.action % view.visible.size
        place = _place(view, cell).capitalize()
        if (view.visible < 0).all():
            return Advice(decision.action, f"{place}: the first reveal is always safe.")
        chances = analyze(view.visible, view.mines).mine_probability.ravel()
        reason = _agent_info(decision, cell)
        if chances[cell] > 0:
            safest = float(chances[view.visible.ravel() < 0].min())
            no_safer = chances[cell] <= safest + 1e-9
            others = "and no cell is safer" if no_safer else f"while the safest cell has {percent(safest)}%"
            risk = f"a mine with {percent(float(chances[cell]))}%, {others}."
            return Advice(decision.action, f"{place} is a guess: {risk} {reason}", risky=True)
        also = tuple(other for other in decision.plan if chances[other] == 0)
        proof = find_proof(view.visible, cell, mine=False)
        more = f" So are {len(also)} more, dotted." if also else ""
        text = f"{place} is safe: {proof_text(proof)}.{more} {reason}"
        return Advice(decision.action, text, also=also, proof=proof.numbers if proof else ())


def proof_text(proof: Proof | None) -> str:
    if proof is None:
        return "this is certain, but the proof is too long to show"
    return "it follows from the number of mines left" if proof.counted else "it follows from the ringed numbers"


def describe_loss(match: MinesweeperMatch) -> str:
    """Return whether the reveal that lost a match was a mistake."""
    number = len(match.moves)
    view, cell = match.game.view(match.at(number - 1)), match.moves[-1]
    if (view.visible < 0).all():
        return ""
    chances = analyze(view.visible, view.mines).mine_probability.ravel()
    hidden = np.flatnonzero(view.visible.ravel() < 0)
    safest = int(hidden[chances[hidden].argmin()])
    place = _place(view, safest)
    if chances[safest] == 0:
        return f"At move {number}, {place} was safe."
    risk = f"The last reveal was a guess: a mine with {percent(float(chances[cell]))}%"
    if chances[cell] <= chances[safest] + 1e-9:
        return f"{risk}, and no cell was safer. Bad luck."
    return f"{risk}, while {place} had {percent(float(chances[safest]))}%."


class Mistake(NamedTuple):
    """A reveal with a risk although another cell was safe."""

    number: int  # of the move, from 1
    risk: float
    safe: int  # a cell that was safe
    place: str  # of that cell

    def __str__(self) -> str:
        return f"At move {self.number}, a mine with {percent(self.risk)}%, {self.place} was safe."


def find_mistakes(match: MinesweeperMatch) -> list[Mistake]:
    found = []
    for number, (state, cell) in enumerate(zip(match.states(), match.moves, strict=False), 1):
        view = match.game.view(state)
        if cell >= match.game.cells or (view.visible < 0).all():
            continue  # a flag, or the first reveal
        chances = analyze(view.visible, view.mines).mine_probability.ravel()
        safe = np.flatnonzero((view.visible.ravel() < 0) & (chances == 0))
        if chances[cell] > 0 and safe.size:
            found.append(Mistake(number, float(chances[cell]), int(safe[0]), _place(view, int(safe[0]))))
    return found


def describe_mistakes(mistakes: Sequence[Mistake], before: int) -> str:
    """Return the mistakes before a move as text: the latest ones, and how many there were."""
    earlier = [mistake for mistake in mistakes if mistake.number < before]
    if not earlier:
        return ""
    listed = "; ".join(f"at move {mistake.number} {mistake.place}" for mistake in earlier[-LISTED:])
    more = f", the latest {LISTED}" if len(earlier) > LISTED else ""
    guesses = "One earlier guess was" if len(earlier) == 1 else f"{len(earlier)} earlier guesses were"
    return f"{guesses} not needed{more}: {listed} was safe. Review shows them."


def _place(view: View, cell: int) -> str:
    return f"row {cell // view.visible.shape[1] + 1}, column {cell % view.visible.shape[1] + 1}"


def _agent_info(decision: Decision, cell: int) -> str:
    """Return the reason and the predictions of the agent as a sentence."""
    info = decision.info
    parts = []
    if "reason" in info:
        parts.append(str(info["reason"]))
    if "win_chance" in info:
        parts.append(f"it expects to win {percent(info['win_chance'])}% from here")
    if "action_probability" in info:
        parts.append(f"its policy gives it {percent(float(info['action_probability'][decision.action]))}%")
    if "mine_probability" in info:
        parts.append(f"it predicts a mine there with {percent(float(np.ravel(info['mine_probability'])[cell]))}%")
    return f"The agent: {', '.join(parts)}." if parts else ""
