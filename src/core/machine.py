"""What the machine has to offer."""

import os

# Those this process may use, which in a container are fewer than there are.
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
