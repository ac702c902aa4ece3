"""Draw docs/images/methods.png: KL divergence against the share of spoilt rows, by method.

Run as ``python scripts/readme_picture.py``; it takes about a minute.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import gaussnet as gn
from gaussnet.estimate.names import METHODS
from gaussnet.seeds import children

SHARES = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
NODES, ROWS, REPETITIONS = 100, 5_000, 5
TARGET = Path(__file__).parents[1] / "docs" / "images" / "methods.png"


def divergences(share: float) -> dict[str, float]:
    """Mean KL divergence of each method over a few random networks."""
    found: dict[str, list[float]] = {method.name: [] for method in METHODS}
    for repetition in children(0, REPETITIONS):
        graph, weights, sample, spoil = children(repetition, 4)
        dag = gn.simulate.erdos_renyi(NODES, 5, seed=graph)
        truth = gn.simulate.random_network(dag, seed=weights)
        rows = truth.sample(ROWS, seed=sample)
        if share:
            rows = gn.simulate.contaminate(rows, share=share, seed=spoil).data
        for method in METHODS:
            fit = gn.fit(rows, dag, method(), scale="mad" if share else "mean-square")
            found[method.name].append(gn.kl_divergence(truth, fit.network))
    return {name: float(np.mean(values)) for name, values in found.items()}


def main() -> None:
    """Compute and draw."""
    curves = [divergences(share) for share in SHARES]
    figure, axes = plt.subplots(figsize=(7.0, 4.0), layout="constrained")
    for name in curves[0]:
        axes.plot(np.multiply(SHARES, 100), [curve[name] for curve in curves], "o-", label=name)
    axes.set_yscale("log")
    axes.set_xscale("symlog", linthresh=0.5)
    axes.set_xticks(np.multiply(SHARES, 100), [f"{100 * share:g}" for share in SHARES])
    axes.set_xlim(-0.05, 25)
    axes.set_xlabel("rows with 5 of 100 values replaced by N(1000, 1), per cent")
    axes.set_ylabel("KL divergence from the truth")
    axes.set_title(f"100 nodes, {ROWS:,} rows: what garbage does to each method")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(TARGET, dpi=130)


if __name__ == "__main__":
    main()
