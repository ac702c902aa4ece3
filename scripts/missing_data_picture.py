"""Draw docs/images/missing-data.png: what each choice of `missing` does to a coefficient.

Run as ``python scripts/missing_data_picture.py``; it takes a minute.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import gaussnet as gn

DAG = gn.Dag.parse("[x][y|x][z|y]")
TRUTH = gn.GaussianNetwork.from_arrays(DAG, [0.6, 0.8], [1.0, 1.0, 1.0])
ROWS, REPETITIONS = 1_000, 200
CHOICES = ("drop-rows", "drop-by-node", "likelihood")
TARGET = Path(__file__).parents[1] / "docs" / "images" / "missing-data.png"


def completely_at_random(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """y is missing by the throw of a coin."""
    return rng.random(len(rows)) < 0.25


def at_random(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """y is missing where its child z is large."""
    return rows[:, 2] > 0.85


def not_at_random(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """y is missing where y itself is large."""
    return rows[:, 1] > 0.8


PANELS = {
    "completely at random\n(a coin decides)": completely_at_random,
    "at random\n(the child z decides)": at_random,
    "not at random\n(y itself decides)": not_at_random,
}


def main() -> None:
    """Fit, and draw boxes of the coefficient x -> y."""
    figure, panels = plt.subplots(1, 3, figsize=(10.0, 3.8), sharey=True, layout="constrained")
    for axes, (title, decide) in zip(panels, PANELS.items(), strict=True):
        found: dict[str, list[float]] = {choice: [] for choice in CHOICES}
        for seed in range(REPETITIONS):
            rows = TRUTH.sample(ROWS, seed=seed)
            rows[decide(rows, np.random.default_rng(seed)), 1] = np.nan
            for choice in CHOICES:
                fit = gn.fit(rows, DAG, missing=choice)
                found[choice].append(fit.network.coefficients["x", "y"])
        axes.axhline(0.6, color="0.4", linestyle=":", linewidth=2)
        axes.boxplot(list(found.values()), widths=0.6, showfliers=False)
        axes.set_xticks(range(1, len(CHOICES) + 1), CHOICES, fontsize=8)
        axes.set_title(f"y is missing {title}", fontsize=10)
    panels[0].set_ylabel("coefficient of x in y (truth 0.6)")
    figure.savefig(TARGET, dpi=130)


if __name__ == "__main__":
    main()
