"""A fold over a table is the same wherever the rows lie, and questions are asked until answered."""

from dataclasses import dataclass

import numpy as np
import pytest

from gaussnet.data.design import Selection
from gaussnet.data.passes import NotFinite, Pass, Run, Stripe, Together
from gaussnet.data.table import FileTable, MemoryTable, Table, ask
from gaussnet.errors import DataError

NAMES = ("number", "square")


@dataclass(frozen=True)
class Counting:
    """A source of the numbers 0, 1, 2, ... and their squares, in chunks of seven."""

    rows: int
    is_counted: bool = True
    nan_below: int = 0
    """Numbers below it have no square."""
    width = 2
    ignored = ()

    def count(self):
        return self.rows if self.is_counted else None

    def array(self):
        numbers = np.arange(float(self.rows))
        squares = np.where(numbers < self.nan_below, np.nan, numbers**2)
        return np.column_stack((numbers, squares))

    def chunks(self, first=0, last=None):
        values = self.array()[first:last]
        for start in range(0, len(values), 7):
            yield list(values[start : start + 7].T)


@dataclass(frozen=True)
class Tree(Pass):
    """Asks for the numbers of each stripe, with brackets for the tree of merges."""

    sample_rows: int | None = None

    def summarize(self, stripe):
        return "-".join(str(int(number)) for number in stripe.rows[:, 0])

    def merge(self, left, right):
        return f"({left} {right})"

    def then(self, summary):
        return summary


@dataclass(frozen=True)
class Asking(Pass):
    """Asks `times` for the number of rows, which it gives with its own name."""

    name: str
    times: int
    sample_rows: int | None = None

    def summarize(self, stripe):
        return stripe.stop - stripe.start

    def merge(self, left, right):
        return left + right

    def then(self, summary):
        return (self.name, summary) if self.times == 1 else Asking(self.name, self.times - 1)


def tables(rows, page_rows, threads, **settings) -> list[Table]:
    source = Counting(rows, **settings)
    run = Run(threads)
    return [
        MemoryTable.of(source.array(), NAMES, page_rows, run),
        FileTable(source, NAMES, page_rows, run),
    ]


@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("pages", [1, 3, 4, 40, 70])
def test_the_tree_of_merges_depends_on_the_pages_alone(threads, pages):
    rows = 2 * pages - 1
    expected = MemoryTable.of(Counting(rows).array(), NAMES, 2, Run(1)).fold(Tree())
    assert expected.count("(") == pages - 1
    for table in tables(rows, 2, threads):
        assert table.fold(Tree()) == expected
        assert table.rows == rows


def test_rows_are_counted_where_a_source_cannot_tell():
    table = FileTable(Counting(11, is_counted=False), NAMES, 2, Run(2))
    assert table.known_rows is None
    table.fold(Tree())
    assert table.known_rows == 11
    assert FileTable(Counting(11, is_counted=False), NAMES, 2).rows == 11


@dataclass(frozen=True)
class Growing(Counting):
    """A source that has more rows than it says."""

    said: int = 1

    def count(self):
        return self.said


@pytest.mark.parametrize("said", [1, 3, 5, 30])
def test_pages_hold_all_rows_also_where_more_or_fewer_come_than_were_counted(said):
    expected = MemoryTable.of(Counting(11).array(), NAMES, 8, Run(1)).fold(Tree())
    assert FileTable(Growing(11, said=said), NAMES, 8, Run(1)).fold(Tree()) == expected


def test_a_stream_is_sampled_by_its_first_rows():
    for is_counted in (True, False):
        table = FileTable(Counting(90, is_counted), NAMES, 4)
        assert table.fold(Tree(sample_rows=6)) == "(0-1-2-3 4-5)"
        assert table.fold(Tree(sample_rows=1_000)) == table.fold(Tree())


def test_a_part_has_the_rows_first_to_last():
    for table in tables(30, 4, 1):
        part = table.part(3, 9)
        assert (part.rows, part.fold(Tree())) == (6, "(3-4-5-6 7-8)")
        sample = part.fold(Tree(sample_rows=2))
        assert not part.is_stream or sample == "3-4"


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_that_lack_a_value_are_left_out_before_pages_are_cut_or_after(threads):
    for table in tables(10, 4, threads, nan_below=6):
        complete = table.complete(4)
        assert (complete.rows, complete.fold(Tree())) == (4, "6-7-8-9")
        assert not table.is_stream or complete.fold(Tree(sample_rows=3)) == "6-7-8"
        left = table.surveyed(False).only(Selection(np.array([0, 1])), 4)
        assert (left.rows, left.fold(Tree())) == (4, "(6-7 8-9)")
        assert table.surveyed(False).only(Selection(np.array([0])), 10).rows == 10
        with pytest.raises(NotFinite):  # nobody has looked: none is left out without a word
            table.only(Selection(np.array([0, 1])), 4).fold(Tree())


def test_a_sample_without_a_complete_row_is_a_summary_of_none():
    whole = FileTable(Counting(30, nan_below=20), NAMES, 4).surveyed(False)
    table = whole.only(Selection(np.array([0, 1])), 10)
    assert table.fold(Tree(sample_rows=8)) == ""
    assert table.fold(Tree()) == "(20-21-22-23 (24-25-26-27 28-29))"


def test_values_that_nobody_has_looked_at_are_looked_at():
    for table in tables(10, 4, 1, nan_below=1):
        with pytest.raises(NotFinite):
            table.fold(Tree())
        assert table.surveyed(False).fold(Tree()).startswith("(")


def test_no_rows_are_an_error():
    for table in [*tables(0, 4, 1), FileTable(Counting(0, is_counted=False), NAMES, 4)]:
        for question in (Tree(), Tree(sample_rows=5)):
            with pytest.raises(DataError, match="the data have no rows"):
                ask(table, question)


def test_questions_that_are_asked_together_wait_for_each_other():
    both = Together((Asking("one", 3), Asking("two", 1), Asking("three", 2)))
    for table in tables(10, 4, 2):
        assert ask(table, both) == (("one", 10), ("two", 10), ("three", 10))


def test_a_question_that_wants_a_sample_goes_first():
    both = Together((Asking("all", 1), Asking("few", 2, sample_rows=3), Asking("fewer", 1, 2)))
    assert both.sample_rows == 3
    for table in tables(10, 4, 1):
        found = dict(ask(table, both))
        assert found["all"] == found["few"] == 10
        assert not table.is_stream or found["fewer"] == 2


@dataclass(frozen=True)
class AllRows(Pass):
    """Asks for all rows as one stripe."""

    needs_all_rows = True

    def summarize(self, stripe):
        return len(stripe.page), stripe.start, stripe.stop

    def merge(self, left, right):
        raise AssertionError

    def then(self, summary):
        return summary


def test_all_rows_come_as_one_stripe_where_a_question_needs_them():
    for table in tables(30, 4, 1):
        assert ask(table, AllRows()) == (30, 0, 30)
    too_many = FileTable(Counting(30), NAMES, 4, Run(largest_in_memory=10))
    with pytest.raises(DataError, match="needs all rows in memory"):
        ask(too_many, AllRows())


def test_a_stripe_knows_its_own_rows():
    assert Stripe(np.arange(6.0)[:, None], 2, 4).rows.ravel().tolist() == [2.0, 3.0]
