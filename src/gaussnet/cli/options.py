"""The options that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gaussnet.cli.arguments import Argument, Option

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
    Option(help="Numbers that stand for a missing value, as -999 or -999,-99."),
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
Graph = Annotated[Path, Argument(help="The graph: .txt, .dot, .csv, .json, ...; or 'wet ~ rain'.")]
Delta = Annotated[float, Option(help="Probability with which it may fail.")]
Plot = Annotated[Path | None, Option(help="Guaranteed TV against rows (.png)")]


def read_graph(given: Path) -> "Dag":
    """The graph in a file, or of formulas in place of its name.

    Examples
    --------
    >>> read_graph(Path("wet ~ rain; mud ~ wet")).edges
    (('rain', 'wet'), ('wet', 'mud'))
    """
    from gaussnet.graph.dag import Dag
    from gaussnet.graph.formats.files import ENDINGS, read_dag

    text = str(given)
    return Dag.parse(text) if "~" in text and not text.endswith(ENDINGS) else read_dag(given)


def show(found: Any, as_json: bool, printed: Callable[[Any], None]) -> None:
    """Print what was found, as JSON or as the command prints it."""
    from gaussnet.cli.printing import print_json

    if as_json:
        print_json(found.to_dict())
    else:
        printed(found)


def given_rows(data: list[str], sep: str | None, decimal: str | None) -> str | list[str]:
    """The files of rows as they were named, with what was said of text files.

    Examples
    --------
    >>> given_rows(["rows.csv"], None, None)
    'rows.csv'
    """
    files: list[str] = list(data)
    if sep is not None or decimal is not None:
        from gaussnet.data.paths import CsvPath

        files = [CsvPath(file, sep, decimal or ".") for file in files]
    return files[0] if len(files) == 1 else files
