"""The certificate of a fit: what is promised of its rows, method, scale and split."""

from typing import TYPE_CHECKING

import numpy as np

from gaussnet.errors import SettingError
from gaussnet.methods.base import Estimator
from gaussnet.methods.least_squares import LeastSquares
from gaussnet.methods.robust.sequential_trim import SequentialTrim
from gaussnet.methods.scales import MeanSquare, Scale
from gaussnet.planning import Certificate, certify

if TYPE_CHECKING:
    from gaussnet.fitting.result import Fit


def certificate_of(fit: "Fit", delta: float) -> Certificate:
    """How far the learnt network can be from the truth; see `Fit.certificate`."""
    method, scale = _method(fit)
    if fit.details.dropped.any():
        raise SettingError(
            "some nodes were learnt from fewer rows than others, where no law is known: "
            "fit with missing='drop-rows' for a certificate"
        )
    deficient = (fit.details.ranks < fit.dag.in_degrees).any()
    if deficient or not fit.network.variance_array.all():
        raise SettingError(
            "some nodes are exact functions of others, which no law allows for: "
            "leave them out of the graph for a certificate"
        )
    return certify(
        fit.dag,
        rows=_rows(fit, method),
        delta=delta,
        method=method,
        scale=scale,
        intercept=fit.intercept,
        split=fit.split,
    )


def _method(fit: "Fit") -> tuple[Estimator, Scale]:
    """The method and scale whose answer this is: least squares if nothing was trimmed."""
    if not isinstance(fit.method, SequentialTrim):
        return fit.method, fit.scale
    assert fit.trimming is not None
    if fit.trimming.left_out:
        raise SettingError(
            f"{len(fit.trimming.left_out)} nodes leave out rows that do not fit, and a "
            "certificate is one about clean rows: see fit.outliers() and fit.uncertainty()"
        )
    return LeastSquares(), MeanSquare() if fit.scale.name == "core" else fit.scale


def _rows(fit: "Fit", method: Estimator) -> int:
    """The rows, or as many as the batches used take: pages and singular ones cost some."""
    sizes = fit.dag.in_degrees
    heights = [method.rows_needed(size, fit.intercept) for size in sizes.tolist()]
    batched = (fit.details.batches > 0) & (sizes > 0)
    most = (fit.details.batches + 1) * np.array(heights, dtype=np.int64) - 1
    return int(most[batched].min(initial=fit.rows)) if fit.split is None else fit.rows
