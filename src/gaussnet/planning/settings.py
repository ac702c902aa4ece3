"""What a user may ask `plan` and `certify`, checked at the door."""

from math import floor
from typing import Any, Literal, get_args

import numpy as np

from gaussnet.errors import SettingError
from gaussnet.graph.dag import Dag
from gaussnet.planning.batch_average import BatchAverageLaw
from gaussnet.planning.cauchy_tree import CauchyTreeLaw
from gaussnet.planning.laws import MethodLaw, Phases
from gaussnet.planning.least_squares import LeastSquaresLaw

PlanLaw = Literal["expected", "exact", "union", "paper"]
CertificateLaw = Literal["exact", "union", "paper"]

SMALLEST_DELTA = 1e-6
"""Smaller probabilities are beyond the accuracy of the quantiles."""

LAWS: dict[object, type[MethodLaw]] = {
    law.method: law for law in (LeastSquaresLaw, BatchAverageLaw, CauchyTreeLaw)
}
"""The laws that are known, by method."""
SCALES = ("mean-square",)
"""The scales that the laws are about."""
NO_LAW: dict[object, str] = {
    "batch-median": "the median of batch solutions has no closed law, and it depends on how the "
    "parents are correlated",
    "cauchy": "its whitened medians have no closed law",
    "robust": "it is made for data that are not clean, where no such promise holds",
    "auto": "like 'robust' it is made for data that are not clean, where no such promise holds",
    "sequential-trim": "it is made for data that are not clean, where no such promise holds",
}


def law_for(method: object, dag: Dag) -> MethodLaw:
    """The law of a method, given by name or as an estimator, or a reason why there is none."""
    name = method if isinstance(method, str) else getattr(method, "name", None)
    if name in LAWS:
        return LAWS[name].of(method, dag)
    if name in NO_LAW:
        raise SettingError(
            f"there is no law for method={name!r}: {NO_LAW[name]}; plan with 'least-squares', "
            "'batch-average' or, on a polytree, 'cauchy-tree'"
        )
    shown = name if isinstance(name, str) else method
    raise SettingError(
        f"got method={shown!r}, expected 'least-squares', 'batch-average' or 'cauchy-tree'"
    )


def check_scale(scale: object) -> None:
    """Refuse scales whose law is not known."""
    name = scale if isinstance(scale, str) else getattr(scale, "name", None)
    if name not in SCALES:
        raise SettingError(
            f"there is no law for scale={name!r}: the laws are those of 'mean-square'"
        )


def checked_delta(delta: float) -> float:
    """A probability of failure."""
    if not SMALLEST_DELTA <= delta < 1.0:
        raise SettingError(
            f"got delta={delta!r}, expected a probability from {SMALLEST_DELTA:g} up to 1"
        )
    return float(delta)


def check_resolution(law: MethodLaw, delta: float, nodes: int = 1) -> None:
    """Refuse probabilities that a simulated law cannot tell; a union shares delta by nodes."""
    if delta < law.resolution:
        raise SettingError(
            f"got delta={delta!r}, expected at least {law.resolution:.2g}: the law of "
            f"{law.method!r} is simulated and does not tell smaller probabilities"
        )
    if delta < law.resolution * nodes:
        raise SettingError(
            f"law='union' asks {nodes:,} nodes for quantiles of probability {delta / nodes:.2g}, "
            f"and the law of {law.method!r} is simulated and tells none below "
            f"{law.resolution:.2g}: use law='exact'"
        )


def checked_law(law: str, known: Any) -> str:
    """One of the known laws."""
    names = get_args(known)
    if law not in names:
        raise SettingError(f"got law={law!r}, expected one of {', '.join(map(repr, names))}")
    return law


def checked_rows(rows: object) -> int:
    """A positive number of rows."""
    if isinstance(rows, bool) or not isinstance(rows, int | np.integer) or rows < 1:
        raise SettingError(f"got rows={rows!r}, expected a positive whole number")
    return int(rows)


def phases_of_counts(rows: int, split: object, intercept: bool) -> Phases:
    """Phases of a fit: `split` is None or a pair of row counts."""
    if split is None:
        return Phases.shared(rows, intercept=intercept)
    if not isinstance(split, tuple | list) or len(split) != 2:
        raise SettingError(f"got split={split!r}, expected a pair (m1, m2) of row counts")
    first, second = (checked_rows(count) for count in split)
    if first + second > rows:
        raise SettingError(
            f"got split={split!r}, expected two counts that add up to at most the {rows} rows"
        )
    return Phases(first, second, True, intercept)


def phases_of_share(rows: int, share: float | None, intercept: bool) -> Phases:
    """Phases of a plan: `share` is None or the part of the rows that phase 1 gets."""
    if share is None:
        return Phases.shared(rows, intercept=intercept)
    first = floor(share * rows)
    return Phases(first, rows - first, True, intercept)


def checked_share(share: object) -> float | None:
    """None, or a part between 0 and 1."""
    if share is None:
        return None
    if isinstance(share, bool) or not isinstance(share, float | int) or not 0.0 < share < 1.0:
        raise SettingError(
            f"got split={share!r}, expected the part of the rows for phase 1, as split=0.5"
        )
    return float(share)
