"""Properties of this machine."""

import os

# Available to this process; in a container fewer than the machine has.
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
