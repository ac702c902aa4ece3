"""The `gaussnet` command: one function a subcommand, heavy imports only when one runs."""

import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from gaussnet import __version__
from gaussnet.cli import modelling
from gaussnet.cli.query import query
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
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name must not stop the output
    try:
        app()
    except GaussnetError as problem:
        from gaussnet.cli.printing import in_shell_words

        typer.echo(f"gaussnet: {in_shell_words(str(problem))}", err=True)
        sys.exit(1)
    except MemoryError:
        typer.echo("gaussnet: there is not enough memory: ask for fewer rows or nodes", err=True)
        sys.exit(1)


for command in (
    modelling.fit,
    modelling.report,
    modelling.sample,
    modelling.compare,
    modelling.simulate,
    query,
):
    app.command()(command)


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


@app.command()
def reproduce(  # noqa: PLR0913, PLR0917 (one argument an option)
    experiments: Annotated[
        list[str] | None,
        typer.Argument(help="Names of experiments (all by default).", show_default=False),
    ] = None,
    settings: Annotated[
        str, typer.Option(help="written (the paper's text), plotted (its figures) or both.")
    ] = "both",
    repetitions: Annotated[int, typer.Option(help="Repetitions of each experiment.")] = 20,
    out: Annotated[Path, typer.Option(help="Folder for results, figures and page.")] = Path(
        "reproduction"
    ),
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    workers: Annotated[
        int | None, typer.Option(help="Worker processes (all processors by default).")
    ] = None,
    nodes: Annotated[int, typer.Option(help="Nodes of the random networks.")] = 100,
    rows: Annotated[
        list[int] | None,
        typer.Option(help="Rows instead of the paper's; give it several times for more."),
    ] = None,
    names: Annotated[bool, typer.Option("--list", help="List the experiments and stop.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, not tables.")] = False,
) -> None:
    """Do the paper's experiments again: results, figures, claims, and one page with all of it.

    A run that was stopped goes on where it was when the same command is given again.

    Example: gaussnet reproduce er5 ecoli70 --settings plotted --repetitions 5 --out again
    """
    from gaussnet.cli import reproduce as reproduction
    from gaussnet.reproduce.run import Run

    if names:
        reproduction.show_experiments(as_json)
        return
    wanted = Run.of(
        experiments or (),
        () if settings == "both" else (settings,),
        repetitions=repetitions,
        seed=seed,
        nodes=nodes,
        rows=rows or (),
    )
    found = reproduction.run(wanted, out, workers)
    if as_json:
        typer.echo(reproduction.as_json(found))
    else:
        reproduction.show(found)


networks = typer.Typer(no_args_is_help=False, invoke_without_command=True)
app.add_typer(networks, name="networks")


@networks.callback()
def list_networks(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, not a table.")] = False,
) -> None:
    """List the networks that come with gaussnet, or import others.

    Example: gaussnet networks
    """
    if context.invoked_subcommand is None:
        from gaussnet.cli import library

        library.show(as_json)


@networks.command("import")
def import_network(
    file: Annotated[Path, typer.Argument(help="A Gaussian bn.fit of bnlearn, saved by saveRDS.")],
    out: Annotated[Path, typer.Option(help="The network: .json, .csv, .dot or .R (bnlearn).")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, not a sentence.")] = False,
) -> None:
    """Turn a Gaussian network of bnlearn (.rds) into a gaussnet model file.

    Example: gaussnet networks import ecoli70.rds --out ecoli70.json
    """
    from gaussnet.cli import library

    library.import_rds(file, out, as_json)


@app.command()
def plan(  # noqa: PLR0913, PLR0917 (one argument an option)
    graph: Annotated[Path, typer.Argument(help="The graph: .txt, .dot, .csv, .json, ...")],
    tv: Annotated[float | None, typer.Option(help="Total variation to reach.")] = None,
    kl: Annotated[float | None, typer.Option(help="KL divergence to reach.")] = None,
    delta: Annotated[float, typer.Option(help="Probability with which it may fail.")] = 0.05,
    intercept: Annotated[bool, typer.Option(help="Whether the equations have a constant.")] = True,
    plot: Annotated[Path | None, typer.Option(help="Guaranteed TV against rows (.png)")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, not a table.")] = False,
) -> None:
    """Say how many rows a target needs, by method and by law.

    Example: gaussnet plan graph.txt --tv 0.1 --delta 0.05 --plot guarantee.png
    """
    from gaussnet import read_dag
    from gaussnet.cli import planning

    planning.check_plot(plot)
    dag = read_dag(graph)
    result = planning.plan_table(dag, planning.Target(tv, kl, delta, intercept))
    if plot is not None:
        rows = result["rows"]["least-squares"]["exact"]
        planning.plot_guarantee(dag, rows, delta, intercept, plot)
    if as_json:
        typer.echo(planning.as_json(result))
    else:
        planning.show_plan(result)


@app.command()
def certify(
    graph: Annotated[Path, typer.Argument(help="The graph: .txt, .dot, .csv, .json, ...")],
    rows: Annotated[int, typer.Option(help="Rows of data.")],
    delta: Annotated[float, typer.Option(help="Probability with which it may fail.")] = 0.05,
    intercept: Annotated[bool, typer.Option(help="Whether the equations have a constant.")] = True,
    plot: Annotated[Path | None, typer.Option(help="Guaranteed TV against rows (.png)")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, not a table.")] = False,
) -> None:
    """Say how far from the truth a network learnt from so many rows can be.

    Example: gaussnet certify graph.txt --rows 10000
    """
    from gaussnet import read_dag
    from gaussnet.cli import planning

    planning.check_plot(plot)
    dag = read_dag(graph)
    result = planning.certificate_table(dag, rows, delta, intercept)
    if plot is not None:
        planning.plot_guarantee(dag, rows, delta, intercept, plot)
    if as_json:
        typer.echo(planning.as_json(result))
    else:
        planning.show_certificates(result, rows, delta)
