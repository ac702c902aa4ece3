"""Write the rows that scripts/golden/groups.R learns from: three sites that differ a little."""

import sys

import numpy as np
import pandas as pd

SITES = {"Graz": (120, 0.8, 0.0, 1.0), "Oslo": (90, 0.8, 0.3, 1.3), "Ulm": (150, 0.5, -0.2, 0.8)}


def main(path: str) -> None:
    """Write the rows."""
    rng = np.random.default_rng(11)
    parts = []
    for site, (rows, slope, place, scale) in SITES.items():
        a = rng.normal(2.0, 1.3, rows)
        b = place + slope * a + rng.normal(0.0, scale, rows)
        c = 0.5 * a - 0.7 * b + rng.normal(0.0, 1.0, rows)
        d = 1.0 + 0.4 * b + 0.9 * c + rng.normal(0.0, scale, rows)
        parts.append(pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "site": site}))
    pd.concat(parts).sample(frac=1.0, random_state=3).round(4).to_csv(path, index=False)


if __name__ == "__main__":
    main(sys.argv[1])
