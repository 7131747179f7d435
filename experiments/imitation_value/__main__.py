from experiments.study import Arm, Study, main

# From the teacher on PPO plays for the outcome alone, which is what the network's value already means.
OUTCOME = ("reward.progress_reward=0.0", "reward.step_penalty=0.0", "algo.gamma=1.0", "algo.lr=0.0003")

STUDY = Study(
    "imitation_value",
    arms=(
        Arm("ppo", ("experiment=imitation_value",)),
        Arm("half imitation", ("experiment=imitation_value_teacher",)),
        Arm(
            "half imitation, half ppo",
            ("experiment=imitation_value", "algo.total_steps=524288", *OUTCOME),
            starts_from="half imitation",
        ),
        Arm("imitation", ("experiment=imitation_value_teacher", "algo.total_steps=1048576")),
    ),
    seeds=(0, 1, 2),
    scores=("trained",),
)

if __name__ == "__main__":
    main(STUDY)
