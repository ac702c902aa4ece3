"""`gaussnet plan` and `gaussnet certify`: methods and laws side by side."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args

import numpy as np

import gaussnet as gn
from gaussnet.cli.printing import console, in_shell_words, print_table, progress
from gaussnet.errors import GaussnetError, SettingError
from gaussnet.files import write_bytes
from gaussnet.graph.dag import Dag, counted
from gaussnet.methods.names import METHODS
from gaussnet.planning.certificate import ASSUMPTIONS
from gaussnet.planning.settings import PlanLaw

LAWS: tuple[PlanLaw, ...] = get_args(PlanLaw)
PLOT_POINTS = 40
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Target:
    """What is asked of a plan."""

    tv: float | None
    kl: float | None
    delta: float
    intercept: bool

    def __str__(self) -> str:
        goal = f"TV <= {self.tv:g}" if self.tv is not None else f"KL <= {self.kl:g}"
        constants = "with" if self.intercept else "without"
        return f"{goal}, probability {1 - self.delta:g}, {constants} intercepts"


@dataclass(frozen=True, slots=True)
class PlanTable:
    """Rows needed by method and law, and for each method without a law the reason why."""

    target: Target
    rows: dict[str, dict[str, int]]
    reasons: dict[str, str]
    assumptions: tuple[str, ...] = ASSUMPTIONS

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "target": str(self.target),
            "tv": self.target.tv,
            "kl": self.target.kl,
            "delta": self.target.delta,
            "intercept": self.target.intercept,
            "rows": self.rows,
            "no law": _in_shell_words(self.reasons),
            "assumptions": list(self.assumptions),
        }


@dataclass(frozen=True, slots=True)
class CertificateTable:
    """Certificates by method, and for each method without a law the reason why."""

    certificates: dict[str, gn.Certificate]
    reasons: dict[str, str]

    @property
    def first(self) -> gn.Certificate:
        """One of them: rows, delta and assumptions are those of all."""
        return next(iter(self.certificates.values()))

    @property
    def figures(self) -> dict[str, dict[str, float]]:
        """The numbers of each certificate by the words for them."""
        return {
            method: {
                "expected KL": promise.expected_kl,
                "KL": promise.kl,
                "TV": promise.tv,
                "information limit": promise.information_limit,
                "lower bound on TV, times a constant": promise.hardness_tv,
            }
            for method, promise in self.certificates.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "rows": self.first.rows,
            "delta": self.first.delta,
            "certificates": self.figures,
            "no law": _in_shell_words(self.reasons),
            "assumptions": list(self.first.assumptions),
        }


def _in_shell_words(reasons: dict[str, str]) -> dict[str, str]:
    return {method: in_shell_words(reason) for method, reason in reasons.items()}


def plan_table(dag: Dag, target: Target) -> PlanTable:
    """Plan with every method and law."""

    def rows(method: str, law: PlanLaw) -> int:
        return gn.plan(
            dag,
            tv=target.tv,
            kl=target.kl,
            delta=target.delta,
            method=method,
            law=law,
            intercept=target.intercept,
        ).rows

    pairs = [(method, law) for method in METHODS for law in LAWS]
    found, reasons = _ask_all(pairs, rows, "{}, {} law".format)
    by_method: dict[str, dict[str, int]] = {}
    for (method, law), count in found.items():
        by_method.setdefault(method, {})[law] = count
    reasons = {name: reason for name, reason in reasons.items() if name not in by_method}
    return PlanTable(target, by_method, reasons)


def certificate_table(dag: Dag, rows: int, delta: float, intercept: bool) -> CertificateTable:
    """Certify every method."""

    def certificate(method: str) -> gn.Certificate:
        return gn.certify(dag, rows=rows, delta=delta, method=method, intercept=intercept)

    found, reasons = _ask_all([(method,) for method in METHODS], certificate, str)
    return CertificateTable({method: promise for (method,), promise in found.items()}, reasons)


def _ask_all(
    cases: list[tuple[Any, ...]], ask: Callable[..., Found], words: Callable[..., str]
) -> tuple[dict[tuple[Any, ...], Found], dict[str, str]]:
    """Answers by case, and for each method that was refused the first reason why.

    If not even least squares has an answer, the question was wrong: its reason is raised.
    """
    found: dict[tuple[Any, ...], Found] = {}
    reasons: dict[str, str] = {}
    with progress(len(cases)) as tell:
        for case in cases:
            tell(words(*case))
            try:
                found[case] = ask(*case)
            except SettingError as refusal:
                reasons.setdefault(case[0], str(refusal))
    if not found:
        raise GaussnetError(reasons["least-squares"])
    return found, reasons


def print_plan(table: PlanTable) -> None:
    """Print a plan as a table."""
    lines = [
        (method, *(f"{rows[law]:,}" if law in rows else "-" for law in LAWS))
        for method, rows in table.rows.items()
    ]
    print_table(f"Rows needed for {table.target}", ("method", *LAWS), lines)
    _print_reasons(table.reasons)
    console().print(f"If {table.assumptions[0]}.")


def print_certificates(table: CertificateTable) -> None:
    """Print certificates as a table."""
    rows, chance = table.first.rows, 1 - table.first.delta
    title = f"How far from the truth after {counted(rows, 'row')}, with probability {chance:g}"
    heads = ("method", *next(iter(table.figures.values())))
    print_table(title, heads, [(name, *own.values()) for name, own in table.figures.items()])
    _print_reasons(table.reasons)
    page = console()
    page.print("If:")
    for assumption in table.first.assumptions:
        page.print(f"  - {assumption}")


def _print_reasons(reasons: dict[str, str]) -> None:
    if reasons:
        console().print(f"No law on this graph (--json says why): {', '.join(reasons)}")


def check_plot(path: Path | None) -> None:
    """Refuse early what cannot become a plot."""
    if path is not None and path.suffix not in (".png", ".svg"):
        raise SettingError(f"got the plot {path.name!r}, expected a name that ends in .png or .svg")


def plot_guarantee(dag: Dag, centre: int, delta: float, intercept: bool, path: Path) -> None:
    """Draw guaranteed total variation against rows, a hundredfold either way, as PNG or SVG."""
    from gaussnet.reproduce.figures import draw_guarantee

    rows = np.unique(np.geomspace(max(centre / 100, 2), centre * 100, PLOT_POINTS).astype(int))
    promises = [gn.certify(dag, rows=int(m), delta=delta, intercept=intercept) for m in rows]
    paper = [gn.certify(dag, rows=int(m), delta=delta, law="paper", intercept=False) for m in rows]
    picture = draw_guarantee(
        rows.tolist(),
        {
            "guaranteed, least squares": [promise.tv for promise in promises],
            "guaranteed by the paper's constants": [promise.tv for promise in paper],
        },
        {
            "from the expected KL (Pinsker)": [
                min(1.0, (promise.expected_kl / 2) ** 0.5) for promise in promises
            ],
            "shape of the lower bound, sqrt(n d / m)": [
                promise.hardness_tv for promise in promises
            ],
        },
    )
    write_bytes(path, picture.png if path.suffix == ".png" else picture.svg.encode())
