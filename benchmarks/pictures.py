"""Plots of the benchmark's figures."""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt

from benchmarks.growth import Curve
from benchmarks.sections import Line


def draw_ratios(lines: list[Line], path: Path) -> None:
    """How many times slower than ours the rivals are."""
    bars = [
        (f"{line.what} ({line.unit})", line.figure) for line in lines if " x our" in f" {line.unit}"
    ]
    bars += [
        (f"{line.what}: lstsq loop", line.figure) for line in lines if line.unit.endswith("lstsq")
    ]
    figure, axes = plt.subplots(figsize=(9.0, 0.32 * len(bars) + 1.2), layout="constrained")
    names, values = zip(*bars, strict=True)
    axes.barh(names, values, color="tab:blue")
    axes.set_xscale("log")
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.invert_yaxis()
    axes.set_xlabel("CPU time of the rival / ours")
    labels = [f"{value:,.0f}" if value >= 1_000 else f"{value:.3g}" for value in values]
    axes.bar_label(axes.containers[0], labels, padding=3, fontsize=8)
    axes.set_xlim(0.5 * min(1.0, *values), 4 * max(values))
    axes.margins(y=0.01)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def draw_growth(curves: dict[str, Curve], path: Path) -> None:
    """Seconds against rows, nodes, parents and threads."""
    figure, grid = plt.subplots(2, 2, figsize=(10.0, 7.0), layout="constrained")
    for axes, (what, curve) in zip(grid.ravel(), curves.items(), strict=True):
        for name, points in curve.items():
            axes.plot(list(points), list(points.values()), "o-", label=name)
        axes.set_xlabel(what)
        axes.set_ylabel("wall seconds" if what == "threads" else "CPU seconds")
        if what in ("rows", "nodes"):
            axes.set_xscale("log")
        if what != "threads":
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
            axes.set_xticks(list(points))
        axes.grid(alpha=0.3)
    grid[0, 0].legend(frameon=False)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def draw_curves(curves: dict[str, Curve], path: Path) -> None:
    """CPU seconds of several calls against rows and nodes."""
    figure, grid = plt.subplots(1, len(curves), figsize=(12.0, 7.5), layout="constrained")
    for axes, (what, curve) in zip(grid, curves.items(), strict=True):
        for number, (name, points) in enumerate(curve.items()):
            style = f"C{number % 10}" + ("o-", "s--", "^:")[number // 10 % 3]
            axes.loglog(list(points), list(points.values()), style, markersize=4, label=name)
        axes.set_xticks(list(points), [f"{count:,}" for count in points])
        axes.minorticks_off()
        axes.set_xlabel(what)
        axes.set_ylabel("CPU seconds")
        axes.grid(alpha=0.3)
    figure.legend(*grid[0].get_legend_handles_labels(), loc="outside right", fontsize=8)
    figure.savefig(path, dpi=120)
    plt.close(figure)
