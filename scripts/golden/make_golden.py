"""Golden numbers of other programs on rows of ecoli70, and the rows.

    python scripts/golden/make_golden.py

writes tests/golden/ecoli70.csv, rows of the ecoli70 network with a fixed seed, kept to 6 digits
after the point, and then runs scripts/golden/ecoli70.R, which writes tests/golden/ecoli70.json.
The JSON says which programs made its numbers. Needs R with jsonlite and lavaan; bnlearn's own
numbers are added where bnlearn is installed.
"""

import subprocess
from pathlib import Path

import numpy as np

import gaussnet as gn

HERE = Path(__file__).parent
GOLDEN = HERE.parents[1] / "tests" / "golden"
ROWS, SEED = 150, 20_240_701


def main() -> None:
    """Write the rows, the graph and the model text, then let R compute."""
    GOLDEN.mkdir(exist_ok=True)
    network = gn.networks.load("ecoli70")
    rows = np.round(network.sample(ROWS, seed=SEED), 6)
    header = ",".join(network.dag.nodes)
    table = GOLDEN / "ecoli70.csv"
    np.savetxt(table, rows, fmt="%.6f", delimiter=",", header=header, comments="")
    arguments = [table.name, network.dag.to_model_string(), network.to_lavaan(), "ecoli70.json"]
    script = str((HERE / "ecoli70.R").resolve())
    subprocess.run(["Rscript", script, *arguments], cwd=GOLDEN, check=True)


if __name__ == "__main__":
    main()
