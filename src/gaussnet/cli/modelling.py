"""The commands that learn, sample, compare and simulate: what each is told, and no more."""

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON, not tables.")]
RandomSeed = Annotated[int, typer.Option(help="Seed of all random numbers.")]
GRAPHS = "The graph: .txt, .dot, .csv, .json, .gml, .graphml, .rds."
Data = Annotated[
    str,
    typer.Argument(
        help="Rows: .csv, .tsv, .parquet, .arrow, .feather, .npy, a folder; - reads CSV."
    ),
]
Method = Annotated[
    str,
    typer.Option(
        help="least-squares, batch-average, batch-median, cauchy-tree, cauchy, robust or auto."
    ),
]
Scale = Annotated[
    str | None,
    typer.Option(help="mean-square, mad, kl-optimal or core (the method's own by default)."),
]
Intercept = Annotated[bool, typer.Option(help="Whether the equations have a constant.")]
Missing = Annotated[str, typer.Option(help="On missing values: raise, drop-rows or drop-by-node.")]
AllowSingular = Annotated[
    bool,
    typer.Option("--allow-singular", help="Accept collinear parents and nodes without noise."),
]
Title = Annotated[str | None, typer.Option(help="Title of the report.")]
Date = Annotated[str | None, typer.Option(help="Date to stand in the report; none by default.")]
Level = Annotated[float, typer.Option(help="Of the intervals and the certificate in the report.")]
Model = Annotated[Path, typer.Argument(help="A network: .json, .csv or .rds of bnlearn.")]


def fit(  # noqa: PLR0913, PLR0917 (one argument an option)
    data: Data,
    dag: Annotated[Path, typer.Option(help=GRAPHS)],
    method: Method = "least-squares",
    scale: Scale = None,
    intercept: Intercept = True,
    missing: Missing = "raise",
    allow_singular: AllowSingular = False,
    out: Annotated[
        Path | None, typer.Option(help="Write the network: .json, .csv, .dot or .R (bnlearn).")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a report of the fit: .html.")] = None,
    cluster: Annotated[
        str | None, typer.Option(help="Scheduler of a Dask cluster that sees the files: tcp://...")
    ] = None,
    as_json: Json = False,
) -> None:
    """Learn the numbers of a network from rows and a graph.

    Example: gaussnet fit rows.csv --dag graph.txt --method robust --out model.json
    """
    from gaussnet.cli import fit as work
    from gaussnet.cli.printing import print_json

    request = work.Request(
        data, dag, method, scale, intercept, missing, allow_singular, out, cluster
    )
    target = None
    if report is not None:
        from gaussnet.cli.report import Target

        target = Target(report)
    learnt = work.run(request, target)
    if as_json:
        print_json(learnt.to_dict())
    else:
        work.show(learnt)


def report(  # noqa: PLR0913, PLR0917 (one argument an option)
    data: Data,
    out: Annotated[Path, typer.Option(help="Write the report here: .html.")],
    dag: Annotated[Path | None, typer.Option(help=f"{GRAPHS} The network is learnt.")] = None,
    model: Annotated[
        Path | None, typer.Option(help="A saved network to show with the rows, not a graph.")
    ] = None,
    method: Method = "least-squares",
    scale: Scale = None,
    intercept: Intercept = True,
    missing: Missing = "raise",
    allow_singular: AllowSingular = False,
    title: Title = None,
    date: Date = None,
    level: Level = 0.95,
    as_json: Json = False,
) -> None:
    """Write one HTML file: the network drawn, its numbers and errors, residuals, origin.

    With --dag the network is learnt as `fit` does; with --model a saved one is shown with the
    rows, say new ones: how its residuals look there, without standard errors.

    Example: gaussnet report rows.csv --dag graph.txt --out report.html
    """
    from gaussnet.cli import report as work
    from gaussnet.cli.fit import Request
    from gaussnet.cli.printing import print_json
    from gaussnet.errors import SettingError

    target = work.Target(out, title, date, level)
    if dag is not None and model is None:
        request = Request(data, dag, method, scale, intercept, missing, allow_singular)
        written = work.of_fit(request, target)
    elif model is not None and dag is None:
        written = work.of_network(data, model, target)
    else:
        raise SettingError("give either --dag, to learn a network, or --model, to show a saved one")
    if as_json:
        print_json(written.to_dict())
    else:
        work.show(written)


def sample(
    model: Model,
    rows: Annotated[int, typer.Option(help="Rows to draw.")],
    seed: RandomSeed = 0,
    out: Annotated[
        str, typer.Option(help="Where to: .csv, .tsv, .parquet, .arrow, .npy; - prints CSV.")
    ] = "-",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print as JSON what was written; needs --out.")
    ] = False,
) -> None:
    """Draw rows from a network.

    Example: gaussnet sample model.json --rows 1000 --seed 1 --out rows.csv
    """
    from gaussnet.cli import sample as work
    from gaussnet.cli.printing import print_json
    from gaussnet.errors import SettingError

    if as_json and out == work.STANDARD_OUTPUT:
        raise SettingError("got --json while the rows go to the standard output: give --out")
    drawn = work.run(model, rows, seed, out)
    if as_json:
        print_json(drawn.to_dict())


def compare(
    first: Model,
    second: Model,
    samples: Annotated[int, typer.Option(help="Draws for total variation.")] = 100_000,
    seed: RandomSeed = 0,
    as_json: Json = False,
) -> None:
    """Say how far apart two networks are: KL both ways and by node, Hellinger, total variation.

    Example: gaussnet compare truth.json model.json
    """
    from gaussnet.cli import compare as work
    from gaussnet.cli.printing import print_json

    found = work.run(first, second, samples, seed)
    if as_json:
        print_json(found.to_dict())
    else:
        work.show(found)


def simulate(  # noqa: PLR0913, PLR0917 (one argument an option)
    kind: Annotated[str, typer.Argument(help="erdos-renyi, scale-free, tree, polytree or chain.")],
    nodes: Annotated[int, typer.Option(help="Nodes of the graph.")] = 20,
    degree: Annotated[float, typer.Option(help="Mean neighbours of a node.")] = 3.0,
    rows: Annotated[int, typer.Option(help="Rows to draw.")] = 1_000,
    share: Annotated[float, typer.Option(help="Share of the rows to spoil.")] = 0.0,
    spoilt_nodes: Annotated[int, typer.Option(help="Values to spoil in such a row.")] = 1,
    pattern: Annotated[str, typer.Option(help="fresh, fixed, rows or cells.")] = "fresh",
    value: Annotated[str, typer.Option(help="gaussian, cauchy, shift or resampled.")] = "gaussian",
    size: Annotated[float | None, typer.Option(help="How far off spoilt values are.")] = None,
    seed: RandomSeed = 0,
    graph: Annotated[Path | None, typer.Option(help="Write the graph here.")] = None,
    network: Annotated[Path | None, typer.Option(help="Write the network here.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the rows here.")] = None,
    as_json: Json = False,
) -> None:
    """Draw a random graph, a network on it and rows, clean or spoilt, and write them to files.

    Example: gaussnet simulate tree --nodes 9 --share 0.1 --network truth.json --out spoilt.csv
    """
    from gaussnet.cli import simulate as work
    from gaussnet.cli.printing import print_json
    from gaussnet.simulate import Contamination

    targets = work.Targets(graph, network, out)
    spoil = Contamination(share, spoilt_nodes, pattern, value, size)  # type: ignore[arg-type]
    found = work.draw(kind, nodes, degree, rows, spoil if share else None, seed)
    work.write(found, targets)
    if as_json:
        print_json(found.to_dict())
    else:
        work.show(found, targets)
