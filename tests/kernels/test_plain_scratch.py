"""Memory that the NumPy kernels use again."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from tests.kernels.test_twins import family_table, normal_rows

from gaussnet.kernels import numpy_core as plain, numpy_core as plain_scratch


def test_scratch_of_a_name_is_the_same_memory_until_more_is_needed() -> None:
    first = plain_scratch.kept_scratch("test", (4, 5))
    assert np.shares_memory(first, plain_scratch.kept_scratch("test", (3, 2)))
    assert not np.shares_memory(first, plain_scratch.kept_scratch("test", (5, 5)))
    assert not np.shares_memory(first, plain_scratch.kept_scratch("other", (4, 5)))


def test_large_scratch_is_not_kept() -> None:
    large = (plain_scratch.MOST_KEPT + 1,)
    first = plain_scratch.kept_scratch("large", large)
    assert not np.shares_memory(first, plain_scratch.kept_scratch("large", large))


def test_threads_do_not_share_scratch() -> None:
    own = plain_scratch.kept_scratch("threads", (10,))
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(plain_scratch.kept_scratch, "threads", (10,)).result()
    assert not np.shares_memory(own, other)


def test_later_calls_leave_solutions_and_rows_as_they_were() -> None:
    families = family_table([np.array([0, 1, 4]), np.array([0, 1, 2, 3, 4])])
    page = normal_rows(300, 5)
    before = page.copy()
    for centre in (False, True):
        for rows in (page, np.asfortranarray(page)):
            windows = plain.square_solutions(rows, 0, 300, families, False, centre)
            batches = plain.batch_solutions(rows, 0, 300, families, 5, centre)
            kept = [own.copy() for own in windows + batches]
            plain.square_solutions(7.0 - page[::-1], 0, 300, families, True, centre)
            plain.batch_solutions(7.0 - page[::-1], 0, 300, families, 3, centre)
            for own, copy in zip(windows + batches, kept, strict=True):
                np.testing.assert_array_equal(own, copy)
    np.testing.assert_array_equal(page, before)
