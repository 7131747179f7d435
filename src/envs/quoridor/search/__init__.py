"""The two searches, in the order of the algorithms.

`alphabeta`, which the levels use, searches to a fixed depth by the factors of `evaluation`. `deepening`, which the
master uses, searches for a time: it repeats `timed_search`, with the network of `nnue` at the leaves.
"""
