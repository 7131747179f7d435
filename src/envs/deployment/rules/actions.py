"""Compiled rules of a whole game: start, legal actions, and the effect of an action. Actions are integers:

      0 ............ S*H-1   deploy the unit in slot `a // H` on the hex in slot `a % H`
      S*H                    pass_deployment
      S*H+1 ........ +C      the active unit moves to a cell, numbered from its player's point of view;
                             while no unit is active (activation: choice), the own unit on it becomes active
      S*H+1+C ...... +S      the active unit attacks the enemy in a slot: shoots, charges or fights it
      S*H+1+C+S              the active unit waits

S unit slots, H hex slots, C cells. Slots number a player's whole roster by id and its whole zone by (col, row).
"""

from . import battle, deployment, reach
from .hexgrid import WORD_BITS
from .kernels import NOBODY, UNDECIDED, copy_values, kernel
from .world import CHARGE, DEPLOYMENT, MOVE_PHASE, Games, World


@kernel
def is_over(games: Games, i: int) -> bool:
    return games.games[i].outcome != UNDECIDED or games.games[i].deadlocked


@kernel
def start(world: World, games: Games, i: int) -> None:
    """Start game i. Its generator `random` continues."""
    random = games.games[i].random
    games.games[i] = world.first_game[0]
    games.games[i].random = random
    copy_values(world.first_units, games.units[i])
    games.control[i] = NOBODY
    games.occupants[i] = NOBODY
    for u in range(world.units.size):
        if games.units[i, u].deployed:  # a fixed deployment
            games.occupants[i, games.units[i, u].cell] = u
    for seat in range(2):
        games.sides[i, seat].victory_points = 0
        games.sides[i, seat].locked_units = 0
        games.sides[i, seat].confirmed = False
    if not world.settings.is_active:
        deployment.begin_battle(world, games, i)
    write_mask(world, games, i)


@kernel
def play(world: World, games: Games, i: int, action: int) -> None:
    """Play an action that the mask allows."""
    game = games.games[i]
    game.trail_length = 0
    if action < world.pass_action:
        seat = game.current_deployer
        unit = seat * world.slots + action // world.hex_slots
        deployment.place(world, games, i, unit, world.hexes[seat, action % world.hex_slots])
    elif action == world.pass_action:
        deployment.resolve_pass(world, games, i)
    else:
        choice = action - world.first_move
        if choice < world.cells.size:
            choice = world.seen[game.to_move, choice].turned
        if game.active == NOBODY:
            game.active = games.occupants[i, choice]
        else:
            battle.act(world, games, i, choice)
    write_mask(world, games, i)


@kernel
def write_mask(world: World, games: Games, i: int) -> None:
    game, mask = games.games[i], games.mask[i]
    games.mask[i] = False
    if is_over(games, i):
        return
    if game.phase == DEPLOYMENT:
        _mask_placements(world, games, i)
        return
    seat = game.to_move
    if game.active == NOBODY:  # the hexes of the units that may act
        for u in range(seat * world.slots, (seat + 1) * world.slots):
            if battle.may_be_chosen(world, games, i, u):
                mask[world.first_move + world.seen[seat, games.units[i, u].cell].turned] = True
        return
    mask[world.wait_action] = True
    if game.phase == MOVE_PHASE:
        _mask_moves(world, games, i, game.active)
        return
    if game.phase == CHARGE:
        reach.find_charges(world, games, i, game.active, False)
    for slot in range(world.slots):
        if battle.is_target(world, games, i, game.active, (1 - seat) * world.slots + slot):
            mask[world.first_target + slot] = True


@kernel
def _mask_placements(world: World, games: Games, i: int) -> None:
    """Allow every remaining unit on every legal hex; allow the pass only if there is none, but units are left."""
    seat, hex_slots = games.games[i].current_deployer, world.hex_slots
    first, no_hex = NOBODY, True  # the first unit to place; the hexes are the same for all
    for unit in range(world.slots):
        if not games.units[i, seat * world.slots + unit].deployable:
            continue
        own = games.mask[i, unit * hex_slots : (unit + 1) * hex_slots]
        if first == NOBODY:
            first = unit
            for slot in range(hex_slots):
                cell = world.hexes[seat, slot]
                own[slot] = cell >= 0 and deployment.can_place(world, games, i, seat, cell)
                no_hex &= not own[slot]
        else:
            of_first = games.mask[i, first * hex_slots : (first + 1) * hex_slots]
            for slot in range(hex_slots):
                own[slot] = of_first[slot]
    games.mask[i, world.pass_action] = no_hex and first != NOBODY


@kernel
def _mask_moves(world: World, games: Games, i: int, u: int) -> None:
    here, seen = games.units[i, u].cell, world.seen[u // world.slots]
    moves = games.mask[i, world.first_move :]
    reach.find_moves(world, games, i, u)
    reached, width = games.sets[i, reach.REACHED], world.row_words
    for row in range(world.cells.size // world.columns):
        for part in range(width):
            hexes, cell = reached[(row + 1) * width + part], row * world.columns + part * WORD_BITS
            while hexes != 0:
                moves[seen[cell].turned] = hexes & 1
                hexes >>= 1
                cell += 1
    moves[seen[here].turned] = False
