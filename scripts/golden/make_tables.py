"""Golden numbers of lavaan for the tables of a fit, on two path models.

    python scripts/golden/make_tables.py

writes tests/golden/mediation.csv and crossing.csv, rows with a fixed seed that *contradict* the
model a little, so that every measure of fit has something to say, and runs
scripts/golden/tables.R, whose tables become mediation.json and crossing.json beside them. Needs R
with lavaan.

"mediation" has one root and no parents without an edge between them: what the model implies of a
family is what the rows have. "crossing" has two roots, without covariance in the model though
correlated in the rows, so that the two differ.
"""

import csv
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import gaussnet as gn

HERE = Path(__file__).parent
GOLDEN = HERE.parents[1] / "tests" / "golden"
REPETITIONS = 2_000
MODELS = {
    "mediation": "m ~ a*x\ny ~ b*m + c*x\nz ~ d*y\nindirect := a*b\ntotal := c + a*b\n"
    "share := indirect/total\n",
    "crossing": "w ~ a*u + b*v\np ~ c*w + v\nq ~ d*w\nr ~ e*p + f*q\nthrough := a*(c*e + d*f)\n"
    "ratio := c/d^2\n",
}
FIXED = {"mediation": "", "crossing": "u ~~ 0*v\n"}
TRUTHS = {
    "mediation": "[x][m|x][y|m:x][z|y:x]",
    "crossing": "[u][v|u][w|u:v][p|w:v][q|w:u][r|p:q]",
}
ROWS = {"mediation": 400, "crossing": 250}


def main() -> None:
    """Write the rows of both models and let lavaan fit them."""
    GOLDEN.mkdir(exist_ok=True)
    for seed, (name, model) in enumerate(MODELS.items()):
        dag = gn.Dag.parse(TRUTHS[name])
        strengths = np.full(len(dag.edges), 0.45)
        strengths[[edge in (("x", "z"), ("u", "q")) for edge in dag.edges]] = 0.12
        truth = gn.GaussianNetwork.from_arrays(
            dag, strengths, np.ones(len(dag)), np.arange(len(dag))
        )
        rows = np.round(truth.sample(ROWS[name], seed=seed + 5), 6)
        table, text = GOLDEN / f"{name}.csv", GOLDEN / f"{name}.txt"
        header = ",".join(dag.nodes)
        np.savetxt(table, rows, fmt="%.6f", delimiter=",", header=header, comments="")
        text.write_text(model)
        with tempfile.TemporaryDirectory() as folder:
            lavaan = Path(folder) / "model.txt"
            lavaan.write_text(model + FIXED[name])
            script = HERE / "tables.R"
            command = ["Rscript", script, table, lavaan, folder, REPETITIONS]
            subprocess.run(list(map(str, command)), check=True)
            found = {file.stem: read(file) for file in sorted(Path(folder).glob("*.csv"))}
        for key in ("measures", "holes_measures", "r2", "made_by"):
            found[key] = {line["name"]: line["value"] for line in found[key]}
        found["repetitions"] = REPETITIONS
        (GOLDEN / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n")


def read(file: Path) -> list[dict[str, str | float]]:
    """The lines of a table of R, numbers as numbers."""
    with file.open(newline="") as stream:
        return [
            {key: number(cell) for key, cell in line.items()} for line in csv.DictReader(stream)
        ]


def number(cell: str) -> str | float:
    """A number, or the text that it is not."""
    try:
        return float(cell)
    except ValueError:
        return cell


if __name__ == "__main__":
    main()
