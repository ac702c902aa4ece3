"""Write rows with correlated causes for correlated.R, and run it.

    python scripts/golden/make_correlated.py tests/golden

needs R with lavaan. Three causes covary; two effects follow from them, and from a path that the
models of correlated.R leave out, so that chi-square is not small.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

COVARIANCE = [[1.0, 1.2, 0.5], [1.2, 4.0, -0.8], [0.5, -0.8, 2.0]]


def main(folder: Path) -> None:
    """Write the rows, and the numbers of lavaan beside them."""
    rng = np.random.default_rng(19)
    a, b, c = rng.multivariate_normal([1.0, -2.0, 3.0], COVARIANCE, 300).T
    m = 0.5 + 0.9 * a - 0.4 * b + rng.normal(0.0, 1.1, 300)
    y = 2.0 + 0.7 * m + 0.3 * c + 0.15 * a + rng.normal(0.0, 0.8, 300)
    rows = folder / "correlated.csv"
    pd.DataFrame({"a": a, "b": b, "c": c, "m": m, "y": y}).round(4).to_csv(rows, index=False)
    script = Path(__file__).with_name("correlated.R")
    subprocess.run(["Rscript", script, rows, folder / "correlated.json"], check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
