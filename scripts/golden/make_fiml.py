"""Golden numbers of lavaan's FIML on rows with missing cells, and the rows.

    python scripts/golden/make_fiml.py

writes tests/golden/fiml12.csv and fiml30.csv, rows of random networks with a tenth of the cells
missing, kept to 6 digits after the point, and then runs scripts/golden/fiml.R, which writes
fiml12-lavaan.csv and fiml30-lavaan.csv beside them. Needs R with lavaan.
"""

import subprocess
from pathlib import Path

import numpy as np

import gaussnet as gn

HERE = Path(__file__).parent
GOLDEN = HERE.parents[1] / "tests" / "golden"
CASES = {"fiml12": (12, 3.0, 300, 0.15), "fiml30": (30, 5.0, 1_000, 0.1)}
"""Nodes, mean degree, rows and share of missing cells."""


def network(nodes: int, degree: float) -> gn.GaussianNetwork:
    """The network that the rows come from: weights of 0.25 to 1 in size, some intercepts."""
    dag = gn.simulate.erdos_renyi(nodes, degree, seed=nodes)
    rng = np.random.default_rng(nodes)
    slopes = rng.uniform(0.25, 1.0, len(dag.edges)) * rng.choice([-1.0, 1.0], len(dag.edges))
    variances, intercepts = rng.uniform(0.5, 2.0, nodes), rng.normal(0.0, 3.0, nodes)
    return gn.GaussianNetwork.from_arrays(dag, slopes, variances, intercepts)


def main() -> None:
    """Write rows and model text, then let R compute."""
    for name, (nodes, degree, count, share) in CASES.items():
        truth = network(nodes, degree)
        rows = np.round(truth.sample(count, seed=nodes), 6)
        rows[np.random.default_rng(nodes + 1).random(rows.shape) < share] = np.nan
        lines = [
            ",".join("NA" if np.isnan(value) else f"{value:.6f}" for value in row) for row in rows
        ]
        table = GOLDEN / f"{name}.csv"
        table.write_text("\n".join([",".join(truth.dag.nodes), *lines]) + "\n")
        script = str((HERE / "fiml.R").resolve())
        arguments = [table.name, truth.to_lavaan(), f"{name}-lavaan.csv"]
        subprocess.run(["Rscript", script, *arguments], cwd=GOLDEN, check=True)


if __name__ == "__main__":
    main()
