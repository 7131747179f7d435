"""PPO in one file in the style of CleanRL, over a compiled vector environment with action masks.

python -m docs.examples.single_file_ppo --steps 200000
"""

import argparse

import gymnasium
import torch
from torch import nn
from torch.distributions import Categorical

from src.registration import register_envs

register_envs()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--env", default="boardlab/Minesweeper-8x8-v0")
    parser.add_argument("--steps", type=int, default=200_000)
    args = parser.parse_args()
    torch.manual_seed(0)

    num_envs, length, gamma, clip = 64, 32, 0.99, 0.2
    envs = gymnasium.make_vec(args.env, num_envs=num_envs)
    planes, height, width = envs.single_observation_space.shape  # type: ignore[misc]
    trunk = nn.Sequential(nn.Conv2d(planes, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1), nn.ReLU())
    actor, critic = nn.Conv2d(32, 1, 1), nn.Linear(32 * height * width, 1)
    optimizer = torch.optim.Adam([*trunk.parameters(), *actor.parameters(), *critic.parameters()], lr=1e-3)

    def look(board: torch.Tensor, mask: torch.Tensor) -> tuple[Categorical, torch.Tensor]:
        features = trunk(board)
        logits = actor(features).flatten(1).masked_fill(~mask, -1e9)  # illegal actions have probability 0
        return Categorical(logits=logits), critic(features.flatten(1)).squeeze(1)

    board, info = envs.reset(seed=0)
    for update in range(args.steps // (num_envs * length)):
        rollout: list[tuple[torch.Tensor, ...]] = []
        ended, revealed = 0, 0.0
        for _ in range(length):
            seen, mask = torch.tensor(board), torch.tensor(info["action_mask"])
            with torch.no_grad():
                policy, value = look(seen, mask)
            action = policy.sample()
            board, reward, terminated, truncated, info = envs.step(action.numpy())
            done = torch.tensor(terminated | truncated)
            rollout.append((seen, mask, action, policy.log_prob(action), value, torch.tensor(reward).float(), done))
            ended += int(done.sum())
            revealed += float(info["final_info"]["safe_revealed"].sum()) if "final_info" in info else 0.0
        with torch.no_grad():
            following = look(torch.tensor(board), torch.tensor(info["action_mask"]))[1]
        returns: list[torch.Tensor] = []
        for *_, reward, done in reversed(rollout):
            following = reward + gamma * following * ~done
            returns.insert(0, following)
        seen, mask, action, old, value, *_ = (torch.cat(parts) for parts in zip(*rollout, strict=True))
        target = torch.cat(returns)
        advantage = (target - value - (target - value).mean()) / ((target - value).std() + 1e-8)
        for rows in torch.cat([torch.randperm(len(target)) for _ in range(3)]).split(512):  # three epochs
            policy, value = look(seen[rows], mask[rows])
            ratio = (policy.log_prob(action[rows]) - old[rows]).exp()
            gain = torch.min(ratio * advantage[rows], ratio.clamp(1 - clip, 1 + clip) * advantage[rows]).mean()
            loss = -gain + 0.5 * (value - target[rows]).square().mean() - 0.003 * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if update % 10 == 0:
            print(
                f"step {(update + 1) * num_envs * length:,}: {revealed / max(ended, 1):.1%} of the safe cells revealed"
            )


if __name__ == "__main__":
    main()
