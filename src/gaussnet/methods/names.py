"""Methods and scales by name."""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

from gaussnet.errors import SettingError
from gaussnet.methods.base import Method, Scale
from gaussnet.methods.scales import GaussianCore, KlOptimal, MeanSquare
from gaussnet.named_rows import called_here, did_you_mean

METHODS: Mapping[str, str] = MappingProxyType(
    {
        "least-squares": "least_squares.LeastSquares",
        "batch-average": "batches.BatchAverage",
        "batch-median": "batches.BatchMedian",
        "cauchy-tree": "cauchy.CauchyTree",
        "cauchy": "cauchy.Cauchy",
        "robust": "robust.cellwise.Cellwise",
        "auto": "robust.cellwise.Auto",
        "sequential-trim": "robust.sequential_trim.SequentialTrim",
    }
)
"""Where the class of each method is; it is imported when it is asked for."""
OTHER_NAMES: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("ols", "lm", "ml", "mle", "linear", "regression"), "least-squares")
    | dict.fromkeys(("rlm", "lmrob", "mm", "cellwise"), "robust")
)
"""What methods are called elsewhere."""
SCALES: Mapping[str, str] = MappingProxyType(
    {
        "mean-square": "scales.MeanSquare",
        "mad": "mad.Mad",
        "kl-optimal": "scales.KlOptimal",
        "core": "scales.GaussianCore",
    }
)


def class_at(place: str) -> Any:
    """The class of a method or of a scale.

    Examples
    --------
    >>> class_at(METHODS["cauchy"]).name
    'cauchy'
    """
    module, _, name = place.rpartition(".")
    return getattr(import_module(f"gaussnet.methods.{module}"), name)


def method_named(method: str | Method) -> Method:
    """The estimator of this name, with its default settings; an estimator passes through.

    Examples
    --------
    >>> method_named("batch-median")
    BatchMedian(extra_rows=20)
    """
    if isinstance(method, Method):
        return method
    if method in METHODS:
        found: Method = class_at(METHODS[method])()
        return found
    known = ", ".join(map(repr, METHODS))
    raise SettingError(
        f"got method={method!r}, expected {known} or an estimator such as gn.BatchMedian(20)"
        f"{called_here(str(method), OTHER_NAMES) or did_you_mean(str(method), METHODS)}"
    )


def scale_named(scale: str | Scale | None, method: Method) -> Scale:
    """The scale of this name; a scale passes through, and None is the method's own.

    Examples
    --------
    >>> plain = method_named("least-squares")
    >>> scale_named("mad", plain), scale_named(None, plain)
    (Mad(), MeanSquare())
    """
    if isinstance(scale, Scale):
        return scale
    wanted = method.default_scale if scale is None else scale
    if wanted in SCALES:
        found: Scale = class_at(SCALES[wanted])()
        return found
    known = ", ".join(map(repr, SCALES))
    raise SettingError(
        f"got scale={scale!r}, expected {known}, gn.MeanSquare() or gn.Mad()"
        f"{did_you_mean(str(scale), SCALES)}"
    )


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
