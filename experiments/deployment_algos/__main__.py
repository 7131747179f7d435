from experiments.study import Arm, Study, main

ALIKE = ("algo.total_steps=81920", "evaluation.episodes=500")
PEER = (
    "env=deployment_mirror",
    "algo=maskable_ppo",
    "agent@env.opponent=greedy",
    "tuned=none",
    "net@algo.net=mlp",
    "algo.net.hidden=[128,128]",
    "algo.eval_every=16384",
)  # the rest is its default

STUDY = Study(
    "deployment_algos",
    arms=(Arm("ppo", ("experiment=deployment_algos", *ALIKE)), Arm("maskable_ppo", (*PEER, *ALIKE))),
    seeds=(0, 1),
    scores=("random", "greedy", "defensive", "tactical"),
    axes=("steps", "seconds"),
)

if __name__ == "__main__":
    main(STUDY)
