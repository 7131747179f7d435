"""Compare two agents or runs of a two-player game by a sequential test: play only as many games as needed."""

import json
import multiprocessing
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hydra
from omegaconf import DictConfig, OmegaConf

from .cli import exit_on_user_error, launch
from .core.errors import require
from .entries import build_player, parse_entries, quote_agents
from .paths import CONF

if TYPE_CHECKING:
    from .core.play.agent import Agent
    from .core.play.game import Game
    from .core.play.sprt import Hypotheses, PairCounts

_match: Any = None  # of a worker process


class Match:
    """Pairs of games between two players; pair i depends on the seed and i alone, apart from time limits."""

    def __init__(self, game: "Game", players: "list[Agent]", seed: int, plies: tuple[int, int]) -> None:
        self.game, self.players, self.seed, self.plies = game, players, seed, plies

    def play_pair(self, number: int) -> list[int | None]:
        """Return the outcomes of both games of a pair for the first player."""
        from .core.play.arena import evaluate, random_opening
        from .core.seeding import generator

        rng, (fewest, most) = generator(self.seed, "sprt", number), self.plies
        start = random_opening(self.game, int(rng.integers(fewest, most + 1)), rng)
        seed = int(rng.integers(1 << 31))
        one, other = self.players
        return evaluate(self.game, one, other, 2, seed, starts=[start]).outcomes


def new_match(cfg: DictConfig) -> Match:
    from . import compose
    from .core.play.tournament import require_playable

    game = compose.build(cfg.env, "env").game
    require(game.players == 2, f"env={cfg.composition.env} is a single-player game: a match needs two players")
    entries = parse_entries(list(cfg.agents))
    require(len(entries) == 2, f"agents has {len(entries)} entries: a match has two players")
    fewest = cfg.opening_plies if cfg.fewest_opening_plies is None else cfg.fewest_opening_plies
    require(
        fewest <= cfg.opening_plies, f"fewest_opening_plies={fewest} is more than opening_plies={cfg.opening_plies}"
    )
    players = {entry.label: build_player(entry) for entry in entries}
    require_playable(game, players, 2, fewest)
    require(cfg.games % 2 == 0, f"games={cfg.games} must be even: each opening is played twice, with seats swapped")
    return Match(game, list(players.values()), cfg.seed, (fewest, cfg.opening_plies))


def _start_worker(cfg: dict[str, Any]) -> None:
    global _match
    with hydra.initialize_config_dir(str(CONF), version_base="1.3"):
        _match = new_match(OmegaConf.create(cfg))


def _play_pair(number: int) -> list[int | None]:
    result: list[int | None] = _match.play_pair(number)
    return result


def play_pairs(cfg: DictConfig, match: Match) -> Iterator[list[int | None]]:
    """Yield the results of the pairs as they finish; the caller stops when it has enough."""
    numbers = range(cfg.games // 2)
    if cfg.workers == 1:
        yield from map(match.play_pair, numbers)
        return
    context, plain = multiprocessing.get_context("spawn"), OmegaConf.to_container(cfg, resolve=True)
    with context.Pool(cfg.workers, _start_worker, (plain,)) as pool:
        yield from pool.imap_unordered(_play_pair, numbers)


def status_line(hypotheses: "Hypotheses", counts: "PairCounts") -> str:
    lower, upper = hypotheses.bounds
    elo, low, high = counts.elo()
    return (
        f"{counts.games} games: +{counts.wins} ={counts.draws} -{counts.losses}, {counts.points:.1%}, "
        f"Elo {elo:+.0f} ({low:+.0f} to {high:+.0f}), pairs {counts.pairs}, "
        f"LLR {hypotheses.llr(counts.pairs):+.2f} ({lower:.2f} to {upper:.2f})"
    )


@hydra.main(version_base="1.3", config_path=str(CONF), config_name="sprt")
@exit_on_user_error
def main(cfg: DictConfig) -> None:
    from . import compose, schema
    from .core.files import require_writable, write_atomic
    from .core.play.sprt import Hypotheses, PairCounts

    cfg = compose.validate(cfg, schema.Sprt)
    hypotheses = Hypotheses(cfg.elo0, cfg.elo1, cfg.alpha, cfg.beta)
    if cfg.json is not None:
        require_writable(Path(cfg.json))
    counts, verdict = PairCounts(), None
    end = None if cfg.minutes is None else time.monotonic() + 60 * cfg.minutes
    for outcomes in play_pairs(cfg, new_match(cfg)):
        counts.add(outcomes)
        verdict = hypotheses.verdict(counts.pairs)
        print(status_line(hypotheses, counts), flush=True)
        if (verdict is not None and cfg.stop_early) or (end is not None and time.monotonic() > end):
            break
    verdict = verdict or "no decision: the number of games or the time is used up"
    print(verdict)
    if cfg.json is not None:
        result = {"agents": list(cfg.agents), "games": counts.games, "pairs": counts.pairs, "verdict": verdict}
        figures = {"wins": counts.wins, "draws": counts.draws, "losses": counts.losses, "elo_ci95": counts.elo()}
        write_atomic(Path(cfg.json), json.dumps(result | figures | {"llr": hypotheses.llr(counts.pairs)}) + "\n")


def run() -> None:
    launch(main, quote_agents)


if __name__ == "__main__":
    run()
