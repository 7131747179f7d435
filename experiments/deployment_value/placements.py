"""Plot where trained networks place their units: a map of each scenario for each seat.

python -m experiments.deployment_value.placements [--games 300]
"""

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.patches import RegularPolygon

from experiments.bench.deployment_bots import player
from src.algos.network_agent import NetworkAgent
from src.config.load import load_agent
from src.core.play.agent import Agent
from src.core.seeding import generator
from src.envs.deployment.game import DeploymentGame
from src.envs.deployment.rules.world import World

HERE = Path("experiments/deployment_value")
RUNS = {
    **dict.fromkeys(("deployment", "deployment_mirror"), "scenarios"),
    **{env: env for env in ("deployment_classic", "deployment_classic_mirror")},
}  # by environment
SEATS = ("first", "second")


def deployments(game: DeploymentGame, agent: Agent, opponent: Agent, seat: int, games: int) -> np.ndarray:
    """Return the cell of each unit of the agent in `seat` when the battle begins, (games, S); -1 for empty slots."""
    rngs = [generator(2028, "placements", seat, number) for number in range(games)]
    states = [game.initial(rng) for rng in rngs]
    slots = game.world.slots
    while states[0].phase == "deployment":
        player = agent if game.to_move(states[0]) == seat else opponent
        for state, decision in zip(states, player.decide_batch(game, states, rngs), strict=True):
            assert decision.action is not None
            game.play(state, decision.action)
    units = np.stack([state.games.units[state.i] for state in states])[:, seat * slots : (seat + 1) * slots]
    return np.where(units["deployed"], units["start"], -1)


def draw(axes: Axes, game: DeploymentGame, seat: int, placed: np.ndarray, likeliest: np.ndarray) -> None:
    world = game.world
    counts = np.bincount(placed[placed >= 0], minlength=world.cells.size) / len(placed)
    for cell in range(world.cells.size):
        axes.add_patch(
            RegularPolygon(
                center(world.columns, cell),
                6,
                radius=0.577,
                orientation=np.pi / 6,
                facecolor=color(world, cell, counts[cell] / max(counts.max(), 1e-9)),
                edgecolor="#0072b2" if cell in world.hexes[seat] else "#d0d0d0",
                linewidth=1.2 if cell in world.hexes[seat] else 0.4,
                zorder=2 if cell in world.hexes[seat] else 1,
            )
        )
    names = [unit.id for unit in game.scenario.rosters[seat]]
    for name, cell in zip(names, likeliest[likeliest >= 0], strict=True):
        ink = "white" if counts[cell] > 0.5 * counts.max() else "black"
        axes.text(*center(world.columns, int(cell)), name, ha="center", va="center", fontsize=6, color=ink, zorder=3)
    axes.set_title(f"{SEATS[seat]} player, {len(placed)} deployments", fontsize=9)
    axes.set_aspect("equal")
    axes.autoscale_view()
    axes.axis("off")


def center(columns: int, cell: int) -> tuple[float, float]:
    """Return the center of a hex; odd columns are half a hex lower."""
    row, column = divmod(cell, columns)
    return column * 0.866, -(row + 0.5 * (column % 2))


def color(world: World, cell: int, share: float) -> str:
    here = world.cells[cell]
    if not here["is_open"]:
        return "#555555"
    if share > 0:
        return to_hex(plt.get_cmap("YlOrBr")(0.15 + 0.85 * share))
    return "#cce5df" if here["objective"] >= 0 else "white"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=300, help="deployments a seat")
    games = parser.parse_args().games
    for env, run in RUNS.items():
        game, opponent = player(f"env={env}", "agent=tactical")
        assert isinstance(game, DeploymentGame)
        agent = load_agent(str(HERE / run), "best")
        assert isinstance(agent, NetworkAgent)
        figure, axes = plt.subplots(1, 2, figsize=(12, 5.2), layout="constrained")
        for seat in (0, 1):
            agent.greedy = True
            likeliest = deployments(game, agent, opponent, seat, 1)[0]
            agent.greedy = False
            draw(axes[seat], game, seat, deployments(game, agent, opponent, seat, games), likeliest)
        path = HERE / run / f"placements_{env}.png"
        figure.savefig(path, dpi=110)
        print(path)


if __name__ == "__main__":
    main()
