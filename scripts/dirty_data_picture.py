"""Draw docs/images/dirty-data.png: KL divergence against the share of wrong cells, by method.

Run as ``python scripts/dirty_data_picture.py``; it takes a few minutes.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import gaussnet as gn
from gaussnet.seeds import children

NODES, ROWS, REPETITIONS = 100, 2_000, 4
TARGET = Path(__file__).parents[1] / "docs" / "images" / "dirty-data.png"
METHODS = {
    "least-squares": gn.LeastSquares(),
    "batch-average": gn.BatchAverage(),
    "batch-median": gn.BatchMedian(),
    "cauchy-tree": gn.CauchyTree(),
    "cauchy": gn.Cauchy(),
    "robust": gn.Cellwise(),
}
PANELS = {
    "fixed": ("the same 5 columns wrong in so many rows, per cent", (0, 1, 5, 10, 20, 30, 40, 45)),
    "cells": ("so many of all cells wrong, per cent", (0, 0.5, 1, 2, 5, 10, 15)),
}


def divergences(pattern: str, share: float) -> dict[str, float]:
    """Mean KL divergence of each method over a few random networks."""
    found: dict[str, list[float]] = {name: [] for name in (*METHODS, "oracle")}
    for repetition in children(0, REPETITIONS):
        graph, weights, sample, spoil = children(repetition, 4)
        dag = gn.simulate.erdos_renyi(NODES, 5, seed=graph)
        truth = gn.simulate.random_network(dag, seed=weights)
        spoilt = gn.simulate.contaminate(
            truth.sample(ROWS, seed=sample), share=share, pattern=pattern, seed=spoil
        )
        for name, method in METHODS.items():
            scale = "mad" if share and name != "robust" else None
            fit = gn.fit(spoilt.data, dag, method, scale=scale)
            found[name].append(gn.kl_divergence(truth, fit.network))
        right = np.where(spoilt.cells, np.nan, spoilt.data)
        oracle = gn.fit(right, dag, missing="drop-by-node").network
        found["oracle"].append(gn.kl_divergence(truth, oracle))
    return {name: float(np.mean(values)) for name, values in found.items()}


def main() -> None:
    """Compute and draw."""
    figure, panels = plt.subplots(1, 2, figsize=(10.0, 4.2), sharey=True, layout="constrained")
    for axes, (pattern, (label, shares)) in zip(panels, PANELS.items(), strict=True):
        curves = [divergences(pattern, share / 100) for share in shares]
        for name in curves[0]:
            style = {"robust": "ko-", "oracle": "w:"}.get(name, "o-")
            values = [curve[name] for curve in curves]
            axes.plot(shares, values, style, label=name, zorder=3 if name == "robust" else 2)
            if name == "oracle":
                axes.lines[-1].set(color="0.4", linewidth=3, zorder=4)
        axes.set_yscale("log")
        axes.set_xlabel(label)
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("KL divergence from the truth")
    panels[1].legend(frameon=False, loc="center right")
    figure.suptitle(f"{NODES} nodes, {ROWS:,} rows, wrong values N(1000, 1)")
    figure.savefig(TARGET, dpi=130)


if __name__ == "__main__":
    main()
