"""Minesweeper on a GPU: N games in tensors that stay on their device."""

from collections.abc import Mapping, Sequence
from typing import Any, SupportsIndex

import torch
from gymnasium.vector import VectorEnv
from torch import Tensor

from ...core.errors import UserError
from ..masked_env import MaskedVectorEnv, Step
from .config import EPISODE_MEANS, VECTOR_METADATA, EnvConfig
from .net import cell_planes
from .notation import text_board
from .reward import StepFeatures, components, flags_worth, weights
from .torch_rules import BoardPool, Games, StepResult, act, blank_games, frontier, lay, reveal_all
from .variant import FLAGGED, MINE


class TorchMinesweeper(MaskedVectorEnv[Tensor]):
    """Follows the rules of `VecMinesweeper`, on other boards: one generator on the device draws them all.

    Steps return tensors on the device, which later steps do not overwrite. Final observations are one tensor; they and
    the rest of `final_info` are returned in every step and are valid where `info["_final_obs"]` is set.

    Games are taken from a pool that is refilled between steps; this is the only synchronization with the host, once in
    `pool - 1` steps. With `first_click="agent"` the mines depend on the click, so every step synchronizes.
    """

    metadata = VECTOR_METADATA
    episode_means = EPISODE_MEANS
    can_truncate = False  # a game that reaches its step limit is lost, so its value is not bootstrapped

    def __init__(self, num_envs: int, config: EnvConfig, device: str, *, pool: int = 8) -> None:
        """`pool` is the number of games per env that are drawn in advance."""
        self.variant, self.encoding = config.variant(), config.encoding()
        super().__init__(num_envs, self.encoding.space(config.H, config.W), self.variant.num_actions)
        if pool < 2:
            raise UserError(f"pool={pool}: at least two games per env are drawn ahead, one to take and one to refill")
        self.config, self.device, self._weights = config, torch.device(device), weights(config.reward)
        if self.device.type == "cuda" and not torch.cuda.is_available():
            raise UserError(f"device={device}: torch finds no CUDA device here")
        self.render_mode, self._frontier_mask = config.render_mode, config.frontier_mask
        self._games = blank_games(self.variant, num_envs, self.device)
        self._pool = BoardPool(self.variant, num_envs, pool, self.device)
        self._taken = torch.zeros((), dtype=torch.int64, device=self.device)  # number of games taken from the pool

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Tensor, dict[str, Any]]:
        """Start new games in all envs; without a seed the generator continues."""
        if seed is not None:
            if not isinstance(seed, SupportsIndex):
                raise UserError(f"seed={seed!r}: the games share one generator, so their seed is one whole number")
            VectorEnv.reset(self, seed=int(seed))
            self._pool.generator.manual_seed(int(seed))
            self._taken, self._pool.drawn, self._pool.enough_for = torch.zeros_like(self._taken), 0, 0
        elif not self._seeded:
            self._pool.generator.seed()
        self._seeded = True
        self._pool.refill(self._taken)
        self._games, self._taken = self._pool.take(self._games, self._taken, torch.ones_like(self._games.laid))
        return self._encode(self._games), {"action_mask": self.action_masks()}

    def step(self, actions: Tensor) -> Step[Tensor]:
        """Play one action per env (N,). `info["rewards"]` has the components of the rewards of this step."""
        self._check(actions)
        self._pool.refill(self._taken)
        if self.variant.first_click == "agent":
            self._lay_where_games_begin(actions)
        self._games, self._taken, *result = self.play(self._games, self._taken, actions)
        return tuple(result)

    def step_many(self, cells: Tensor) -> Step[Tensor]:
        """Reveal all `cells` (N, H, W) bool of every env in one step; at least one per env must be hidden."""
        self._require_started()
        self.config.require_multi_action()
        self._pool.refill(self._taken)
        self._games, self._taken, *result = self._finish(self._games, self._taken, *reveal_all(self._games, cells))
        return tuple(result)

    def play(self, games: Games, taken: Tensor, actions: Tensor) -> tuple[Any, ...]:
        """Step as a pure function: return the new games, the count of games taken, and the results of `step`.

        Its control flow does not depend on data, so it can be compiled or captured in a CUDA graph.
        """
        cells = self.variant.cells
        exists = (actions >= 0) & (actions < self.variant.num_actions)
        cell = torch.where(exists, actions % cells, cells)  # out of bounds, so that indexing raises on a GPU too
        return self._finish(games, taken, *act(games, cell, actions < cells))

    def _finish(self, games: Games, taken: Tensor, after: Games, result: StepResult) -> tuple[Any, ...]:
        """Compute the rewards, (N,) float64 each, and replace the games that ended."""
        after = after._replace(flags_worth=self._flags_worth(after))
        won = after.safe_left == 0
        truncated = ~(won | result.lost) & (after.steps >= self.config.max_steps)
        terminated = ended = won | result.lost | truncated  # a truncated game is lost
        flags_gain = after.flags_worth - games.flags_worth
        features = (result.opened, won, result.lost, truncated, ~(won | result.lost), ~result.valid, flags_gain)
        rewards = components(StepFeatures(*(feature.double() for feature in features)), self._weights)
        following, taken = self._pool.take(after, taken, ended)
        info = {
            "action_mask": self._mask(following),
            "rewards": rewards._asdict(),
            "final_obs": self._encode(after),
            "_final_obs": ended,
            "final_info": {
                "steps": after.steps * ended,
                "invalid_steps": after.invalid_steps * ended,
                "invalid_rate": after.invalid_steps.double() / after.steps.clamp(min=1) * ended,
                "safe_revealed": self._progress(after) * ended,
                "won": won,
            },
            "_final_info": ended,
        }
        return following, taken, self._encode(following), sum(rewards), terminated, truncated, info

    def _flags_worth(self, games: Games) -> Tensor:
        if not self._weights.use_flag_shaping:
            return games.flags_worth
        flags = games.visible == FLAGGED
        right = (flags & (games.code == MINE)).sum((1, 2)).double()
        return games.laid * flags_worth(right, flags.sum((1, 2)) - right, self._weights)

    def _lay_where_games_begin(self, actions: Tensor) -> None:
        begins = ~self._games.laid & (actions < self.variant.cells)
        which = begins.nonzero().squeeze(1)
        if len(which):
            mines = self._pool.draw_mines(actions[which], self._games.mines[which])
            code = self._games.code.index_copy(0, which, lay(mines, self._games.code.dtype))
            self._games = self._games._replace(code=code, laid=self._games.laid | begins)

    def observe(self) -> Tensor:
        return self._encode(self._games)

    def action_masks(self) -> Tensor:
        return self._mask(self._games)

    def set_frontier_mask(self, on: bool) -> None:
        """Restrict the masks to the frontier, or undo that; also during episodes."""
        self._frontier_mask = on

    def mine_mask(self) -> Tensor:
        """Return the mines, (N, H, W) bool; none before the first reveal."""
        return self._games.code == MINE

    def aux_targets(self) -> Tensor:
        """Return 1 for mines, 0 for safe cells, -1 for cells that are revealed or not laid yet, (N, H, W) int8."""
        unknown = (self._games.visible < 0) & self._games.laid.view(-1, 1, 1)
        return torch.where(unknown, (self._games.code == MINE).to(torch.int8), -1)

    def render(self) -> tuple[str, ...] | None:
        if self.render_mode is None:
            return None
        pairs = zip(self._games.visible.cpu().numpy(), self._games.mines.tolist(), strict=True)
        return tuple(text_board(visible, mines) for visible, mines in pairs)

    def state(self) -> dict[str, Any]:
        """Return everything that later steps depend on; of the pool, the generator states it is drawn from."""
        if not self._seeded:
            raise UserError("there are no episodes to save: call reset() first")
        return {
            **self._games._asdict(),
            "taken": self._taken,
            "drawn": self._pool.drawn,
            "enough_for": self._pool.enough_for,
            "drawn_from": torch.stack(self._pool.drawn_from),
            "generator": self._pool.generator.get_state(),
            "frontier_mask": self._frontier_mask,
        }

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Restore a saved state, so that the environment continues exactly as the saved one."""
        here = {**self._games._asdict(), "drawn_from": torch.stack(self._pool.drawn_from)}
        for name, tensor in here.items():
            if saved[name].shape != tensor.shape:
                raise UserError(
                    f"{name} was saved with shape {tuple(saved[name].shape)} and has {tuple(tensor.shape)} here: load "
                    "it with the board, num_envs, pool and kind of device that it was saved with"
                )
        self._games = Games(*(saved[name].to(self.device) for name in Games._fields))
        self._taken, self._frontier_mask = saved["taken"].to(self.device), saved["frontier_mask"]
        for block, state in enumerate(saved["drawn_from"].cpu()):
            self._pool.generator.set_state(state.clone())  # set_state ignores the storage offset of a row
            self._pool.fill(block)
        self._pool.generator.set_state(saved["generator"].cpu())
        self._pool.drawn, self._pool.enough_for = saved["drawn"], saved["enough_for"]
        self._seeded = True

    def _check(self, actions: Tensor) -> None:
        self._require_started()
        if actions.dtype != torch.int64 or actions.shape != (self.num_envs,) or actions.device.type != self.device.type:
            raise UserError(
                f"actions are {actions.dtype} of shape {tuple(actions.shape)} on {actions.device}: expected "
                f"torch.int64 of shape ({self.num_envs},) on {self.device}"
            )
        if self.device.type == "cpu":  # on a GPU the check would synchronize
            wrong = (actions < 0) | (actions >= self.variant.num_actions)
            if bool(wrong.any()):
                env, last = int(wrong.int().argmax()), self.variant.num_actions - 1
                raise UserError(f"action {actions[env]} of env {env} does not exist: they are 0..{last}")

    def _mask(self, games: Games) -> Tensor:
        reveals = hidden = games.visible < 0
        if self._frontier_mask:
            near = frontier(games.visible)
            reveals = hidden & (near | ~near.flatten(1).any(1).view(-1, 1, 1))
        kinds = [reveals, hidden] if self.config.flag_actions else [reveals]
        return torch.cat([kind.flatten(1) for kind in kinds], 1)

    def _encode(self, games: Games) -> Tensor:
        if self.encoding.compact:
            return games.visible
        planes, visible = [cell_planes(games.visible).float()], games.visible[:, None]
        if self.encoding.frontier:
            planes.append(frontier(games.visible)[:, None].float())
        if self.encoding.remaining_mines_ratio:
            mines_left = games.mines - (games.visible == FLAGGED).sum((1, 2))
            ratio = mines_left.clamp(min=0).double() / (games.safe_left + mines_left).clamp(min=1)
            planes.append(ratio.float().view(-1, 1, 1, 1).expand_as(visible))
        if self.encoding.progress:
            planes.append(self._progress(games).float().view(-1, 1, 1, 1).expand_as(visible))
        return torch.cat(planes, 1) if len(planes) > 1 else planes[0]

    def _progress(self, games: Games) -> Tensor:
        return 1 - games.safe_left.double() / (self.variant.cells - games.mines)
