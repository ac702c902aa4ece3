"""Tables of results: as text, data frames, Markdown, LaTeX and in notebooks."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from gaussnet.display import escaped
from gaussnet.errors import SettingError
from gaussnet.fitting.text import cut_table, shown
from gaussnet.graph.dag import counted, shorten
from gaussnet.named_rows import did_you_mean
from gaussnet.tails import SMALLEST_P, PValue

if TYPE_CHECKING:
    from gaussnet.data.frames import FrameKind

Format = Literal["text", "number", "count", "p-value", "measure", "probability"]
Cell = str | float | int | None

LONGEST_TEXT = 60
LONGEST_HTML = 200
"""Rows of a table that are shown; `to_frame`, `to_markdown` and `to_latex` have all."""
BOOKTABS = "% needs \\usepackage{booktabs}\n"
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
}
STYLE = (
    "<style>.gaussnet-table{border-collapse:collapse;font-variant-numeric:tabular-nums;"
    "color:inherit;background:transparent}"
    ".gaussnet-table caption{text-align:left;font-weight:600;padding:.3em 0;color:inherit}"
    ".gaussnet-table th,.gaussnet-table td{padding:.18em .7em;border:0;text-align:right;"
    "white-space:nowrap;"
    "color:inherit;background:transparent}"
    ".gaussnet-table thead th{border-bottom:1px solid rgba(128,128,128,.6)}"
    ".gaussnet-table tbody tr{border-bottom:1px solid rgba(128,128,128,.2);"
    "background:transparent}"
    ".gaussnet-table .text{text-align:left!important}"
    ".gaussnet-notes{margin:.3em 0;opacity:.8}</style>"
)
"""Colours are those of the page around, so that dark and light pages both can be read. Jupyter has
a strong rule of its own on how cells are aligned."""


OF_FRAMES = ("to_csv", "to_excel", "to_json", "to_parquet", "loc", "iloc", "head", "sort_values")
"""What people try on a table that only frames have."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: its name in a frame, its heading in print, and its values."""

    name: str
    heading: str
    values: Sequence[Cell]
    kind: Format = "number"


@dataclass(frozen=True, eq=False, repr=False)
class ResultTable:
    """A table of results, one row per edge or node; printing it shows it.

    Examples
    --------
    >>> import gaussnet as gn
    >>> rows = [[1.0, 0.0], [3.0, 1.0], [5.0, 2.0], [7.2, 3.0]]
    >>> fit = gn.fit(rows, gn.Dag.parse("y ~ x"), columns=["y", "x"])
    >>> table = fit.table()
    >>> table["estimate"], table.to_dicts()[0]["parent"]
    ([2.06], 'x')
    >>> print(table.to_markdown().splitlines()[2])
    | x | y | 2.060 | 0.03464 | <0.001 | 1.911 | 2.209 | 0.9997 |
    """

    title: str
    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()

    if not TYPE_CHECKING:  # else no misspelt attribute would be an error of types

        def __getattr__(self, name: str) -> Any:
            """Refuse an unknown attribute, and say where frames have it."""
            if name in OF_FRAMES:
                raise AttributeError(
                    f"'ResultTable' object has no attribute {name!r}: use table.to_frame().{name}"
                )
            return object.__getattribute__(self, name)  # says what it always said

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, as in frames."""
        return tuple(column.name for column in self.columns)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.columns[0].values) if self.columns else 0

    def __iter__(self) -> Iterator[dict[str, Cell]]:
        """Row by row, as dictionaries."""
        cells = (column.values for column in self.columns)
        return (dict(zip(self.names, row, strict=True)) for row in zip(*cells, strict=True))

    def __getitem__(self, name: str) -> list[Cell]:
        """The values of a column."""
        for column in self.columns:
            if column.name == name:
                return list(column.values)
        raise SettingError(
            f"the table has no column {name!r}: the columns are {shorten(self.names, 20)}"
            f"{did_you_mean(str(name), self.names)}"
        )

    def to_dicts(self) -> list[dict[str, Cell]]:
        """The rows as plain values, for JSON."""
        return list(self)

    def to_frame(self, kind: "FrameKind" = "pandas") -> Any:
        """The table as a "pandas" or "polars" data frame, with all digits.

        Examples
        --------
        >>> import gaussnet as gn
        >>> rows = [[1.0, 0.0], [3.0, 1.0], [5.0, 2.1]]
        >>> fit = gn.fit(rows, gn.Dag.parse("y ~ x"), columns=["y", "x"])
        >>> list(fit.node_table().to_frame("pandas").columns)[:3]
        ['node', 'parents', 'intercept']
        """
        from gaussnet.data.frames import new_frame  # slow to import

        return new_frame({column.name: list(column.values) for column in self.columns}, kind)

    def to_markdown(self, *, notes: bool = True, caption: str | None = None) -> str:
        """The table in Markdown, four digits that count, its caption above and its notes below."""
        heads = [column.heading for column in self.columns]
        rule = ["---" if column.kind == "text" else "---:" for column in self.columns]
        lines = [[cell.replace("|", "\\|") for cell in row] for row in self._cells()]
        table = "\n".join(f"| {' | '.join(row)} |" for row in (heads, rule, *lines))
        above = () if caption is None else (f"Table: {_markdown(caption)}",)
        below = (f"Note: {_markdown(note)}" for note in self.notes if notes)
        return "\n\n".join((*above, table, *below))

    def to_latex(
        self, *, notes: bool = True, caption: str | None = None, label: str | None = None
    ) -> str:
        r"""The table as a LaTeX `tabular` with the rules of the package booktabs.

        The document needs ``\usepackage{booktabs}``, as a comment above the table says. Its notes
        follow as small paragraphs; ``notes=False`` leaves them out. With a `caption` or a `label`
        for ``\ref`` all stands in a `table` that floats; else put it into one of your own.

        Examples
        --------
        >>> import gaussnet as gn
        >>> rows = [[1.0, 0.0], [3.0, 1.0], [5.0, 2.1]]
        >>> fit = gn.fit(rows, gn.Dag.parse("y_1 ~ x"), columns=["y_1", "x"])
        >>> print(fit.table().to_latex().splitlines()[5])
        x & y\_1 & 1.903 & 0.05233 & 0.017 & 1.238 & 2.568 & 0.9996 \\
        """
        places = "".join("l" if column.kind == "text" else "r" for column in self.columns)
        headings = (column.heading for column in self.columns)
        heads = " & ".join("$R^2$" if head == "R2" else _latex(head) for head in headings)
        words = [column.kind == "text" for column in self.columns]
        lines = [
            " & ".join(
                _latex(cell) if word else _latex_number(cell)
                for cell, word in zip(row, words, strict=True)
            )
            for row in self._cells()
        ]
        body = "".join(f"{_latex_start(line)} \\\\\n" for line in lines)
        table = (
            f"\\begin{{tabular}}{{{places}}}\n\\toprule\n{heads} \\\\\n\\midrule\n{body}"
            "\\bottomrule\n\\end{tabular}\n"
            + "".join(f"\n{{\\footnotesize Note: {_latex(n)}\\par}}\n" for n in self.notes if notes)
        )
        if caption is None and label is None:
            return BOOKTABS + table
        above = "" if caption is None else f"\\caption{{{_latex(caption)}}}\n"
        above += "" if label is None else f"\\label{{{label}}}\n"
        return f"{BOOKTABS}\\begin{{table}}\n\\centering\n{above}{table}\\end{{table}}\n"

    def __repr__(self) -> str:
        columns = counted(len(self.columns), "column")
        return f"ResultTable({self.title}: {counted(len(self), 'row')}, {columns})"

    def __str__(self) -> str:
        heads = [column.heading for column in self.columns]
        left = [index for index, column in enumerate(self.columns) if column.kind == "text"]
        lines = cut_table(heads, list(self._cells()), LONGEST_TEXT, left)
        return "\n".join([self.title, *lines, *(f"note: {note}" for note in self.notes)])

    def lines(self) -> list[tuple[str | float | int, ...]]:
        """The rows, with p-values that print as such, and NaN for what does not exist."""
        kinds = [column.kind for column in self.columns]
        return [
            tuple(map(_printable, row, kinds))
            for row in zip(*(column.values for column in self.columns), strict=True)
        ]

    def to_html(self, most: int = LONGEST_HTML) -> str:
        """The table as HTML that needs nothing else and takes the colours of the page around.

        Of a longer table the first rows are shown.
        """
        kinds = [' class="text"' if column.kind == "text" else "" for column in self.columns]
        heads = "".join(
            f'<th scope="col"{kind}>{escaped(column.heading)}</th>'
            for column, kind in zip(self.columns, kinds, strict=True)
        )
        rows = list(self._cells())
        body = "".join(f"<tr>{_html_cells(row, kinds)}</tr>" for row in rows[:most])
        more = len(rows) - most
        notes = [*self.notes, *([f"{more} more rows are in to_frame()"] if more > 0 else [])]
        listed = "".join(f"<p class='gaussnet-notes'>{escaped(note)}</p>" for note in notes)
        return (
            f'{STYLE}<div style="overflow-x:auto"><table class="gaussnet-table">'
            f"<caption>{escaped(self.title)}</caption><thead><tr>{heads}</tr></thead>"
            f"<tbody>{body}</tbody></table></div>{listed}"
        )

    def _repr_html_(self) -> str:
        """The table in a notebook."""
        return self.to_html()

    def _cells(self) -> Iterator[tuple[str, ...]]:
        """The rows as they are shown."""
        columns = (
            [_shown(value, column.kind) for value in column.values] for column in self.columns
        )
        return zip(*columns, strict=True)


class Tabular:
    """A result that is a table: as a data frame, in Markdown, LaTeX and notebooks."""

    __slots__ = ()

    def table(self) -> ResultTable:
        """The result as a table."""
        raise NotImplementedError

    def to_frame(self, kind: "FrameKind" = "pandas") -> Any:
        """The table as a "pandas" or "polars" data frame, with all digits."""
        return self.table().to_frame(kind)

    def to_markdown(self, *, notes: bool = True, caption: str | None = None) -> str:
        """The table in Markdown, its caption above and its notes below."""
        return self.table().to_markdown(notes=notes, caption=caption)

    def to_latex(
        self, *, notes: bool = True, caption: str | None = None, label: str | None = None
    ) -> str:
        """The table as a LaTeX `tabular`, as `ResultTable.to_latex`."""
        return self.table().to_latex(notes=notes, caption=caption, label=label)

    def _repr_html_(self) -> str:
        """The table in a notebook."""
        return self.table().to_html()


def _printable(value: Cell, kind: Format) -> str | float | int:
    """A cell that other tables can print."""
    if value is None:
        return math.nan
    return PValue(value) if kind == "p-value" and type(value) is float else value


def _html_cells(row: Sequence[str], kinds: Sequence[str]) -> str:
    cells = zip(row, kinds, strict=True)
    return "".join(f"<td{kind}>{escaped(cell)}</td>" for cell, kind in cells)


def _shown(value: Cell, kind: Format) -> str:
    """A value in few letters; a dash for what does not exist.

    Examples
    --------
    >>> _shown(0.00012, "p-value"), _shown(0.04567, "p-value"), _shown(1.2, "number")
    ('<0.001', '0.046', '1.200')
    >>> _shown(5716.2468, "measure"), _shown(5, "measure")
    ('5716.247', '5')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, str):
        return shown(value)
    if kind == "count" or isinstance(value, int):
        return f"{value:,}"
    return WORDS[kind](value)


def probability_words(probability: float) -> str:
    """A probability in three digits that never shows 1 for what is less; a dash for none.

    Examples
    --------
    >>> probability_words(0.97), probability_words(0.99996), probability_words(1.0)
    ('0.970', '>0.999', '1')
    """
    if math.isnan(probability):
        return "-"
    if probability >= 1.0:
        return "1"
    return ">0.999" if probability > 0.9995 else f"{probability:.3f}"


def _measure_words(value: float) -> str:
    """Three decimals, or that a positive value is too small to be told in them."""
    if isinstance(value, PValue):
        return str(value)
    return f"<{SMALLEST_P}" if 0.0 < value < SMALLEST_P / 2 else f"{value:.3f}"


WORDS: dict[Format, Callable[[float], str]] = {
    "number": lambda value: f"{value:#.4g}".removesuffix("."),
    "measure": _measure_words,
    "p-value": lambda value: str(PValue(value)),
    "probability": probability_words,
}
"""How numbers of each kind are shown."""


def _markdown(words: str) -> str:
    """Words in which no letter is taken for a mark of emphasis or HTML."""
    return "".join(f"\\{sign}" if sign in "\\`*_<>|[]" else sign for sign in words)


def _latex(words: str) -> str:
    r"""Words in which no sign is taken for a command, and an arrow is one.

    Examples
    --------
    >>> print(_latex("x_1 -> y"))
    x\_1 $\to$ y
    """
    parts = ("".join(_LATEX.get(sign, sign) for sign in part) for part in words.split(" -> "))
    return r" $\to$ ".join(parts)


def _latex_start(line: str) -> str:
    r"""A row of a table; what would be taken for the option of a rule or of ``\\`` is protected.

    Examples
    --------
    >>> print(_latex_start("[a] & 1"), _latex_start("a & 1"))
    {}[a] & 1 a & 1
    """
    return f"{{}}{line}" if line.lstrip().startswith(("[", "*")) else line


def _latex_number(cell: str) -> str:
    """A number with a true minus sign, and in mathematics where it is compared."""
    if cell == "-":
        return "--"
    return f"${cell}$" if cell.startswith(("-", "<")) else cell
