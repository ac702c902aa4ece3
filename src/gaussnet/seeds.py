"""Random streams: one seed in, independent child streams out."""

import numpy as np

from gaussnet.errors import SettingError
from gaussnet.types import Seed


def generator(seed: Seed) -> "np.random.Generator":
    """A generator for this seed; a `Generator` passes through and goes on from its state.

    Examples
    --------
    >>> float(generator(0).random()) == float(generator(0).random())
    True
    """
    check_seed(seed)
    return np.random.default_rng(seed)


def children(seed: "int | np.random.SeedSequence", count: int) -> "list[np.random.SeedSequence]":
    """Independent child seeds, the same whoever uses them and in whatever order.

    Examples
    --------
    >>> [child.spawn_key for child in children(7, 2)]
    [(0,), (1,)]
    """
    check_seed(seed)
    root = np.random.SeedSequence(seed) if not isinstance(seed, np.random.SeedSequence) else seed
    key = root.spawn_key
    return [np.random.SeedSequence(root.entropy, spawn_key=(*key, index)) for index in range(count)]


def check_seed(seed: object) -> None:
    """Refuse what is not a seed: a non-negative integer, a SeedSequence or a Generator."""
    if isinstance(seed, np.random.SeedSequence | np.random.Generator):
        return
    if isinstance(seed, int | np.integer) and not isinstance(seed, bool) and seed >= 0:
        return
    raise SettingError(
        f"got seed={seed!r}, expected a non-negative integer, a numpy SeedSequence or Generator"
    )
