from experiments.study import Arm, Study, main

STUDY = Study(
    "mine_head",
    arms=(
        Arm("weight 0", ("experiment=mine_head", "algo.losses.aux_coef=0.0")),
        Arm("weight 0.1", ("experiment=mine_head", "algo.losses.aux_coef=0.1")),
        Arm("weight 1", ("experiment=mine_head",)),
    ),
    seeds=(0, 1, 2),
    scores=("trained",),
)

if __name__ == "__main__":
    main(STUDY)
