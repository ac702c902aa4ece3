"""Families as flat arrays, against plain loops over lists."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from gaussnet.kernels.families import Families

Plain = list[tuple[int, list[int]]]


def flat(plain: Plain) -> Families:
    """The families of (child, parents) pairs."""
    return Families(
        np.array([child for child, _ in plain], dtype=np.int64),
        np.cumsum([0] + [len(parents) for _, parents in plain], dtype=np.int64),
        np.array([parent for _, parents in plain for parent in parents], dtype=np.int64),
    )


def listed(families: Families) -> Plain:
    """The (child, parents) pairs of families."""
    bounds = zip(families.offsets[:-1], families.offsets[1:], strict=True)
    return [
        (int(child), families.parents[start:stop].tolist())
        for child, (start, stop) in zip(families.children, bounds, strict=True)
    ]


columns = st.integers(0, 30)
plain_families = st.lists(st.tuples(columns, st.lists(columns, max_size=7)), max_size=8)


@st.composite
def chosen_families(draw: st.DrawFn) -> tuple[Plain, list[int]]:
    plain = draw(plain_families)
    positions = st.integers(0, len(plain) - 1)
    return plain, draw(st.lists(positions, max_size=10)) if plain else []


@given(plain_families)
def test_flat_families_list_back(plain):
    families = flat(plain)
    assert listed(families) == plain
    assert len(families) == len(plain)
    assert families.sizes.tolist() == [len(parents) for _, parents in plain]


@given(plain_families)
def test_every_edge_knows_its_family(plain):
    slow = [f for f, (_, parents) in enumerate(plain) for _ in parents]
    assert flat(plain).family_of_edge.tolist() == slow


@given(plain_families)
def test_columns_are_the_parents_then_the_child(plain):
    families = flat(plain)
    slow = [[*parents, child] for child, parents in plain]
    bounds = families.column_offsets.tolist()
    assert families.columns.tolist() == sum(slow, [])  # noqa: RUF017  (short lists)
    for f, own in enumerate(slow):
        assert families.columns[bounds[f] : bounds[f + 1]].tolist() == own
    assert bounds[-1] == len(families.columns)


@given(plain_families)
def test_products_are_the_lower_triangle_row_by_row(plain):
    families = flat(plain)
    rows, cols, owners, starts, start = [], [], [], [0], 0
    for f, (_, parents) in enumerate(plain):
        for i in range(len(parents) + 1):
            for j in range(i + 1):
                rows.append(start + i)
                cols.append(start + j)
                owners.append(f)
        start += len(parents) + 1
        starts.append(len(rows))
    assert families.product_offsets.tolist() == starts
    assert families.family_of_product.tolist() == owners
    assert [part.tolist() for part in families.product_columns] == [rows, cols]


@pytest.mark.parametrize("parents", [0, 1, 500, 2_000])
def test_products_of_a_large_family_are_not_misplaced_by_rounding(parents):
    families = flat([(parents, list(range(parents)))])
    rows, cols = np.tril_indices(parents + 1)
    found_rows, found_cols = families.product_columns
    assert np.array_equal(found_rows, rows)
    assert np.array_equal(found_cols, cols)


@given(chosen_families())
def test_a_subset_holds_the_chosen_families_in_their_order(case):
    plain, chosen = case
    subset = flat(plain).subset(np.array(chosen, dtype=np.int64))
    assert listed(subset) == [plain[f] for f in chosen]


@given(chosen_families())
def test_edges_of_families_are_their_places_among_all_parents(case):
    plain, chosen = case
    families = flat(plain)
    slow = [edge for f in chosen for edge in range(families.offsets[f], families.offsets[f + 1])]
    assert families.edges_of(np.array(chosen, dtype=np.int64)).tolist() == slow
    for size, alike, _ in families.by_size:
        assert families.edges_of(alike, size).tolist() == families.edges_of(alike.copy()).tolist()


@given(plain_families)
def test_families_grouped_by_size_are_all_families_once(plain):
    groups = list(flat(plain).by_size)
    sizes = [size for size, _, _ in groups]
    assert sizes == sorted({len(parents) for _, parents in plain})
    for size, chosen, own in groups:
        assert own.shape == (len(chosen), size + 1)
        slow = {
            f: [*parents, child] for f, (child, parents) in enumerate(plain) if len(parents) == size
        }
        assert dict(zip(chosen.tolist(), own.tolist(), strict=True)) == slow


def test_no_families_give_empty_arrays_of_integers():
    families = flat([])
    arrays = [
        families.sizes,
        families.family_of_edge,
        families.columns,
        families.family_of_product,
        *families.product_columns,
        families.subset(np.arange(0)).parents,
        families.edges_of(np.arange(0)),
    ]
    assert [(array.tolist(), array.dtype) for array in arrays] == [([], np.int64)] * len(arrays)
    assert list(families.by_size) == []
    assert families.product_offsets.tolist() == [0]


@given(plain_families)
def test_all_arrays_are_contiguous_64_bit_integers(plain):
    families = flat(plain)
    arrays = [
        families.sizes,
        families.family_of_edge,
        families.column_offsets,
        families.columns,
        families.product_offsets,
        families.family_of_product,
        *families.product_columns,
    ]
    assert all(array.dtype == np.int64 and array.flags.c_contiguous for array in arrays)
