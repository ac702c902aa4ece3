"""What happens to missing values before anything is learnt."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from gaussnet import kernels
from gaussnet._types import Rows
from gaussnet.errors import DataError, SettingError

Missing = Literal["raise", "drop-rows", "drop-by-node"]


def without_missing(rows: Rows, names: Sequence[str], missing: Missing) -> tuple[Rows, bool]:
    """The rows to learn from, and whether NaN is left in them to be dropped node by node.

    NaN means missing and is treated as `missing` says. Infinite values are never accepted.
    """
    if missing not in ("raise", "drop-rows", "drop-by-node"):
        raise SettingError(
            f"got missing={missing!r}, expected 'raise', 'drop-rows' or 'drop-by-node'"
        )
    if len(rows) == 0:
        raise DataError("the data have no rows: give at least one")
    if kernels.all_finite(rows):
        return rows, False
    _refuse_infinite(rows, names)
    holes = np.isnan(rows)
    empty = np.flatnonzero(holes.all(axis=0))
    if len(empty):
        raise DataError(
            f"the column {names[empty[0]]!r} has no value at all: leave the node out of the graph"
        )
    if missing == "raise":
        row, column = np.argwhere(holes)[0].tolist()
        raise DataError(
            f"{_values(int(np.count_nonzero(holes)))} missing, the first in row {row} of column "
            f"{names[column]!r}: fill them, or give missing='drop-rows' or 'drop-by-node'"
        )
    if missing == "drop-by-node":
        return rows, True
    kept = rows[~holes.any(axis=1)]
    if len(kept) == 0:
        raise DataError(
            f"each of the {len(rows)} rows has a missing value: give missing='drop-by-node'"
        )
    return kept, False


def _values(count: int) -> str:
    return "1 value is" if count == 1 else f"{count} values are"


def _refuse_infinite(rows: Rows, names: Sequence[str]) -> None:
    infinite = np.argwhere(np.isinf(rows))
    if len(infinite):
        row, column = infinite[0].tolist()
        raise DataError(
            f"{_values(len(infinite))} infinite, the first in row {row} of column "
            f"{names[column]!r}: mend them, or set them to NaN and say what to do with missing"
        )
