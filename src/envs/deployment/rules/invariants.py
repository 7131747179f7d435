"""Invariants of the game state between two actions, checked by tests and with `debug: true`."""

from .state import NOBODY, OFF_BOARD, GameState


def check_invariants(state: GameState) -> None:
    """Raise `AssertionError` listing all violated invariants."""
    broken = [*_deployment(state), *_bookkeeping(state)]
    if broken:
        raise AssertionError("the game state is inconsistent: " + "; ".join(broken))


def _deployment(state: GameState) -> list[str]:
    """Return the violations of the five invariants of the deployment contract, in its order."""
    units, deployment, broken = state.games.units[state.i], state.deployment_state, []
    deployed = deployment.deployed_units
    for u in state.numbers:
        unit, alive = state.unit_id(u), units["hp"][u] > 0
        stands, where = units["cell"][u] != OFF_BOARD, state.hex_of(units["cell"][u])
        if alive and stands != (unit in deployed):
            broken.append(f"{unit} {'stands' if stands else 'does not stand'} on the board, against deployed_units")
        if unit not in deployed and where != (-1, -1):
            broken.append(f"{unit} is not deployed but has the position {where}")
    for player, left in deployment.deployable_units_by_player.items():
        both = deployed & set(left)
        if both:
            broken.append(f"player {player}: {sorted(both)} are deployed and deployable at once")
    everyone = {state.unit_id(u) for u in state.numbers}
    complete = deployed == everyone and deployment.unconfirmed_player is None
    if deployment.deployment_complete != complete:
        broken.append(f"deployment_complete is {deployment.deployment_complete} with {len(deployed)} units deployed")
    if deployment.deployment_complete and state.phase == "deployment":
        broken.append("deployment is complete but the phase still deployment")
    return broken


def _bookkeeping(state: GameState) -> list[str]:
    """Return the violations of further invariants that the kernels rely on."""
    units, broken = state.games.units[state.i], []
    standing = {int(cell): u for u, cell in enumerate(units["cell"]) if cell != OFF_BOARD}
    occupied = {cell: int(u) for cell, u in enumerate(state.games.occupants[state.i]) if u != NOBODY}
    if standing != occupied:
        broken.append(f"units stand on {standing}, but occupied are {occupied}")
    if len(standing) != (units["cell"] != OFF_BOARD).sum():
        broken.append("two units stand on one hex")
    broken += [
        f"a unit stands on closed {state.hex_of(cell)}" for cell in standing if not state.world.cells["is_open"][cell]
    ]
    for u in state.numbers:
        if units["hp"][u] <= 0 and units["cell"][u] != OFF_BOARD:
            broken.append(f"{state.unit_id(u)} has no hp left but stands on the board")
        if not units["deployed"][u] and not units["deployable"][u]:
            broken.append(f"{state.unit_id(u)} is neither deployed nor deployable")
    over = state.game["deadlocked"] or state.game["outcome"] in (-1, 0, 1)
    if state.deployment_state.unconfirmed_player is not None:
        return broken + ["an action is legal before a confirmation"] * bool(state.games.mask[state.i].any())
    if state.games.mask[state.i].any() == over:
        broken.append("a game that goes on has no legal action" if not over else "a finished game has legal actions")
    return broken
