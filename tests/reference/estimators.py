"""The estimators written from their definitions, one window at a time: slow, obvious witnesses.

`x` is (rows, p) with the parents of one node, `y` (rows,) the node itself. Pages are runs of
`page_rows` rows; batches and windows stay inside a page.
"""

import numpy as np
from scipy.linalg import solve_triangular


def pages(x, y, page_rows):
    for first in range(0, len(y), page_rows):
        yield x[first : first + page_rows], y[first : first + page_rows]


def regression(x, y, intercept):
    """Slopes of least squares by `numpy.linalg.lstsq`."""
    if intercept:
        x, y = x - x.mean(axis=0), y - y.mean()
    return np.linalg.lstsq(x, y, rcond=None)[0]


def least_squares(x, y, intercept, page_rows):
    return regression(x, y, intercept)


def batch_slopes(x, y, intercept, page_rows, extra_rows):
    height = x.shape[1] + extra_rows + intercept
    return np.array(
        [
            regression(px[start : start + height], py[start : start + height], intercept)
            for px, py in pages(x, y, page_rows)
            for start in range(0, len(py) - height + 1, height)
        ]
    )


def batch_average(x, y, intercept, page_rows, extra_rows):
    return batch_slopes(x, y, intercept, page_rows, extra_rows).mean(axis=0)


def batch_median(x, y, intercept, page_rows, extra_rows):
    return np.median(batch_slopes(x, y, intercept, page_rows, extra_rows), axis=0)


def window_slopes(x, y, intercept, page_rows, sliding):
    height = x.shape[1] + intercept
    step = 1 if sliding else height
    slopes = []
    for px, py in pages(x, y, page_rows):
        for start in range(0, len(py) - height + 1, step):
            a, b = px[start : start + height], py[start : start + height]
            if intercept:
                full = np.column_stack((np.ones(height), a))
                slopes.append(np.linalg.solve(full, b)[1:])
            else:
                slopes.append(np.linalg.solve(a, b))
    return np.array(slopes)


def cauchy_tree(x, y, intercept, page_rows, sliding):
    return np.median(window_slopes(x, y, intercept, page_rows, sliding), axis=0)


def cauchy(x, y, intercept, page_rows, sliding):
    centred = x - x.mean(axis=0) if intercept else x
    lower = np.linalg.cholesky(centred.T @ centred / len(x))
    whitened = window_slopes(x, y, intercept, page_rows, sliding) @ lower
    return solve_triangular(lower.T, np.median(whitened, axis=0), lower=False)


def mean_square(residuals, intercept):
    """Location and variance."""
    location = residuals.mean() if intercept else 0.0
    return location, np.mean((residuals - location) ** 2)


def mad(residuals, intercept):
    middle = np.median(residuals)
    scale = 1.482602218505602 * np.median(np.abs(residuals - middle))
    return (middle if intercept else 0.0), scale**2


def huber(x, y, intercept, tuning):
    """Huber's M-estimator with the scale of least squares, by reweighting until nothing moves."""
    design = np.column_stack((np.ones(len(y)), x)) if intercept else x
    found = np.linalg.lstsq(design, y, rcond=None)[0]
    bound = tuning * np.sqrt(np.mean((y - design @ found) ** 2))
    for _ in range(500):
        weights = np.sqrt(np.minimum(1.0, bound / np.abs(y - design @ found)))
        found = np.linalg.lstsq(weights[:, None] * design, weights * y, rcond=None)[0]
    return found[1:] if intercept else found


def ridge(x, y, intercept, penalty):
    """Slopes that make the mean square plus `penalty` times their squares least."""
    if intercept:
        x, y = x - x.mean(axis=0), y - y.mean()
    return np.linalg.solve(x.T @ x + len(y) * penalty * np.eye(x.shape[1]), x.T @ y)
