"""Pages: runs of successive rows of a fixed height.

Batches and windows never cross the edge of a page, and summaries of pages merge in a tree
that only their number decides. So the answer depends on the page height and on nothing else:
not on how a source was chunked, nor on who summarised which page.
"""

from gaussnet._types import Rows
from gaussnet.errors import SettingError

LARGEST_PAGE_ROWS = 65_536
SMALLEST_PAGE_ROWS = 4_096
PAGE_BYTES = 64 * 1024 * 1024


def default_page_rows(nodes: int) -> int:
    """Rows of a page: the largest power of two up to 65,536 that keeps it within 64 MiB.

    Never below 4,096; so up to 128 nodes a page has 65,536 rows.

    Examples
    --------
    >>> default_page_rows(100), default_page_rows(1_000), default_page_rows(10_000)
    (65536, 8192, 4096)
    """
    rows = LARGEST_PAGE_ROWS
    while rows > SMALLEST_PAGE_ROWS and rows * nodes * 8 > PAGE_BYTES:
        rows //= 2
    return rows


def check_page_rows(page_rows: int) -> None:
    """Refuse what is not a height."""
    if not isinstance(page_rows, int) or page_rows < 1:
        raise SettingError(f"a page holds at least 1 row, got page_rows={page_rows!r}")


def cut_pages(rows: Rows, page_rows: int) -> list[Rows]:
    """Views of the successive pages; the last one may be shorter.

    Examples
    --------
    >>> import numpy as np
    >>> [len(page) for page in cut_pages(np.zeros((10, 2)), 4)]
    [4, 4, 2]
    """
    check_page_rows(page_rows)
    return [rows[first : first + page_rows] for first in range(0, len(rows), page_rows)]
