"""Triangles of the parents' cross-products, in NumPy and compiled."""

import os

import numpy as np
import pytest

from gaussnet.kernels import numpy_core
from gaussnet.kernels.families import Families

MODULES = [numpy_core]
if os.environ.get("GAUSSNET_KERNELS") != "numpy":
    from gaussnet.kernels import _native, native

    MODULES.append(native)

SIZES = [0, 0, 1, 2, 2, 5, 9]


def some_families():
    rng = np.random.default_rng(1)
    chosen = [rng.permutation(12)[: size + 1] for size in SIZES]
    offsets = np.concatenate(([0], np.cumsum(SIZES)))
    return Families(
        np.array([own[-1] for own in chosen]), offsets, np.concatenate([own[:-1] for own in chosen])
    )


def triangles(flat):
    """The square matrices of a flat array."""
    ends = np.cumsum(np.square(SIZES))[:-1]
    parts = np.split(flat, ends)
    return [own.reshape(size, size) for own, size in zip(parts, SIZES, strict=True)]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
@pytest.mark.parametrize("scale", [1.0, 1e-100, 1e100])
def test_triangles_squared_are_the_products_of_the_parents(module, scale):
    families = some_families()
    rows = scale * np.random.default_rng(2).normal(size=(200, 12))
    products = numpy_core.family_moments(rows, families, False)[1]
    lost = np.zeros(len(families), dtype=bool)
    uppers = triangles(module.upper_triangles(families, products, lost))
    for family, upper in enumerate(uppers):
        start, stop = families.offsets[family : family + 2]
        parents = rows[:, families.parents[start:stop]]
        assert np.array_equal(upper, np.triu(upper))
        assert (np.diag(upper) > 0.0).all()
        # Rounding of sums of 200 squares of normal variables.
        np.testing.assert_allclose(
            upper.T @ upper / scale**2, parents.T @ parents / scale**2, rtol=1e-12, atol=1e-10
        )


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_lost_families_get_the_identity(module):
    families = some_families()
    rows = np.random.default_rng(3).normal(size=(50, 12))
    products = numpy_core.family_moments(rows, families, False)[1]
    lost = np.arange(len(families)) % 2 == 0
    products[np.repeat(lost, np.diff(families.product_offsets))] = np.nan
    uppers = triangles(module.upper_triangles(families, products, lost))
    for upper, gone in zip(uppers, lost.tolist(), strict=True):
        assert np.array_equal(upper, np.eye(len(upper))) == (gone or len(upper) == 0)
        assert np.isfinite(upper).all()


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
@pytest.mark.parametrize("size", [1, 2, 7, 13])
def test_systems_with_triangles_are_solved(module, size):
    rng = np.random.default_rng(4)
    # Dominant diagonals: the condition is moderate, and rounding stays near epsilon.
    uppers = np.triu(rng.normal(size=(20, size, size))) + 3.0 * size * np.eye(size)
    answers = rng.normal(size=(20, size))
    right = np.einsum("fij,fj->fi", uppers, answers)
    uppers[3, size // 2, size // 2] = 0.0
    right[5, 0] = np.nan
    found = module.solve_triangles(uppers, right)
    assert np.isnan(found[3]).all()
    assert np.isnan(found[5, 0])
    others = np.setdiff1d(np.arange(20), [3, 5])
    np.testing.assert_allclose(found[others], answers[others], rtol=1e-12, atol=1e-13)


@pytest.mark.skipif(len(MODULES) < 2, reason="the compiled kernels are switched off")
def test_arrays_of_the_wrong_size_are_refused():
    families = (np.array([2]), np.array([0, 2]), np.array([0, 1]))
    lost = np.zeros(1, dtype=bool)
    with pytest.raises(ValueError, match="expected 6 values, got 5"):
        _native.upper_triangles(families, np.zeros(5), lost, np.zeros(4))
    with pytest.raises(ValueError, match="expected 4 values, got 3"):
        _native.upper_triangles(families, np.zeros(6), lost, np.zeros(3))
    with pytest.raises(ValueError, match="expected"):
        _native.solve_triangles(2, 2, np.zeros(6), np.zeros(3), np.zeros(3))
