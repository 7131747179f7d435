from experiments.study import Arm, Study, main

STUDY = Study(
    "frontier_mask",
    arms=(Arm("off", ("experiment=minesweeper_study",)), Arm("on", ("experiment=frontier_mask",))),
    seeds=(0, 1, 2),
    scores=("trained",),
)

if __name__ == "__main__":
    main(STUDY)
