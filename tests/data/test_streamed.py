"""A learner hears of earlier pages at the same places, whoever summarises them."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from gaussnet.data.pages import StreamedPages


@dataclass(frozen=True)
class Counting:
    """A source of the numbers 0, 1, 2, ... in chunks of seven."""

    rows: int
    width = 1
    ignored = ()

    def count(self):
        return self.rows

    def chunks(self, first=0, last=None):
        values = np.arange(float(self.rows))[first:last]
        yield from ([chunk] for chunk in np.split(values, range(7, len(values), 7)))


@dataclass(frozen=True)
class Heard:
    """Gives for each page its first number, and how many pages were known before it."""

    known: int = 0

    def __call__(self, page):
        return [(int(page[0, 0]), self.known)]

    def after(self, summary):
        return replace(self, known=len(summary))


@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("pages", [1, 3, 4, 40, 70])
def test_a_learner_hears_after_1_4_16_and_64_pages(threads, pages):
    source = StreamedPages(Counting(2 * pages - 1), page_rows=2)
    found = source.fold(Heard(), list.__add__, threads)
    heard = [max(n for n in (0, 1, 4, 16, 64) if n <= page) for page in range(pages)]
    assert found == [(2 * page, known) for page, known in enumerate(heard)]
    assert source.rows == 2 * pages - 1


def test_rows_are_counted_where_a_source_cannot_tell(monkeypatch):
    monkeypatch.setattr(Counting, "count", lambda self: None)
    source = StreamedPages(Counting(11), page_rows=2)
    assert source.known_rows is None
    source.fold(Heard(), list.__add__, 2)
    assert source.known_rows == 11
