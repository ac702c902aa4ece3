"""How compiled kernels take their arguments."""

from typing import Any

import numpy as np

from gaussnet._types import IntArray, Rows
from gaussnet.kernels.families import Families

MOST_LANES = 8
"""Values that a compiled kernel may write beyond what it keeps."""


def readable(x: Rows) -> Rows:
    """The same values as aligned float64 or float32 in the machine's byte order."""
    if x.dtype in (np.float64, np.float32) and x.dtype.isnative and x.flags.aligned:
        return x
    kind: Any = np.float32 if x.dtype.itemsize == np.dtype(np.float32).itemsize else np.float64
    return np.array(x, dtype=kind)


def flat_families(families: Families) -> tuple[IntArray, IntArray, IntArray]:
    """Children, offsets and parents."""
    return families.children, families.offsets, families.parents
