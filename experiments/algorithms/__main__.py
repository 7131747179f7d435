from experiments.study import Arm, Study, main

ALGORITHMS = ("ppo", "maskable_ppo", "dqn", "imitation", "alphazero", "qlearning")

STUDY = Study(
    "algorithms",
    arms=tuple(Arm(name, ("env=tictactoe", f"algo={name}", "device=cpu")) for name in ALGORITHMS),
    seeds=(1, 2, 3, 4, 5),
    scores=("random",),
)

if __name__ == "__main__":
    main(STUDY)
