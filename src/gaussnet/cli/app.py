"""The `gaussnet` command: the options of every subcommand; its work is imported when it runs."""

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from io import TextIOWrapper
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from gaussnet import __version__
from gaussnet.cli import nightly
from gaussnet.cli.arguments import Argument, Command, Option, UsageError, run
from gaussnet.cli.options import (
    DEFAULT_METHOD,
    GRAPHS,
    AllowSingular,
    Clusters,
    Columns,
    Data,
    Date,
    Decimal,
    Delta,
    Graph,
    Intercept,
    Interventions,
    Json,
    JsonNotTable,
    Key,
    Level,
    Levels,
    Method,
    Missing,
    MissingValues,
    Model,
    Plot,
    RandomSeed,
    Roots,
    Scale,
    Separator,
    Several,
    Shifts,
    Title,
    Verbose,
    Weights,
    WeightsKind,
    given_rows,
    read_graph,
    show,
)
from gaussnet.errors import GaussnetError, SettingError

INTERRUPTED = 130
"""How a process ends after Ctrl-C."""


def _check_absent(options: Mapping[str, object]) -> None:
    """Refuse options that several fits, or a cluster, have no use for."""
    for name, value in options.items():
        if value is not None:
            raise SettingError(f"got {name} with --groups, --shifts or --cluster: leave one out")


def fit(  # noqa: PLR0913, PLR0917 (one argument an option)
    data: Data,
    dag: Annotated[str, Option(help=GRAPHS)],
    method: Method = "least-squares",
    scale: Scale = None,
    intercept: Intercept = True,
    missing: Missing = "raise",
    missing_values: MissingValues = None,
    allow_singular: AllowSingular = False,
    out: Annotated[
        Path | None, Option(help="Write the network: .json, .csv, .dot or .R (bnlearn).")
    ] = None,
    report: Annotated[Path | None, Option(help="Write a report of the fit: .html.")] = None,
    outliers: Annotated[
        Path | None,
        Option(help="Write all flagged cells, with file and row: .csv, .tsv, also .gz, .parquet."),
    ] = None,
    key: Key = None,
    bootstrap: Annotated[
        int | None,
        Option(help="Standard errors from so many bootstrap fits, as 500; they take as long."),
    ] = None,
    cluster: Annotated[
        str | None, Option(help="Scheduler of a Dask cluster that sees the files: tcp://...")
    ] = None,
    interventions: Interventions = None,
    shifts: Shifts = None,
    groups: Annotated[
        str | None, Option(help="Column of groups: a fit for each, and tests between them.")
    ] = None,
    weights: Weights = None,
    weights_kind: WeightsKind = None,
    clusters: Clusters = None,
    roots: Roots = "independent",
    levels: Levels = None,
    columns: Columns = None,
    sep: Separator = None,
    decimal: Decimal = None,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Learn the numbers of a network from rows and a graph.

    Example: gaussnet fit rows.csv --dag graph.txt --method robust --out model.json
    """
    from gaussnet.cli.fit import (
        FitRequest,
        ReportRequest,
        StudyRequest,
        print_fit,
        print_groups,
        print_shifts,
        run_fit,
        run_groups,
        run_shifts,
    )

    listed = None
    if outliers is not None or key is not None:
        from gaussnet.cli.bad_cells import outlier_file
        from gaussnet.cli.fit import labelled_rows

        rows = labelled_rows(
            given_rows(data, sep, decimal, missing_values), missing_values, columns, key
        )
        listed = outlier_file(rows, outliers, method)
    study = StudyRequest(interventions, groups, clusters, weights, weights_kind, shifts)
    how = (method, scale, intercept, missing, allow_singular)
    request = FitRequest(
        given_rows(data, sep, decimal, missing_values),
        dag,
        *how,
        out,
        cluster,
        missing_values,
        study,
        columns,
        roots,
        levels,
        verbose,
        bootstrap,
    )
    if any(one is not None for one in (groups, shifts, cluster)):
        _check_absent({"--outliers": outliers, "--bootstrap": bootstrap})
    if groups is not None:
        if out is not None:
            raise SettingError("got --groups with --out: a file holds one network")
        target = None if report is None else ReportRequest(report)
        show(run_groups(request, target), as_json, print_groups)
        return
    if shifts is not None:
        if report is not None:
            raise SettingError("got --shifts with --report: a report is of one condition")
        show(run_shifts(request), as_json, print_shifts)
        return
    found = run_fit(request, None if report is None else ReportRequest(report))
    if listed is not None and outliers is not None:
        from gaussnet.cli.bad_cells import write_outliers

        found = replace(found, listed=(outliers, write_outliers(found.fit, listed)))
    show(found, as_json, print_fit)


def report(  # noqa: PLR0913, PLR0917 (one argument an option)
    data: Data,
    out: Annotated[Path, Option(help="Write the report here: .html.")],
    dag: Annotated[str | None, Option(help=f"{GRAPHS} The network is learnt.")] = None,
    model: Annotated[
        Path | None, Option(help="A saved network to show with the rows, not a graph.")
    ] = None,
    method: Method = "least-squares",
    scale: Scale = None,
    intercept: Intercept = True,
    missing: Missing = "raise",
    missing_values: MissingValues = None,
    allow_singular: AllowSingular = False,
    title: Title = None,
    date: Date = None,
    level: Level = 0.95,
    interventions: Interventions = None,
    weights: Weights = None,
    weights_kind: WeightsKind = None,
    clusters: Clusters = None,
    roots: Roots = "independent",
    levels: Levels = None,
    columns: Columns = None,
    sep: Separator = None,
    decimal: Decimal = None,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Write one HTML file: the network drawn, its numbers and errors, residuals, origin.

    With --dag the network is learnt as `fit` does; with --model a saved one is shown with the
    rows, say new ones: whether they follow it, and how its residuals look there, without
    standard errors.

    Example: gaussnet report rows.csv --dag graph.txt --out report.html
    """
    from gaussnet.cli.fit import (
        FitRequest,
        ReportRequest,
        StudyRequest,
        print_report,
        report_fit,
        report_network,
    )

    target, rows = (
        ReportRequest(out, title, date, level),
        given_rows(data, sep, decimal, missing_values),
    )
    if dag is not None and model is None:
        study = StudyRequest(interventions, None, clusters, weights, weights_kind)
        how = (method, scale, intercept, missing, allow_singular)
        request = FitRequest(
            rows, dag, *how, None, None, missing_values, study, columns, roots, levels, verbose
        )
        written = report_fit(request, target)
    elif model is not None and dag is None:
        _refuse_with_model(
            {
                "--method": method != DEFAULT_METHOD,
                "--scale": scale,
                "--no-intercept": not intercept,
                "--missing": missing != "raise",
                "--allow-singular": allow_singular,
                "--interventions": interventions,
                "--weights": weights,
                "--weights-kind": weights_kind,
                "--clusters": clusters,
                "--roots": roots != "independent",
                "--levels": levels,
            }
        )
        written = report_network(rows, model, target, columns, missing_values)
    else:
        raise SettingError("give either --dag, to learn a network, or --model, to show a saved one")
    show(written, as_json, print_report)


def _refuse_with_model(options: dict[str, object]) -> None:
    """Refuse options of learning where a saved network is shown; given are those not empty."""
    given = [name for name, value in options.items() if value]
    if given:
        raise SettingError(
            f"got {', '.join(given)} with --model, which learns nothing: leave "
            f"{'it' if len(given) == 1 else 'them'} out, or give --dag to learn the network"
        )


def sample(
    model: Model,
    rows: Annotated[int, Option(help="Rows to draw.")],
    do: Annotated[
        Several, Option(help="A value set from outside, as fuel=Gas; several times for more.")
    ] = None,
    seed: RandomSeed = 0,
    out: Annotated[
        str, Option(help="Where to: .csv, .tsv, .parquet, .arrow, .npy; - prints CSV.")
    ] = "-",
    as_json: Annotated[
        bool, Option("--json", help="Print as JSON what was written; needs --out.")
    ] = False,
) -> None:
    """Draw rows from a network.

    Example: gaussnet sample model.json --rows 1000 --seed 1 --out rows.csv
    """
    from gaussnet.cli.printing import print_json
    from gaussnet.cli.samples import STANDARD_OUTPUT, write_sample

    if as_json and out == STANDARD_OUTPUT:
        raise SettingError("got --json while the rows go to the standard output: give --out")
    drawn = write_sample(model, rows, seed, out, do)
    if as_json:
        print_json(drawn)


def compare(
    first: Model,
    second: Model,
    samples: Annotated[int, Option(help="Draws for total variation.")] = 100_000,
    seed: RandomSeed = 0,
    as_json: Json = False,
) -> None:
    """Say how far apart two networks are: KL both ways and by node, Hellinger, total variation.

    Example: gaussnet compare truth.json model.json
    """
    from gaussnet.cli.saved_networks import compare_networks, print_comparison

    show(compare_networks(first, second, samples, seed), as_json, print_comparison)


def simulate(  # noqa: PLR0913, PLR0917 (one argument an option)
    kind: Annotated[str, Argument(help="erdos-renyi, scale-free, tree, polytree or chain.")],
    nodes: Annotated[int, Option(help="Nodes of the graph.")] = 20,
    degree: Annotated[float, Option(help="Mean neighbours of a node.")] = 3.0,
    rows: Annotated[int, Option(help="Rows to draw.")] = 1_000,
    share: Annotated[float, Option(help="Share of the rows to contaminate.")] = 0.0,
    spoilt_nodes: Annotated[int, Option(help="Values to contaminate in such a row.")] = 1,
    pattern: Annotated[str, Option(help="fresh, fixed, rows or cells.")] = "fresh",
    value: Annotated[str, Option(help="gaussian, cauchy, shift or resampled.")] = "gaussian",
    size: Annotated[float | None, Option(help="How far off contaminated values are.")] = None,
    seed: RandomSeed = 0,
    graph: Annotated[Path | None, Option(help="Write the graph here.")] = None,
    network: Annotated[Path | None, Option(help="Write the network here.")] = None,
    out: Annotated[Path | None, Option(help="Write the rows here.")] = None,
    as_json: Json = False,
) -> None:
    """Draw a random graph, a network on it and rows, clean or contaminated, and write files.

    Example: gaussnet simulate tree --nodes 9 --share 0.1 --network truth.json --out spoilt.csv
    """
    from gaussnet.cli.samples import OutputFiles, print_simulated, simulate_rows
    from gaussnet.simulate import Contamination

    files = OutputFiles(graph, network, out)
    spoil = Contamination(share, spoilt_nodes, pattern, value, size)  # type: ignore[arg-type]
    found = simulate_rows(kind, nodes, degree, rows, spoil if share else None, seed)
    files.write(found)
    show(found, as_json, lambda found: print_simulated(found, files))


def query(
    model: Model,
    given: Annotated[
        Several, Option(help="A known value, as wet=2 or fuel=Gas; several times for more.")
    ] = None,
    do: Annotated[Several, Option(help="A value set from outside, as rain=0; likewise.")] = None,
    target: Annotated[
        Several, Option(help="A node to answer for (all by default); likewise.")
    ] = None,
    level: Annotated[float, Option(help="Chance that an interval holds the node.")] = 0.95,
    as_json: Json = False,
) -> None:
    """Say what known values and interventions mean for the other nodes.

    Example: gaussnet query model.json --given wet=2 --do season=0 --target rain
    """
    from gaussnet import read_network
    from gaussnet.cli.saved_networks import parse_values, print_answer, query_network

    network = read_network(model)
    known, fixed = (
        parse_values(texts, option, network.dag.factors, network.dag.nodes)
        for texts, option in ((given, "--given"), (do, "--do"))
    )
    show(query_network(network, known, fixed, target, level), as_json, print_answer)


def explore(
    model: Model,
    out: Annotated[Path, Option(help="Write the page here: .html.")] = Path("what-if.html"),
    around: Annotated[
        Several, Option(help="Show the neighbourhood of this node; give it again for more.")
    ] = None,
    level: Annotated[float, Option(help="Chance that an interval holds the node.")] = 0.95,
    title: Annotated[str | None, Option(help="Title of the page.")] = None,
    as_json: Annotated[bool, Option("--json", help="Print JSON, not a sentence.")] = False,
) -> None:
    """Write a what-if page: sliders observe or set nodes, and all others answer at once.

    It is one HTML file that needs no server. Of a network of more than 300 nodes it shows a
    neighbourhood of up to 100.

    Example: gaussnet explore model.json --out what-if.html
    """
    from gaussnet.cli.saved_networks import explore_network, print_explored

    found = explore_network(model, out, around, level, title)
    show(found, as_json, print_explored)


def demo(
    nodes: Annotated[int, Option(help="Nodes of the random network.")] = 100,
    rows: Annotated[int, Option(help="Rows to learn from.")] = 5_000,
    share: Annotated[float, Option(help="Share of the rows that are contaminated.")] = 0.05,
    seed: RandomSeed = 0,
    as_json: JsonNotTable = False,
) -> None:
    """Learn a random network from clean and from contaminated rows, with every method.

    Example: gaussnet demo --nodes 50 --rows 2000
    """
    from gaussnet.cli.demonstration import demonstrate, print_demonstration

    show(demonstrate(nodes, rows, share, seed), as_json, print_demonstration)


def reproduce(  # noqa: PLR0913, PLR0917 (one argument an option)
    experiments: Annotated[
        list[str] | None,
        Argument(help="Names of experiments (all by default)."),
    ] = None,
    settings: Annotated[
        str, Option(help="written (the paper's text), plotted (its figures) or both.")
    ] = "both",
    repetitions: Annotated[int, Option(help="Repetitions of each experiment.")] = 20,
    out: Annotated[Path, Option(help="Folder for results, figures and page.")] = Path(
        "reproduction"
    ),
    seed: RandomSeed = 0,
    workers: Annotated[
        int | None, Option(help="Worker processes (all processors by default).")
    ] = None,
    nodes: Annotated[int, Option(help="Nodes of the random networks.")] = 100,
    rows: Annotated[
        list[int] | None,
        Option(help="Rows instead of the paper's; give it several times for more."),
    ] = None,
    names: Annotated[bool, Option("--list", help="List the experiments and stop.")] = False,
    as_json: Json = False,
) -> None:
    """Do the paper's experiments again: results, figures, claims, and one page with all of it.

    A run that was stopped goes on where it was when the same command is given again.

    Example: gaussnet reproduce er5 ecoli70 --settings plotted --repetitions 5 --out again
    """
    from gaussnet.cli.reproduce import print_experiments, print_reproduction, run_experiments
    from gaussnet.reproduce.run import Run

    if names:
        print_experiments(as_json)
        return
    run = Run.of(
        experiments or (),
        () if settings == "both" else (settings,),
        repetitions=repetitions,
        seed=seed,
        nodes=nodes,
        rows=rows or (),
    )
    print_reproduction(run_experiments(run, out, workers), as_json)


def list_networks(
    as_json: JsonNotTable = False,
) -> None:
    """List the networks that come with gaussnet, or import others.

    Example: gaussnet networks
    """
    from gaussnet.cli.saved_networks import print_networks

    print_networks(as_json)


def import_network(
    file: Annotated[Path, Argument(help="A Gaussian bn.fit of bnlearn, saved by saveRDS.")],
    out: Annotated[Path, Option(help="The network: .json, .csv, .dot or .R (bnlearn).")],
    as_json: Annotated[bool, Option("--json", help="Print JSON, not a sentence.")] = False,
) -> None:
    """Turn a Gaussian network of bnlearn (.rds) into a gaussnet model file.

    Example: gaussnet networks import ecoli70.rds --out ecoli70.json
    """
    from gaussnet.cli.saved_networks import import_rds

    import_rds(file, out, as_json)


def plan(  # noqa: PLR0913, PLR0917 (one argument an option)
    graph: Graph,
    tv: Annotated[float | None, Option(help="Total variation to reach.")] = None,
    kl: Annotated[float | None, Option(help="KL divergence to reach.")] = None,
    delta: Delta = 0.05,
    intercept: Intercept = True,
    plot: Plot = None,
    as_json: JsonNotTable = False,
) -> None:
    """Say how many rows a target needs, by method and by law.

    Example: gaussnet plan graph.txt --tv 0.1 --delta 0.05 --plot guarantee.png
    """
    from gaussnet.cli import planning

    planning.check_plot(plot)
    dag = read_graph(graph)
    result = planning.plan_table(dag, planning.Target(tv, kl, delta, intercept))
    if plot is not None:
        rows = result.rows["least-squares"]["exact"]
        planning.plot_guarantee(dag, rows, delta, intercept, plot)
    show(result, as_json, planning.print_plan)


def certify(
    graph: Graph,
    rows: Annotated[int, Option(help="Rows of data.")],
    delta: Delta = 0.05,
    intercept: Intercept = True,
    plot: Plot = None,
    as_json: JsonNotTable = False,
) -> None:
    """Say how far from the truth a network learnt from so many rows can be.

    Example: gaussnet certify graph.txt --rows 10000
    """
    from gaussnet.cli import planning

    planning.check_plot(plot)
    dag = read_graph(graph)
    result = planning.certificate_table(dag, rows, delta, intercept)
    if plot is not None:
        planning.plot_guarantee(dag, rows, delta, intercept, plot)
    show(result, as_json, planning.print_certificates)


ABOUT = "Learn Gaussian Bayesian networks over a known graph, and know the error."
OWN = (fit, report, sample, compare, simulate, query, explore, demo, reproduce, plan, certify)
COMMANDS: MappingProxyType[str, Command] = MappingProxyType(
    {command.__name__: command for command in (*OWN, *nightly.COMMANDS)}
    | {"networks": list_networks, "networks import": import_network}
)


def main() -> None:
    """Run the command line: exit 0, 1 for bad input (one sentence on stderr), 2 for wrong usage.

    `check` exits 3 if a condition of --fail-if is met.
    """
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name must not stop the output
    try:
        _run(sys.argv[1:])
        sys.stdout.flush()
    except GaussnetError as problem:
        from gaussnet.cli.printing import in_shell_words

        _fail(in_shell_words(str(problem)), 2 if isinstance(problem, UsageError) else 1)
    except MemoryError:
        _fail("there is not enough memory: ask for fewer rows or nodes")
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    sys.exit(0)


def _run(words: list[str]) -> None:
    if words[:1] == ["--version"]:
        from gaussnet import kernels

        print(f"gaussnet {__version__} ({kernels.backend} kernels)")  # noqa: T201 (the output)
        return
    run(COMMANDS, words, ABOUT)


def _fail(sentence: str, status: int = 1) -> None:
    print(f"gaussnet: {sentence}", file=sys.stderr)  # noqa: T201 (the message)
    sys.exit(status)
