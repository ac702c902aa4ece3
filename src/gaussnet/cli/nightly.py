"""The commands of a nightly job: their options; the work is imported when they run."""

import sys
from pathlib import Path
from typing import Annotated

from gaussnet.cli.arguments import Argument, Option
from gaussnet.cli.options import (
    Columns,
    Data,
    Decimal,
    Json,
    Key,
    MissingValues,
    SavedModel,
    Separator,
    Several,
    ToleratedMissing,
    Verbose,
    given_rows,
    show,
)

MOST_NAMED = 4
"""Columns that the message of a condition names."""
CONDITION_MET = 3
"""How a command ends if a condition of --fail-if is met."""


def check(  # noqa: PLR0913, PLR0917 (one argument an option)
    data: Data,
    model: SavedModel,
    level: Annotated[
        float, Option(help="Chance of a false alarm, for each of the three questions.")
    ] = 0.01,
    fail_if: Annotated[
        Several,
        Option(help="Exit 3 if so: contaminated, drift or contradicted; several times for more."),
    ] = None,
    missing: ToleratedMissing = "drop-by-node",
    missing_values: MissingValues = None,
    columns: Columns = None,
    sep: Separator = None,
    decimal: Decimal = None,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Say whether new rows still follow a network: drift, wrong cells, graph, residuals.

    Drift is a change of a node's equation since the model was learnt: the mean of its residuals,
    its noise or a coefficient. A column whose units changed is named first. Wrong cells are no
    drift: if the rows look contaminated, their equations are found by the robust method.

    Example: gaussnet check today.csv --model model.json --fail-if drift --fail-if contaminated
    """
    from gaussnet.cli.fit import labelled_rows
    from gaussnet.cli.monitoring import check_rows, print_check
    from gaussnet.graph.dag import shorten

    files = labelled_rows(given_rows(data, sep, decimal, missing_values), missing_values, columns)
    found = check_rows(files, model, missing, level, fail_if or (), verbose)
    show(found, as_json, print_check)
    for alarm in found.failures:
        where = shorten(alarm.columns, MOST_NAMED)
        sentence = f"gaussnet: {alarm.condition} in {where}: {alarm.sentence}"
        print(sentence, file=sys.stderr)  # noqa: T201 (the message)
    if found.failures:
        sys.exit(CONDITION_MET)


def score(  # noqa: PLR0913, PLR0917 (one argument an option)
    data: Data,
    model: SavedModel,
    out: Annotated[
        Path | None, Option(help="Write the score of every row: .csv, .tsv, also .gz, .parquet.")
    ] = None,
    key: Key = None,
    missing_values: MissingValues = None,
    columns: Columns = None,
    sep: Separator = None,
    decimal: Decimal = None,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Say how likely a network finds rows: their log density, and the worst cell of each.

    Missing cells are left out of the density. The worst cell is the one farthest from what the
    others of its row let expect, in standard deviations (z). Rows of a file count from 0.

    Example: gaussnet score today.csv --model model.json --out scores.csv
    """
    from gaussnet.cli.fit import labelled_rows
    from gaussnet.cli.scores import print_scores, score_rows

    files = labelled_rows(
        given_rows(data, sep, decimal, missing_values), missing_values, columns, key
    )
    show(score_rows(files, model, out, verbose), as_json, print_scores)


def update(  # noqa: PLR0913, PLR0917 (one argument an option)
    summary: Annotated[Path, Argument(help="The summary file: .npz.")],
    data: Data,
    dag: Annotated[
        str | None, Option(help="The graph, to begin a summary that is not there yet.")
    ] = None,
    method: Annotated[
        str | None,
        Option(help="Of a new summary: least-squares (the default), robust, ..."),
    ] = None,
    intercept: Annotated[
        bool | None, Option(help="Of a new summary: whether equations have a constant.")
    ] = None,
    missing: Annotated[
        str | None,
        Option(
            help="Of a new summary: raise, drop-rows or drop-by-node; for robust also likelihood."
        ),
    ] = None,
    missing_values: MissingValues = None,
    again: Annotated[
        bool, Option("--again", help="Add files whose rows are in the summary already.")
    ] = False,
    out: Annotated[
        Path | None, Option(help="Write the network: .json, .csv, .dot or .R (bnlearn).")
    ] = None,
    sep: Separator = None,
    decimal: Decimal = None,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Add rows to a summary file and give the network of all rows, without the old ones.

    The network is the same, to the last bit, as of all rows at once, but for robust with more rows
    than its sample holds, where it is close. The file is written whole or
    not at all; it knows the files that were added, so that none counts twice, and the numbers that
    stand for a missing value.

    Example: gaussnet update week.npz today.csv --dag graph.txt --out model.json
    """
    from gaussnet.cli.summary_updates import UpdateRequest, print_update, update_summary

    rows = given_rows(data, sep, decimal, missing_values)
    how = (method, intercept, missing, again, out, missing_values)
    request = UpdateRequest(summary, rows, dag, *how)
    show(update_summary(request, verbose), as_json, print_update)


def effect(
    model: Annotated[Path, Argument(help="A saved network (.json, .csv, .rds) or summary (.npz).")],
    cause: Annotated[str, Argument(help="The node that is set from outside.")],
    target: Annotated[str, Argument(help="The node that changes.")],
    via: Annotated[
        Several, Option(help="Only paths through this node; several times for more.")
    ] = None,
    level: Annotated[float, Option(help="Of the interval, if a summary gives one.")] = 0.95,
    as_json: Json = False,
) -> None:
    """Say what one unit more of a node, set from outside, adds to another, and by which paths.

    Example: gaussnet effect model.json season slip --via rain
    """
    from gaussnet.cli.saved_networks import find_total_effect, print_effect

    show(find_total_effect(model, cause, target, via, level), as_json, print_effect)


def outliers(  # noqa: PLR0913, PLR0917 (one argument an option)
    data: Data,
    model: SavedModel,
    out: Annotated[
        Path | None, Option(help="Write all flagged cells: .csv, .tsv, also .gz, .parquet.")
    ] = None,
    key: Key = None,
    share: Annotated[
        float, Option(help="Share of all cells that is wrong, as a first guess.")
    ] = 0.01,
    probability: Annotated[
        float, Option(help="Flag cells that are wrong with at least this probability.")
    ] = 0.5,
    missing_values: MissingValues = None,
    columns: Columns = None,
    sep: Separator = None,
    decimal: Decimal = None,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """List the cells of rows that are likely wrong: file, row, column, value, expected value.

    The model stays as it is; rows are read once, page by page. Each cell is judged by its distance
    from what the other cells of its row let expect, in standard deviations (z). The worst of a row
    is flagged first, and the others are judged without it. Rows of a file count from 0.

    Example: gaussnet outliers today.csv --model model.json --out bad.csv
    """
    from gaussnet.cli.bad_cells import Doubt, find_bad_cells, print_bad_cells
    from gaussnet.cli.fit import labelled_rows

    files = labelled_rows(
        given_rows(data, sep, decimal, missing_values), missing_values, columns, key
    )
    found = find_bad_cells(files, model, out, Doubt(share, probability), verbose)
    show(found, as_json, print_bad_cells)


COMMANDS = (update, check, outliers, score, effect)
