"""Memory that the NumPy kernels use again from call to call."""

import math
import threading

import numpy as np

from gaussnet._types import FloatArray

MOST_KEPT = 1 << 20
"""Values of a piece of scratch that are kept from call to call: 8 MiB."""

_kept = threading.local()


def kept_scratch(name: str, shape: tuple[int, ...]) -> FloatArray:
    """Memory for values that are done with before this thread asks for this name again.

    It is kept unless it is large: memory new to the process costs a page fault every 4 KiB.

    >>> kept_scratch("example", (2, 3)).shape
    (2, 3)
    """
    count = math.prod(shape)
    if count > MOST_KEPT:
        return np.empty(shape)
    memory: FloatArray = getattr(_kept, name, np.empty(0))
    if len(memory) < count:
        memory = np.empty(count)
        setattr(_kept, name, memory)
    return memory[:count].reshape(shape)
