"""What a user may ask `plan` and `certify`, checked at the door."""

from math import floor
from typing import Any, Literal, get_args

import numpy as np

from gaussnet.errors import SettingError
from gaussnet.graph.dag import Dag
from gaussnet.planning.batch_average import RESOLUTION, BatchAverage
from gaussnet.planning.bounds import Learner
from gaussnet.planning.cauchy_tree import CauchyTree
from gaussnet.planning.least_squares import LeastSquares
from gaussnet.planning.split_phases import Phases

PlanLaw = Literal["expected", "exact", "union", "paper"]
CertificateLaw = Literal["exact", "union", "paper"]

SMALLEST_DELTA = 1e-6
"""Smaller probabilities are beyond the accuracy of the quantiles."""

MOST_PARENTS = 128
"""Simulated laws of more parents take too long."""

NO_LAW = {
    "batch-median": "the median of batch solutions has no closed law, and it depends on how the "
    "parents are correlated",
    "cauchy": "its whitened medians have no closed law",
    "robust": "it is made for data that are not clean, where no such promise holds",
    "auto": "like 'robust' it is made for data that are not clean, where no such promise holds",
}


def method_name(method: object) -> str:
    """The name of a method, given by name or as an estimator."""
    name = method if isinstance(method, str) else getattr(method, "name", None)
    if not isinstance(name, str):
        raise SettingError(
            f"got method={method!r}, expected 'least-squares', 'batch-average' or 'cauchy-tree'"
        )
    return name


def learner_for(method: object, dag: Dag) -> Learner:
    """The laws of a method on a graph, or a reason why there are none."""
    name = method_name(method)
    if name == "least-squares":
        return LeastSquares()
    if name == "batch-average":
        return _batch_average(getattr(method, "extra_rows", 20), dag)
    if name == "cauchy-tree":
        return _cauchy_tree(getattr(method, "windows", "disjoint"), dag)
    if name in NO_LAW:
        raise SettingError(
            f"there is no law for method={name!r}: {NO_LAW[name]}; plan with 'least-squares', "
            "'batch-average' or, on a polytree, 'cauchy-tree'"
        )
    raise SettingError(
        f"got method={name!r}, expected 'least-squares', 'batch-average' or 'cauchy-tree'"
    )


def check_scale(scale: object) -> None:
    """Refuse scales whose law is not known."""
    name = scale if isinstance(scale, str) else getattr(scale, "name", None)
    if name != "mean-square":
        raise SettingError(
            f"there is no law for scale={name!r}: the laws are those of 'mean-square'"
        )


def checked_dag(dag: object) -> Dag:
    """A graph."""
    if not isinstance(dag, Dag):
        raise SettingError(
            f"got dag of type {type(dag).__name__}, expected a gaussnet.Dag: "
            "build one with Dag.from_edges, Dag.from_networkx or Dag.parse"
        )
    return dag


def checked_delta(delta: float) -> float:
    """A probability of failure."""
    if not SMALLEST_DELTA <= delta < 1.0:
        raise SettingError(
            f"got delta={delta!r}, expected a probability from {SMALLEST_DELTA:g} up to 1"
        )
    return float(delta)


def check_resolution(learner: Learner, delta: float) -> None:
    """Refuse probabilities that a simulated law cannot tell."""
    if isinstance(learner, BatchAverage) and delta < RESOLUTION:
        raise SettingError(
            f"got delta={delta!r}, expected at least {RESOLUTION:.2g}: the law of "
            "'batch-average' is simulated and does not tell smaller probabilities"
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


def _batch_average(extra_rows: object, dag: Dag) -> BatchAverage:
    if isinstance(extra_rows, bool) or not isinstance(extra_rows, int) or extra_rows < 1:
        raise SettingError(f"got extra_rows={extra_rows!r}, expected an integer of at least 1")
    if dag.max_in_degree > MOST_PARENTS:
        raise SettingError(
            f"got a node with {dag.max_in_degree} parents, expected at most {MOST_PARENTS} for "
            "'batch-average', whose law is simulated: use 'least-squares'"
        )
    return BatchAverage(extra_rows)


def _cauchy_tree(windows: object, dag: Dag) -> CauchyTree:
    if windows != "disjoint":
        raise SettingError(
            f"there is no law for 'cauchy-tree' with windows={windows!r}: they share rows and so "
            "depend on each other; use disjoint windows"
        )
    if not dag.is_polytree:
        raise SettingError(
            "there is no law for 'cauchy-tree' on a graph that is not a polytree: its medians "
            "depend on how the parents are correlated; use 'least-squares'"
        )
    return CauchyTree()
