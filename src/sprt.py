"""Compare two agents or runs of a two-player game by a sequential test: play only as many games as needed."""

import json
import math
import time
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig, OmegaConf

from .config.agent_specs import build_agent, compose_spec, parse_specs, quote_agents
from .config.cli import hydra_command
from .config.errors import as_user_errors
from .core.errors import require
from .core.parallel import ordered_results

if TYPE_CHECKING:
    from .core.play.agent import Agent
    from .core.play.game import Game
    from .core.play.rating import Hypotheses, PairCounts


@dataclass
class Match:
    """Pairs of games between two players; pair i depends on the seed and i alone, apart from time limits.

    It is made of plain values, from which every process builds its own players.
    """

    env: dict[str, Any]
    players: dict[str, Any]  # configurations of agents, by label
    seed: int
    plies: tuple[int, int]  # fewest and most random plies before a pair

    @cached_property
    def game(self) -> "Game":
        from .config.build import build

        game: Game = build(DictConfig(self.env), "env").game
        return game

    @cached_property
    def agents(self) -> "dict[str, Agent]":
        return {label: build_agent(label, DictConfig(node)) for label, node in self.players.items()}

    def play_pair(self, number: int) -> list[int | None]:
        """Return the outcomes of both games of a pair for the first player."""
        from .core.play.arena import evaluate, random_opening
        from .core.seeding import generator

        rng, (fewest, most) = generator(self.seed, "sprt", number), self.plies
        with as_user_errors():  # here: the cause of an error does not reach the parent of a worker process
            start = random_opening(self.game, int(rng.integers(fewest, most + 1)), rng)
            seed = int(rng.integers(1 << 31))
            one, other = self.agents.values()
            return evaluate(self.game, one, other, 2, seed, starts=[start]).outcomes


def compose_match(cfg: DictConfig) -> Match:
    """Return the match of a configuration; raise `UserError` if it cannot be played."""
    from .core.play.rating import require_playable

    count, most, fewest = len(cfg.agents), cfg.opening_plies, cfg.fewest_opening_plies
    fewest = most if fewest is None else fewest
    require(count == 2, f"agents has {count} entries: a match has two players, such as agents=[alphabeta,random]")
    require(fewest <= most, f"fewest_opening_plies={fewest} is more than opening_plies={most}")
    players = {spec.label: OmegaConf.to_container(compose_spec(spec)) for spec in parse_specs(list(cfg.agents))}
    env: Any = OmegaConf.to_container(cfg.env, resolve=True)
    match = Match(env, players, cfg.seed, (fewest, most))
    two = match.game.players == 2
    require(two, f"env={cfg.composition.env} is a single-player game: a match needs two players")
    require_playable(match.game, match.agents, cfg.games, cfg.opening_plies)
    return match


def status_line(hypotheses: "Hypotheses", counts: "PairCounts") -> str:
    aborted = f"{counts.aborted} pairs aborted" if counts.aborted else ""
    if counts.games == 0:
        return aborted
    lower, upper = hypotheses.bounds
    elo, low, high = counts.elo()
    return (
        f"{counts.games} games: +{counts.wins} ={counts.draws} -{counts.losses}, {counts.points:.1%}, "
        f"Elo {elo:+.0f} ({low:+.0f} to {high:+.0f}), pairs {counts.pairs}, "
        f"LLR {hypotheses.llr(counts.pairs):+.2f} ({lower:.2f} to {upper:.2f})" + (aborted and f", {aborted}")
    )


def summary(agents: list[str], hypotheses: "Hypotheses", counts: "PairCounts", verdict: str) -> dict[str, Any]:
    """Return plain values for JSON, which has no infinite numbers: they are null."""
    elo, low, high = (value if math.isfinite(value) else None for value in counts.elo())
    return {
        "agents": agents,
        "games": counts.games,
        "pairs": counts.pairs,
        "aborted_pairs": counts.aborted,
        "verdict": verdict,
        "wins": counts.wins,
        "draws": counts.draws,
        "losses": counts.losses,
        "elo": elo,
        "elo_ci95": [low, high],
        "llr": hypotheses.llr(counts.pairs),
    }


@hydra_command("sprt", quote_agents)
def run(cfg: DictConfig) -> None:
    from .config import schema
    from .config.compose import validate
    from .core.files import require_writable, write_atomic
    from .core.play.rating import Hypotheses, PairCounts

    cfg = validate(cfg, schema.Sprt)
    hypotheses = Hypotheses(cfg.elo0, cfg.elo1, cfg.alpha, cfg.beta)
    if cfg.json is not None:
        require_writable(Path(cfg.json))
    match = compose_match(cfg)
    counts, verdict = PairCounts(), None
    end = math.inf if cfg.minutes is None else time.monotonic() + 60 * cfg.minutes
    # Workers get a copy without the players that were built here.
    task, workers = (match.play_pair, 0) if cfg.workers == 1 else (replace(match).play_pair, cfg.workers)
    with closing(ordered_results(task, range(cfg.games // 2), workers)) as results:
        for outcomes in results:
            counts.add(outcomes)
            verdict = verdict or hypotheses.verdict(counts.pairs)  # the first one is the result of the test
            print(status_line(hypotheses, counts), flush=True)
            if (verdict is not None and cfg.stop_early) or time.monotonic() > end:
                break
    require(counts.games > 0, f"games={cfg.games}: all {counts.aborted} pairs were aborted, so there is no result")
    verdict = verdict or "no decision: the number of games or the time is used up"
    print(verdict)
    if cfg.json is not None:
        figures = summary(list(cfg.agents), hypotheses, counts, verdict)
        write_atomic(Path(cfg.json), json.dumps(figures, allow_nan=False) + "\n")


if __name__ == "__main__":
    run()
