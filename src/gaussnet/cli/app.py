"""The `gaussnet` command: one function a subcommand, heavy imports only when one runs."""

import sys
from typing import Annotated

import typer

from gaussnet import __version__
from gaussnet.errors import GaussnetError

app = typer.Typer(
    name="gaussnet",
    help="Learn Gaussian Bayesian networks over a known graph, and know the error.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command line: exit 0, 1 for bad input (one sentence on stderr), 2 for wrong usage."""
    try:
        app()
    except GaussnetError as problem:
        typer.echo(f"gaussnet: {problem}", err=True)
        sys.exit(1)


@app.callback(invoke_without_command=True)
def options(
    version: Annotated[bool, typer.Option("--version", help="Show the version and stop.")] = False,
) -> None:
    """Learn Gaussian Bayesian networks over a known graph, and know the error."""
    if version:
        from gaussnet import kernels

        typer.echo(f"gaussnet {__version__} ({kernels.backend} kernels)")
        raise typer.Exit


@app.command()
def demo(
    nodes: Annotated[int, typer.Option(help="Nodes of the random network.")] = 100,
    rows: Annotated[int, typer.Option(help="Rows to learn from.")] = 5_000,
    share: Annotated[float, typer.Option(help="Share of the rows that are spoilt.")] = 0.05,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, not a table.")] = False,
) -> None:
    """Learn a random network from clean and from spoilt rows, with every method.

    Example: gaussnet demo --nodes 50 --rows 2000
    """
    from gaussnet.cli import demonstration

    result = demonstration.run(nodes, rows, share, seed)
    if as_json:
        typer.echo(result.to_json())
    else:
        demonstration.show(result)
