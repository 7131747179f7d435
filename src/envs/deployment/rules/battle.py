"""Compiled rules of the battle: which unit acts, its legal actions, and their effects.

The phases of a turn are command, move, shoot, charge, fight. In a phase the eligible units act one by one, in the order
of their ids or as their player chooses; the phase ends when none is eligible. Units that are off the board are never
used here, so their sentinel position cannot enter a distance.
"""

from .dice import d6, roll_damage
from .kernels import NOBODY, OFF_BOARD, UNDECIDED, kernel
from .reach import NO_HEX, charge_path, find_charges
from .world import CHARGE, COMMAND, COVERED, FIGHT, MELEE, MOVE_PHASE, RANGED, SHOOT, Games, World


@kernel
def act(world: World, games: Games, i: int, choice: int) -> None:
    """Play a legal choice of the active unit: a cell to move to, C + slot to attack, or a larger number to wait."""
    game, slots, cells = games.games[i], world.slots, world.cells.size
    u = game.active
    unit = games.units[i, u]
    unit.acted = True
    if choice < cells:
        unit.fled = beside_enemy(world, games, i, u)
        put(games, i, u, choice)
    elif choice < cells + slots:
        target = (1 - u // slots) * slots + choice - cells
        if game.phase == SHOOT:
            _attack(world, games, i, u, target, RANGED)
        elif game.phase == FIGHT:
            _attack(world, games, i, u, target, MELEE)
        else:
            find_charges(world, games, i, u, False)
            cell, steps = charge_path(world, games, i, u, target)
            if d6(game) + d6(game) >= steps:
                put(games, i, u, cell)
                unit.charged = True
    if game.phase == FIGHT:
        game.next_fighter = 1 - u // slots
    advance(world, games, i)


@kernel
def _attack(world: World, games: Games, i: int, u: int, target: int, kind: int) -> None:
    game, hit = games.games[i], games.units[i, target]
    covered = kind == RANGED and world.cells[hit.cell].is_cover
    lost = roll_damage(game, world.weapon[kind, u], world.units[target], hit.hp, covered)
    hit.hp -= lost
    games.units[i, u].dealt += lost
    if hit.hp == 0:
        put(games, i, target, OFF_BOARD)
        seat, alive = target // world.slots, 0
        for other in range(seat * world.slots, (seat + 1) * world.slots):
            alive += games.units[i, other].hp
        if alive == 0:
            game.outcome = 1 if seat == 1 else -1


@kernel
def put(games: Games, i: int, u: int, cell: int) -> None:
    """Move a unit to a free cell, or off the board."""
    if games.units[i, u].cell != OFF_BOARD:
        games.occupants[i, games.units[i, u].cell] = NOBODY
    games.units[i, u].cell = cell
    if cell != OFF_BOARD:
        games.occupants[i, cell] = u


@kernel
def advance(world: World, games: Games, i: int) -> None:
    """Advance through the phases until a unit is eligible or the game is over."""
    game = games.games[i]
    while game.outcome == UNDECIDED:
        game.active = next_active(world, games, i)
        if game.active != NOBODY:
            game.to_move = game.active // world.slots
            if world.settings.is_choice:
                game.active = NOBODY
            return
        if game.phase != FIGHT:
            enter(world, games, i, game.phase + 1)
        elif game.turn == game.first:
            game.turn = 1 - game.first
            enter(world, games, i, COMMAND)
        elif game.round < world.settings.rounds:
            game.round += 1
            game.turn = game.first
            enter(world, games, i, COMMAND)
        else:  # the end: the second player scores, and surviving points break a tie
            take_objectives(world, games, i)
            score(world, games, i, 1 - game.first)
            lead = games.sides[i, 0].victory_points - games.sides[i, 1].victory_points
            if lead == 0:
                lead = surviving_points(world, games, i, 0) - surviving_points(world, games, i, 1)
            game.outcome = (lead > 0) - (lead < 0)
    game.active = NOBODY


@kernel
def enter(world: World, games: Games, i: int, phase: int) -> None:
    game = games.games[i]
    game.phase = phase
    games.trail[i, game.trail_length] = phase
    game.trail_length += 1
    for u in range(world.units.size):
        games.units[i, u].acted = False
        if phase == COMMAND:
            games.units[i, u].fled = False
            games.units[i, u].charged = False
    if phase == COMMAND:
        take_objectives(world, games, i)
        scored_at_the_end = game.turn != game.first and game.round == world.settings.rounds
        if game.round >= 2 and not scored_at_the_end:
            score(world, games, i, game.turn)
    elif phase == FIGHT:
        game.next_fighter = 1 - game.turn


@kernel
def next_active(world: World, games: Games, i: int) -> int:
    """Return the unit that acts next. In fights chargers are first, then the sides alternate while both have one."""
    game = games.games[i]
    if game.phase != FIGHT:
        return _first_eligible(world, games, i, game.turn, False)
    active = _first_eligible(world, games, i, game.turn, True)
    if active == NOBODY:
        active = _first_eligible(world, games, i, game.next_fighter, False)
    if active == NOBODY:
        active = _first_eligible(world, games, i, 1 - game.next_fighter, False)
    return active


@kernel
def _first_eligible(world: World, games: Games, i: int, seat: int, chargers_only: bool) -> int:
    for u in range(seat * world.slots, (seat + 1) * world.slots):
        if (games.units[i, u].charged or not chargers_only) and is_eligible(world, games, i, u):
            return u
    return NOBODY


@kernel
def may_be_chosen(world: World, games: Games, i: int, u: int) -> bool:
    """Whether the player to move may choose this unit of its own to act next; in fights chargers are first."""
    game = games.games[i]
    chargers_only = game.phase == FIGHT and _first_eligible(world, games, i, game.turn, True) != NOBODY
    return (games.units[i, u].charged or not chargers_only) and is_eligible(world, games, i, u)


@kernel
def is_eligible(world: World, games: Games, i: int, u: int) -> bool:
    phase, unit = games.games[i].phase, games.units[i, u]
    if unit.cell == OFF_BOARD or unit.acted or phase == COMMAND:
        return False
    if phase == MOVE_PHASE:
        return True
    if phase == FIGHT:
        return world.weapon[MELEE, u].attacks > 0 and has_target(world, games, i, u)
    if unit.fled:
        return False
    if phase == SHOOT:
        return has_target(world, games, i, u)
    if beside_enemy(world, games, i, u):
        return False
    first = (1 - u // world.slots) * world.slots
    for enemy in range(first, first + world.slots):  # a cheap test before the expensive path search
        there = games.units[i, enemy].cell
        if there != OFF_BOARD and world.distance[unit.cell, there] <= world.settings.charge_reach:
            return find_charges(world, games, i, u, True)
    return False


@kernel
def has_target(world: World, games: Games, i: int, u: int) -> bool:
    first = (1 - u // world.slots) * world.slots
    for target in range(first, first + world.slots):  # noqa: SIM110 (numba has no generator expressions)
        if is_target(world, games, i, u, target):
            return True
    return False


@kernel
def is_target(world: World, games: Games, i: int, u: int, target: int) -> bool:
    """Whether unit u may attack this target in the current phase."""
    phase, here, there = games.games[i].phase, games.units[i, u].cell, games.units[i, target].cell
    if phase == SHOOT:
        return can_shoot(world, games, i, u, target)
    if phase == CHARGE:
        return charge_path(world, games, i, u, target)[0] != NO_HEX
    return phase == FIGHT and there != OFF_BOARD and world.distance[here, there] == 1


@kernel
def can_shoot(world: World, games: Games, i: int, u: int, target: int) -> bool:
    """Whether the target is in range, in sight, and not beside a unit on the shooter's side."""
    here, there = games.units[i, u].cell, games.units[i, target].cell
    if there == OFF_BOARD or world.weapon[RANGED, u].attacks == 0:
        return False
    if world.distance[here, there] > world.weapon[RANGED, u].reach or not world.sight[here, there]:
        return False
    return not beside_enemy(world, games, i, target)


@kernel
def shooting_kind(world: World, cell: int) -> int:
    """Return the kind of a ranged attack on a target on this cell, in `World.expected`."""
    return COVERED if world.cells[cell].is_cover else RANGED


@kernel
def beside_enemy(world: World, games: Games, i: int, u: int) -> bool:
    cell = games.units[i, u].cell
    for k in range(6):
        near = world.near[cell, k]
        if near < 0:
            return False
        other = games.occupants[i, near]
        if other != NOBODY and (other < world.slots) != (u < world.slots):
            return True
    return False


@kernel
def take_objectives(world: World, games: Games, i: int) -> None:
    """Give each objective to the side with the larger sum of objective control; it stays unchanged on a tie."""
    for k in range(games.control.shape[1]):
        balance = 0
        for u in range(world.units.size):
            cell = games.units[i, u].cell
            if cell != OFF_BOARD and world.cells[cell].objective == k:
                balance += world.units[u].control if u < world.slots else -world.units[u].control
        if balance != 0:
            games.control[i, k] = 0 if balance > 0 else 1


@kernel
def score(world: World, games: Games, i: int, seat: int) -> None:
    games.sides[i, seat].victory_points += points_per_score(world, games, i, seat)


@kernel
def points_per_score(world: World, games: Games, i: int, seat: int) -> int:
    """Return the victory points for the objectives that a seat holds now."""
    held, theirs = 0, 0
    for k in range(games.control.shape[1]):
        held += games.control[i, k] == seat
        theirs += games.control[i, k] == 1 - seat
    return world.settings.victory_points * (int(held >= 1) + int(held >= 2) + int(held > theirs))


@kernel
def max_victory_points(world: World) -> int:
    """Return the most points of a player, who scores from the second round on."""
    return 3 * world.settings.victory_points * (world.settings.rounds - 1)


@kernel
def surviving_points(world: World, games: Games, i: int, seat: int) -> int:
    points = 0
    for u in range(seat * world.slots, (seat + 1) * world.slots):
        if games.units[i, u].hp > 0:
            points += world.units[u].points
    return points
