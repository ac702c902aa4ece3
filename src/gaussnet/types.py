"""The array and seed types that every layer uses."""

from typing import TypeAlias, Union

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
Rows: TypeAlias = NDArray[np.float64] | NDArray[np.float32]
"""Data as it came: (rows, columns), float64 or float32, any strides."""

Seed: TypeAlias = Union[int, "np.random.SeedSequence", "np.random.Generator"]
"""Named in strings, because NumPy imports `random` only when it is asked for."""
