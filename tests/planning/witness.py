"""The KL divergence of one node by plain simulation: rows are drawn and equations solved.

The node has standard normal parents, coefficients 0, noise 1 and intercept 0; the laws say that
nothing else matters.
"""

import numpy as np


def node_divergences(learn, *, parents, phases, fits, seed):
    """KL of `fits` independent fits, (fits,); `learn` gives slopes (fits, p) from rows."""
    rng = np.random.default_rng(seed)
    rows = phases.first + phases.second if phases.split else phases.first
    design = rng.standard_normal((fits, rows, parents))
    noise = rng.standard_normal((fits, rows))
    slopes = learn(design[:, : phases.first], noise[:, : phases.first], phases.intercept)
    residuals = (noise - np.einsum("frp,fp->fr", design, slopes))[:, -phases.second :]
    location = residuals.mean(axis=1) if phases.intercept else np.zeros(fits)
    variance = ((residuals - location[:, None]) ** 2).mean(axis=1)
    error = (slopes**2).sum(axis=1) + location**2
    return 0.5 * ((1 + error) / variance - 1 + np.log(variance))


def least_squares(design, response, intercept):
    if intercept:
        design = design - design.mean(axis=1, keepdims=True)
    moments = np.einsum("fri,frj->fij", design, design)
    products = np.einsum("fri,fr->fi", design, response)
    return np.linalg.solve(moments, products[..., None])[..., 0]


def batch_average(design, response, intercept, extra_rows=20):
    fits, rows, parents = design.shape
    height = parents + extra_rows + intercept
    count = rows // height
    batches = design[:, : count * height].reshape(fits * count, height, parents)
    found = least_squares(
        batches, response[:, : count * height].reshape(fits * count, height), intercept
    )
    return found.reshape(fits, count, parents).mean(axis=1)


def cauchy_tree(design, response, intercept):
    fits, rows, parents = design.shape
    height = parents + intercept
    count = rows // height
    windows = design[:, : count * height].reshape(fits, count, height, parents)
    if intercept:
        windows = np.concatenate((windows, np.ones((fits, count, height, 1))), axis=3)
    sides = response[:, : count * height].reshape(fits, count, height, 1)
    return np.median(np.linalg.solve(windows, sides)[:, :, :parents, 0], axis=1)


def cumulative(law):
    """The distribution function of a law of weighted points."""
    order = np.argsort(law.values)
    values, masses = law.values[order], law.masses[order]
    below = np.cumsum(masses) - masses / 2
    return lambda x: np.interp(x, values, below, left=0.0, right=1.0)
