"""The options that several commands share."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gaussnet.cli.arguments import Argument, Option
from gaussnet.errors import FileError

if TYPE_CHECKING:
    from gaussnet.graph.dag import Dag

DEFAULT_METHOD = "least-squares"
GRAPHS = "The graph: .txt, .dot, .csv, .json, .gml, .graphml, .rds; or as text: 'wet ~ rain'."
Several = list[str] | None
Json = Annotated[bool, Option("--json", help="Print JSON, not tables.")]
JsonNotTable = Annotated[bool, Option("--json", help="Print JSON, not a table.")]
Verbose = Annotated[
    bool, Option("--verbose", help="Tell sizes, memory and readings before rows are read.")
]
RandomSeed = Annotated[int, Option(help="Seed of all random numbers.")]
Data = Annotated[
    list[str],
    Argument(
        help="Rows: .csv, .tsv, also .gz, .parquet, .arrow, .feather, .npy, a folder, a pattern "
        "such as 'day-*.csv', or several; - reads CSV."
    ),
]
Separator = Annotated[
    str | None, Option("--sep", help="What separates the cells of text files: ';' or '\\t'.")
]
Decimal = Annotated[
    str | None, Option(help="Decimal sign of the numbers in text files: '.' or ','.")
]
Method = Annotated[
    str,
    Option(
        help="least-squares, batch-average, batch-median, cauchy-tree, cauchy, robust, auto or "
        "sequential-trim."
    ),
]
Scale = Annotated[
    str | None,
    Option(help="mean-square, mad, kl-optimal or core (the method's own by default)."),
]
Intercept = Annotated[bool, Option(help="Whether the equations have a constant.")]
Missing = Annotated[
    str,
    Option(help="On missing values: raise, drop-rows, drop-by-node or likelihood."),
]
MissingValues = Annotated[
    str | None,
    Option(help="Numbers that stand for a missing value, as -999 or -999,-99.", is_list=True),
]
Interventions = Annotated[
    str | None,
    Option(help="Column that names the nodes set from outside in each row, by commas."),
]
Shifts = Annotated[
    str | None,
    Option(help="Column that names the nodes shifted in each row: own intercept, own noise."),
]
Weights = Annotated[str | None, Option(help="Column of the rows' weights.")]
WeightsKind = Annotated[
    str | None, Option(help="What weights mean: precision, frequency or sampling.")
]
Clusters = Annotated[str | None, Option(help="Column of clusters: their rows are not independent.")]
Roots = Annotated[
    str, Option(help="Nodes without parents: independent, or correlated as in lavaan.")
]
Levels = Annotated[
    Several,
    Option(help="Levels of a category, the reference first: fuel=Diesel,Gas; or as found."),
]
AllowSingular = Annotated[
    bool,
    Option("--allow-singular", help="Accept collinear parents and nodes without noise."),
]
Columns = Annotated[str | None, Option(help="Names of the columns of a .npy file: rain,wet,...")]
SavedModel = Annotated[
    Path, Option("--model", help="A saved network (.json, .csv, .rds) or summary (.npz).")
]
ToleratedMissing = Annotated[
    str,
    Option("--missing", help="On missing values: drop-by-node, drop-rows, likelihood, raise."),
]
Key = Annotated[
    str | None, Option(help="Column that says what each row is called, such as its time.")
]
Title = Annotated[str | None, Option(help="Title of the report.")]
Date = Annotated[str | None, Option(help="Date to stand in the report; none by default.")]
Level = Annotated[float, Option(help="Of the intervals and the certificate in the report.")]
Model = Annotated[Path, Argument(help="A network: .json, .csv or .rds of bnlearn.")]
Graph = Annotated[str, Argument(help="The graph: .txt, .dot, .csv, .json, ...; or 'wet ~ rain'.")]
Delta = Annotated[float, Option(help="Probability with which it may fail.")]
Plot = Annotated[Path | None, Option(help="Guaranteed TV against rows (.png)")]


def read_graph(given: str) -> "Dag":
    """The graph in the file of this name, or of formulas where there is no such file.

    Examples
    --------
    >>> read_graph("wet ~ rain; mud ~ wet").edges
    (('rain', 'wet'), ('wet', 'mud'))
    """
    from gaussnet.graph.dag import Dag
    from gaussnet.graph.formats.files import ENDINGS, read_dag

    if "~" not in given or os.path.exists(given):
        return read_dag(given)
    if given.endswith(ENDINGS) and " ~" not in given and "~ " not in given:
        raise FileError(
            f"cannot read {given!r}: no such file; if it is a formula, write blanks around '~'"
        )
    return Dag.parse(given)


def show(found: Any, as_json: bool, printed: Callable[[Any], None]) -> None:
    """Print what was found, as JSON or as the command prints it."""
    from gaussnet.cli.printing import print_json

    if as_json:
        print_json(found.to_dict())
    else:
        printed(found)


def given_rows(
    data: list[str], sep: str | None, decimal: str | None, missing_values: str | None = None
) -> str | list[str]:
    """The files of rows as they were named, with what was said of text files.

    Examples
    --------
    >>> given_rows(["rows.csv"], None, None)
    'rows.csv'
    """
    if missing_values is not None:
        _check_no_codes(data, missing_values)
    files: list[str] = list(data)
    if sep is not None or decimal is not None:
        from gaussnet.data.paths import CsvPath

        files = [CsvPath(file, sep, decimal or ".") for file in files]
    return files[0] if len(files) == 1 else files


def _check_no_codes(files: Sequence[str], codes: str) -> None:
    """Refuse numbers among the files that were meant as more codes for missing values."""
    numbers = [file for file in files if _is_number(file) and not os.path.exists(file)]
    if numbers:
        raise FileError(
            f"cannot read {numbers[0]!r}: no such file; if it stands for a missing value, give "
            f"--missing-values={','.join([codes, *numbers])}"
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
