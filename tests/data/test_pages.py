"""Pages have the height that is asked for, and the default depends on the nodes alone."""

import numpy as np
import pytest

from gaussnet.data.table import cut_pages, default_page_rows


@pytest.mark.parametrize("nodes", [0, 1, 20, 128, 129, 1_000, 10_000, 1_000_000])
def test_default_page_is_a_power_of_two_within_its_bounds(nodes):
    rows = default_page_rows(nodes)
    assert rows & (rows - 1) == 0
    assert 4_096 <= rows <= 65_536
    assert rows == 4_096 or rows * nodes * 8 <= 64 * 2**20


@pytest.mark.parametrize("rows", [1, 6, 7, 8, 20])
def test_pages_are_views_that_make_up_all_rows(rows):
    data = np.arange(2.0 * rows).reshape(rows, 2)
    pages = cut_pages(data, 7)
    assert all(len(page) == 7 for page in pages[:-1])
    assert all(np.shares_memory(page, data) for page in pages)
    np.testing.assert_array_equal(np.concatenate(pages), data)
