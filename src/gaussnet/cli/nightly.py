"""The commands of a nightly job: their options; the work is imported when they run."""

from typing import Annotated

import typer

from gaussnet.cli.options import (
    Columns,
    Data,
    Decimal,
    Json,
    MissingValues,
    SavedModel,
    Separator,
    Several,
    ToleratedMissing,
    given_rows,
    show,
)

CONDITION_MET = 3
"""How a command ends if a condition of --fail-if is met."""


def check(  # noqa: PLR0913, PLR0917 (one argument an option)
    data: Data,
    model: SavedModel,
    level: Annotated[
        float, typer.Option(help="Chance of a false alarm, for each of the three questions.")
    ] = 0.01,
    fail_if: Annotated[
        Several,
        typer.Option(
            help="Exit 3 if so: contaminated, drift or contradicted; several times for more."
        ),
    ] = None,
    missing: ToleratedMissing = "drop-by-node",
    missing_values: MissingValues = None,
    columns: Columns = None,
    sep: Separator = None,
    decimal: Decimal = None,
    as_json: Json = False,
) -> None:
    """Say whether new rows still follow a network: drift, wrong cells, graph, residuals.

    Drift is a change of a node's equation since the model was learnt: the mean of its residuals,
    its noise or a coefficient. A column whose units changed is named first. Wrong cells are no
    drift: if the rows look contaminated, their equations are found by the robust method.

    Example: gaussnet check today.csv --model model.json --fail-if drift --fail-if contaminated
    """
    from gaussnet.cli.monitoring import RowsRequest, check_rows, print_check

    rows = given_rows(data, sep, decimal)
    request = RowsRequest(rows, model, missing, missing_values, columns)
    found = check_rows(request, level, fail_if or ())
    show(found, as_json, print_check)
    for alarm in found.failures:
        typer.echo(f"gaussnet: {alarm.condition} in {alarm.column!r}: {alarm.sentence}", err=True)
    if found.failures:
        raise typer.Exit(CONDITION_MET)


COMMANDS = (check,)
