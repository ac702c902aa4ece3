"""The robust method beside someone who knows the wrong cells.

    python -m benchmarks.cells [--repetitions 10] [--seed 90211] [--only WORDS]

Prints KL divergence over that of the *EM oracle*, maximum likelihood of someone who knows which
cells are wrong and takes them for missing: 30 nodes, 1,000 rows, weights +-[0.5, 1.5], intercepts,
random graphs of mean degree 2 and 5. Beside it stand sequential trimming and how cells are flagged.
"""

import argparse
import os
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import gaussnet as gn
from gaussnet.seeds import children

NODES, ROWS = 30, 1_000


class Case(NamedTuple):
    """A way for cells to go wrong: what share of them, by how much, in which units."""

    name: str
    share: float
    kind: str
    size: float = 0.0


CASES = (
    Case("none", 0.0, "noise"),
    Case("5 % N(1000, 1)", 0.05, "gross"),
    Case("10 % N(1000, 1)", 0.1, "gross"),
    Case("20 % N(1000, 1)", 0.2, "gross"),
    Case("5 % by 5 column sd", 0.05, "column", 5.0),
    Case("5 % by 5 noise sd", 0.05, "noise", 5.0),
    Case("2 % by 3 noise sd", 0.02, "noise", 3.0),
    Case("5 % by 3 noise sd", 0.05, "noise", 3.0),
    Case("10 % by 3 noise sd", 0.1, "noise", 3.0),
    Case("5 % drawn again", 0.05, "again"),
    Case("10 % drawn again", 0.1, "again"),
)


class Problem(NamedTuple):
    """A network, rows of it, and which cells are wrong."""

    truth: gn.GaussianNetwork
    rows: np.ndarray
    wrong: np.ndarray


def draw(case: Case, degree: int, seed: np.random.SeedSequence) -> Problem:
    """A new network and new rows; errors have either sign."""
    graph, sample, spoil = children(seed, 3)
    dag, rng = gn.simulate.erdos_renyi(NODES, degree, seed=graph), np.random.default_rng(spoil)
    count = len(dag.families.parents)
    slopes = rng.uniform(0.5, 1.5, count) * rng.choice([-1.0, 1.0], count)
    truth = gn.GaussianNetwork.from_arrays(dag, slopes, np.ones(NODES), rng.normal(size=NODES))
    clean = truth.sample(ROWS, seed=sample)
    wrong = np.zeros(clean.shape, dtype=bool)
    wrong.flat[rng.permutation(wrong.size)[: round(case.share * wrong.size)]] = True
    signs = rng.choice([-1.0, 1.0], clean.shape)
    written = {
        "gross": rng.normal(1000.0, 1.0, clean.shape),
        "column": clean + case.size * signs * clean.std(axis=0),
        "noise": clean + case.size * signs,
        "again": rng.permuted(clean, axis=0),
    }[case.kind]
    return Problem(truth, np.where(wrong, written, clean), wrong)


def measure(problem: Problem) -> tuple[float, ...]:
    """KL of robust, trimming and the oracle; hits, flags, wrong cells; hits and flags at 0.9."""
    truth, rows, wrong = problem
    fit = gn.fit(rows, truth.dag, "robust", threads=1)
    trimmed = gn.fit(rows, truth.dag, "sequential-trim", threads=1)
    known = np.where(wrong, np.nan, rows)
    oracle = gn.fit(known, truth.dag, missing="likelihood" if wrong.any() else "raise")
    found = fit.outliers()
    columns = np.array([truth.dag.position(node) for node in found.nodes], dtype=np.int64)
    hits = wrong[found.rows, columns]
    sure = found.probabilities >= 0.9
    return (
        *(gn.kl_divergence(truth, one.network) for one in (fit, trimmed, oracle)),
        np.count_nonzero(hits),
        len(found),
        np.count_nonzero(wrong),
        np.count_nonzero(hits[sure]),
        np.count_nonzero(sure),
    )


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--seed", type=int, default=90211)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    print("wrong cells           degree  oracle KL    robust    trim  precision  recall  sure")
    for case in CASES:
        for degree in (2, 5):
            if options.only not in case.name:
                continue
            seeds = children(options.seed, options.repetitions)
            found = np.array([measure(draw(case, degree, seed)) for seed in seeds])
            ours, trimmed, oracle, hits, flags, wrong, sure_hits, sure = found.sum(axis=0)
            print(
                f"{case.name:22} {degree:5} {oracle / options.repetitions:10.4f} "
                f"{ours / oracle:9.3f} {trimmed / oracle:7.2f} {hits / max(flags, 1):10.3f} "
                f"{hits / max(wrong, 1):7.3f} {sure_hits / max(sure, 1):5.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
