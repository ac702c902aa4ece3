"""Methods and scales by name."""

from gaussnet.errors import SettingError
from gaussnet.estimate.batches import BatchAverage, BatchMedian
from gaussnet.estimate.cauchy import Cauchy, CauchyTree
from gaussnet.estimate.least_squares import LeastSquares
from gaussnet.estimate.scales import KlOptimal, Mad, MeanSquare, Scale
from gaussnet.estimate.solution import Estimator

METHODS = (LeastSquares, BatchAverage, BatchMedian, CauchyTree, Cauchy)
SCALES = (MeanSquare, Mad, KlOptimal)


def method_named(method: str | Estimator) -> Estimator:
    """The estimator of this name, with its default settings; an estimator passes through.

    Examples
    --------
    >>> method_named("batch-median")
    BatchMedian(extra_rows=20)
    """
    if not isinstance(method, str):
        if hasattr(method, "rows_needed") and not isinstance(method, type):
            return method
    else:
        for kind in METHODS:
            if kind.name == method:
                return kind()
    known = ", ".join(repr(kind.name) for kind in METHODS)
    raise SettingError(
        f"got method={method!r}, expected {known} or an estimator such as gn.BatchMedian(20)"
    )


def scale_named(scale: str | Scale) -> Scale:
    """The scale of this name; a scale passes through.

    Examples
    --------
    >>> scale_named("mad")
    Mad()
    """
    if not isinstance(scale, str):
        if (
            hasattr(scale, "kept_values")
            and not hasattr(scale, "rows_needed")
            and not isinstance(scale, type)
        ):
            return scale
    else:
        for kind in SCALES:
            if kind.name == scale:
                return kind()
    known = ", ".join(repr(kind.name) for kind in SCALES)
    raise SettingError(f"got scale={scale!r}, expected {known}, gn.MeanSquare() or gn.Mad()")


def check_together(method: Estimator, scale: Scale) -> None:
    """Refuse a scale that rests on the law of another method."""
    if isinstance(scale, KlOptimal) and method.name not in ("least-squares", "robust"):
        raise SettingError(
            f"got scale='kl-optimal' with method={method.name!r}, expected 'least-squares' or "
            "'robust': the law that makes it optimal is theirs, so use scale='mean-square'"
        )
