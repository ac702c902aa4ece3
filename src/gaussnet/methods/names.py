"""Methods and scales by name."""

from typing import Any

from gaussnet.errors import SettingError
from gaussnet.methods.base import Method, Scale
from gaussnet.methods.batches import BatchAverage, BatchMedian
from gaussnet.methods.cauchy import Cauchy, CauchyTree
from gaussnet.methods.least_squares import LeastSquares
from gaussnet.methods.mad import Mad
from gaussnet.methods.robust.cellwise import Auto, Cellwise
from gaussnet.methods.robust.sequential_trim import SequentialTrim
from gaussnet.methods.scales import GaussianCore, KlOptimal, MeanSquare

METHODS = (
    LeastSquares,
    BatchAverage,
    BatchMedian,
    CauchyTree,
    Cauchy,
    Cellwise,
    Auto,
    SequentialTrim,
)
SCALES = (MeanSquare, Mad, KlOptimal, GaussianCore)


def method_named(method: str | Method) -> Method:
    """The estimator of this name, with its default settings; an estimator passes through.

    Examples
    --------
    >>> method_named("batch-median")
    BatchMedian(extra_rows=20)
    """
    if isinstance(method, Method):
        return method
    for kind in METHODS:
        if kind.name == method:
            return kind()
    known = ", ".join(repr(kind.name) for kind in METHODS)
    raise SettingError(
        f"got method={method!r}, expected {known} or an estimator such as gn.BatchMedian(20)"
    )


def scale_named(scale: str | Scale | None, method: Method) -> Scale:
    """The scale of this name; a scale passes through, and None is the method's own.

    Examples
    --------
    >>> scale_named("mad", LeastSquares()), scale_named(None, LeastSquares())
    (Mad(), MeanSquare())
    """
    if isinstance(scale, Scale):
        return scale
    wanted = method.default_scale if scale is None else scale
    for kind in SCALES:
        if kind.name == wanted:
            return kind()
    known = ", ".join(repr(kind.name) for kind in SCALES)
    raise SettingError(f"got scale={scale!r}, expected {known}, gn.MeanSquare() or gn.Mad()")


def check_together(method: Method, scale: Scale, split: Any = None) -> None:
    """Refuse a scale that rests on the law of another method, and a split that it cannot use."""
    robust = method.needs_all_rows
    if isinstance(scale, KlOptimal) and not robust and method.name != "least-squares":
        raise SettingError(
            f"got scale='kl-optimal' with method={method.name!r}, expected 'least-squares' or "
            "'robust': the law that makes it optimal is theirs, so use scale='mean-square'"
        )
    if isinstance(scale, GaussianCore) and not robust:
        raise SettingError(
            f"got scale='core' with method={method.name!r}, expected 'robust': it is the scale of "
            "the rows that trimming keeps, so use scale='mad' for one that outliers do not move"
        )
    if robust and not isinstance(scale, MeanSquare):
        raise SettingError(
            f"got scale={scale.name!r} with method={method.name!r}, expected 'core', 'kl-optimal' "
            "or 'mean-square': trimming finds its scale on the way, so leave scale out"
        )
    if robust and split is not None:
        raise SettingError(
            f"got split={split!r} with method={method.name!r}, which finds coefficients "
            "and variances together: leave split out"
        )
