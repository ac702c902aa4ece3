"""Speed beside named rivals, in one run on one machine, with one thread of BLAS: ``make bench``."""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
