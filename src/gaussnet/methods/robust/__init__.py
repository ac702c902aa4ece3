"""The robust estimator: least squares where data are clean, the oracle where they are not.

Every parent is the child of another equation. A wrong cell that would be a bad leverage point
in its children's equations is a mere vertical outlier in its own. So nodes are learnt parents
first, each on the rows whose parent cells are not suspicious."""

from gaussnet.kernels.numpy_robust import CONFIRMED, FINE, FLAGGED, MISSING, UNVERIFIED
from gaussnet.methods.robust.cells import SuspiciousCells
from gaussnet.methods.robust.sequential_trim import RobustSolution, SequentialTrim, Unproven

__all__ = [
    "CONFIRMED",
    "FINE",
    "FLAGGED",
    "MISSING",
    "UNVERIFIED",
    "RobustSolution",
    "SequentialTrim",
    "SuspiciousCells",
    "Unproven",
]
