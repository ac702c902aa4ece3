"""The commands that learn, sample, compare and simulate: what each is told, and no more."""

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON, not tables.")]
RandomSeed = Annotated[int, typer.Option(help="Seed of all random numbers.")]
Model = Annotated[Path, typer.Argument(help="A network: .json, .csv or .rds of bnlearn.")]


def fit(  # noqa: PLR0913, PLR0917 (one argument an option)
    data: Annotated[
        str,
        typer.Argument(
            help="Rows: .csv, .tsv, .parquet, .arrow, .feather, .npy, a folder; - reads CSV."
        ),
    ],
    dag: Annotated[
        Path, typer.Option(help="The graph: .txt, .dot, .csv, .json, .gml, .graphml, .rds.")
    ],
    method: Annotated[
        str,
        typer.Option(
            help="least-squares, batch-average, batch-median, cauchy-tree, cauchy or robust."
        ),
    ] = "least-squares",
    scale: Annotated[
        str | None,
        typer.Option(help="mean-square, mad, kl-optimal or core (the method's own by default)."),
    ] = None,
    intercept: Annotated[bool, typer.Option(help="Whether the equations have a constant.")] = True,
    missing: Annotated[
        str, typer.Option(help="On missing values: raise, drop-rows or drop-by-node.")
    ] = "raise",
    allow_singular: Annotated[
        bool,
        typer.Option("--allow-singular", help="Accept collinear parents and nodes without noise."),
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write the network: .json, .csv, .dot or .R (bnlearn).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Learn the numbers of a network from rows and a graph.

    Example: gaussnet fit rows.csv --dag graph.txt --method cauchy --scale mad --out model.json
    """
    from gaussnet.cli import fit as work
    from gaussnet.cli.printing import print_json

    learnt = work.run(
        work.Request(data, dag, method, scale, intercept, missing, allow_singular, out)
    )
    if as_json:
        print_json(learnt.to_dict())
    else:
        work.show(learnt)


def sample(
    model: Model,
    rows: Annotated[int, typer.Option(help="Rows to draw.")],
    seed: RandomSeed = 0,
    out: Annotated[
        str, typer.Option(help="Where to: .csv, .tsv, .parquet, .arrow, .npy; - prints CSV.")
    ] = "-",
) -> None:
    """Draw rows from a network.

    Example: gaussnet sample model.json --rows 1000 --seed 1 --out rows.csv
    """
    from gaussnet.cli import sample as work

    work.run(model, rows, seed, out)


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
