"""Pairs of columns: the compiled kernels agree with their definitions in NumPy."""

import numpy as np
import pytest
from tests.kernels.examples import EPSILON, family_table, normal_rows

from gaussnet.kernels import numpy_pairs
from gaussnet.kernels.families import Families
from gaussnet.types import FloatArray

native = pytest.importorskip("gaussnet.kernels.native")
pytestmark = pytest.mark.usefixtures("build")


def ordered_families(columns: int, most: int, seed: int) -> Families:
    """A family of each column: up to `most` of those before it are its parents."""
    rng = np.random.default_rng(seed)
    sizes = [int(rng.integers(0, min(most, child) + 1)) for child in range(columns)]
    chosen = [np.append(rng.permutation(child)[: sizes[child]], child) for child in range(columns)]
    return family_table(sorted(chosen, key=len))


def factored(x: FloatArray, families: Families) -> tuple[FloatArray, FloatArray]:
    """Inverse Cholesky factors of the parents' products, and loads of the children."""
    inverses, loads = [np.empty(0)], [np.empty(0)]
    for family, own in enumerate(families.parent_lists):
        inverse = np.linalg.inv(np.linalg.cholesky(x[:, own].T @ x[:, own])) if own else np.eye(0)
        inverses.append(inverse.ravel())
        loads.append(inverse @ x[:, own].T @ x[:, families.children[family]])
    return np.concatenate(inverses), np.concatenate(loads)


def unit_rows(rows: int, columns: int) -> FloatArray:
    x = normal_rows(rows, columns)
    x[:, 1:] += 0.5 * x[:, :-1]
    return np.asfortranarray(x / np.linalg.norm(x, axis=0))


@pytest.mark.parametrize(("columns", "most"), [(1, 0), (2, 1), (40, 4), (300, 9), (600, 3)])
@pytest.mark.parametrize("single", [True, False])
def test_candidates_agree(columns: int, most: int, single: bool) -> None:
    x, families = unit_rows(200, columns), ordered_families(columns, most, seed=1)
    products = (x.T @ x).astype(np.float32 if single else np.float64)
    inverses, loads = factored(x, families)
    rng = np.random.default_rng(2)
    limits = np.where(rng.random(columns) < 0.1, np.nan, 0.01)
    bounds = np.stack((limits, *rng.uniform(0.0, 1e-3, (2, columns))))

    def pairs_of(kernels: object, change: float) -> set[tuple[int, int]]:
        moved = bounds * np.array([1.0 - change, 1.0, 1.0])[:, None]
        found = kernels.candidate_pairs(products, families, inverses, loads, moved, 0.1 + change)
        return set(zip(*(part.tolist() for part in found), strict=True))

    # Sums of up to 9 products in single precision, whose factors are below 10, are off by 1e-5 at
    # most: what one kernel finds beyond that, the other finds too.
    ours, theirs = pairs_of(native, 0.0), pairs_of(numpy_pairs, 0.0)
    assert ours <= pairs_of(numpy_pairs, 0.01)
    assert theirs <= pairs_of(native, 0.01)
    left_out = np.flatnonzero(np.isnan(limits)).tolist()
    assert not {family for family, _ in ours} & set(left_out)
    for family, other in ours:
        assert other < families.children[family]
        assert other not in families.parent_lists[family]


def test_all_candidates_are_given_if_all_pass() -> None:
    x, families = unit_rows(50, 90), ordered_families(90, 3, seed=4)
    inverses, loads = factored(x, families)
    bounds = np.stack((np.zeros(90), *np.ones((2, 90))))
    found = native.candidate_pairs(
        (x.T @ x).astype(np.float32), families, inverses, loads, bounds, 0.0
    )
    assert len(found[0]) == int((families.children - families.sizes).sum())


@pytest.mark.parametrize("rows", [0, 1, 3, 37, 500])
def test_residuals_of_pairs_agree(rows: int) -> None:
    families = ordered_families(60, 8, seed=3)
    x = np.asfortranarray(normal_rows(rows, 60) / np.sqrt(max(rows, 1)))
    inverses, loads = factored(unit_rows(100, 60), families)
    rng = np.random.default_rng(5)
    chosen = np.sort(rng.integers(0, 60, 400))
    others = rng.integers(0, 60, 400)
    ours = native.pair_residuals(x, families, inverses, loads, chosen, others)
    theirs = numpy_pairs.pair_residuals(x, families, inverses, loads, chosen, others)
    # Products of columns are sums of `rows` terms of size 1 / rows or so, in another order, and
    # factors below 10 are applied to them twice.
    for own, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(own, other, rtol=0, atol=1e4 * (rows + 9) * EPSILON)


def test_residuals_of_pairs_are_those_of_least_squares() -> None:
    x, families = unit_rows(300, 30), ordered_families(30, 4, seed=6)
    inverses, loads = factored(x, families)
    chosen, others = np.array([5, 20, 20, 29]), np.array([9, 3, 29, 0])
    products, left = native.pair_residuals(x, families, inverses, loads, chosen, others)
    for k, (family, other) in enumerate(zip(chosen, others, strict=True)):
        parents = x[:, families.parent_lists[family]]
        own = x[:, [families.children[family], other]]
        rest = own - parents @ np.linalg.lstsq(parents, own, rcond=None)[0]
        assert products[k] == pytest.approx(rest[:, 0] @ rest[:, 1], abs=1e-13)
        assert left[k] == pytest.approx(rest[:, 1] @ rest[:, 1], abs=1e-13)
