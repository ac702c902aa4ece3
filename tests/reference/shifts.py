"""Maximum likelihood of one equation with intercepts and variances by stratum, by plain search."""

import numpy as np
from scipy.optimize import minimize


def maximum_likelihood(x, y, strata):
    """Coefficients (p,), intercepts and variances (strata,), and the log-likelihood.

    x is (rows, p), y (rows,), strata the number of each row's.
    """
    size, count = x.shape[1], int(strata.max()) + 1

    def lost(parameters):
        slopes, places, logs = np.split(parameters, [size, size + count])
        errors = y - x @ slopes - places[strata]
        return 0.5 * np.sum(np.log(2.0 * np.pi) + logs[strata] + errors**2 * np.exp(-logs[strata]))

    def slope(parameters):
        slopes, places, logs = np.split(parameters, [size, size + count])
        errors = y - x @ slopes - places[strata]
        weighted = errors * np.exp(-logs[strata])
        by = np.eye(count)[strata]
        return np.concatenate(
            [-x.T @ weighted, -by.T @ weighted, 0.5 * by.T @ (1.0 - errors * weighted)]
        )

    start = np.zeros(size + 2 * count)
    start[size : size + count] = [y[strata == k].mean() for k in range(count)]
    start[size + count :] = [np.log(y[strata == k].var()) for k in range(count)]
    found = minimize(
        lost, start, jac=slope, method="BFGS", options={"gtol": 1e-9, "maxiter": 10_000}
    )
    slopes, places, logs = np.split(found.x, [size, size + count])
    return slopes, places, np.exp(logs), -float(found.fun)
