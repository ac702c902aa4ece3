"""`gaussnet plan` and `gaussnet certify`: methods and laws side by side."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, get_args

import numpy as np

import gaussnet as gn
from gaussnet.cli.printing import console, print_table, progress
from gaussnet.errors import GaussnetError, SettingError
from gaussnet.files import write_bytes
from gaussnet.graph.dag import Dag
from gaussnet.methods.names import METHODS
from gaussnet.planning.settings import PlanLaw

LAWS: tuple[PlanLaw, ...] = get_args(PlanLaw)
PLOT_POINTS = 40


@dataclass(frozen=True, slots=True)
class Target:
    """What is asked of a plan."""

    tv: float | None
    kl: float | None
    delta: float
    intercept: bool


def plan_table(dag: Dag, target: Target) -> dict[str, Any]:
    """Rows needed by method and law, and for each method without a law the reason why."""
    rows: dict[str, dict[str, int]] = {}
    reasons: dict[str, str] = {}
    pairs = [(method, law) for method in METHODS for law in LAWS]
    with progress(len(pairs)) as tell:
        for method, law in pairs:
            tell(f"{method.name}, {law} law")
            found = _unless_refused(
                lambda method=method.name, law=law: gn.plan(  # type: ignore[misc]
                    dag,
                    tv=target.tv,
                    kl=target.kl,
                    delta=target.delta,
                    method=method,
                    law=law,
                    intercept=target.intercept,
                ),
                reasons,
                method.name,
            )
            if found is not None:
                rows.setdefault(method.name, {})[law] = found.rows
    _require_some(rows, reasons)
    reasons = {name: reason for name, reason in reasons.items() if name not in rows}
    return {"target": _target_words(target), "rows": rows, "no law": reasons}


def certificate_table(dag: Dag, rows: int, delta: float, intercept: bool) -> dict[str, Any]:
    """Expected and guaranteed error by method, and for each method without a law the reason."""
    found: dict[str, dict[str, float]] = {}
    reasons: dict[str, str] = {}
    with progress(len(METHODS)) as tell:
        for method in METHODS:
            tell(method.name)
            promise = _unless_refused(
                lambda method=method.name: gn.certify(  # type: ignore[misc]
                    dag, rows=rows, delta=delta, method=method, intercept=intercept
                ),
                reasons,
                method.name,
            )
            if promise is not None:
                found[method.name] = _figures(promise)
                assumptions = promise.assumptions
    _require_some(found, reasons)
    return {"certificates": found, "no law": reasons, "assumptions": list(assumptions)}


def _figures(promise: gn.Certificate) -> dict[str, float]:
    return {
        "expected KL": promise.expected_kl,
        "KL": promise.kl,
        "TV": promise.tv,
        "information limit": promise.information_limit,
        "hardness shape of TV": promise.hardness_tv,
    }


def show_plan(result: dict[str, Any]) -> None:
    """Print a plan as a table."""
    lines = [
        (method, *(f"{rows[law]:,}" if law in rows else "-" for law in LAWS))
        for method, rows in result["rows"].items()
    ]
    print_table(f"Rows needed for {result['target']}", ("method", *LAWS), lines)
    _print_reasons(result["no law"])


def show_certificates(result: dict[str, Any], rows: int, delta: float) -> None:
    """Print certificates as a table."""
    title = f"How far from the truth after {rows:,} rows, with probability {1 - delta:g}"
    heads = ("method", *next(iter(result["certificates"].values())))
    lines = [(method, *figures.values()) for method, figures in result["certificates"].items()]
    print_table(title, heads, lines)
    _print_reasons(result["no law"])
    page = console()
    page.print("If:")
    for assumption in result["assumptions"]:
        page.print(f"  - {assumption}")


def as_json(result: dict[str, Any]) -> str:
    """A result as JSON; what is infinite is null."""
    return json.dumps(_finite(result), indent=2)


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


def _unless_refused(ask: Callable[[], Any], reasons: dict[str, str], method: str) -> Any:
    try:
        return ask()
    except SettingError as refusal:
        reasons.setdefault(method, str(refusal))
        return None


def _require_some(found: dict[str, Any], reasons: dict[str, str]) -> None:
    """If not even least squares has an answer, the question was wrong: say why."""
    if not found:
        raise GaussnetError(reasons["least-squares"])


def _print_reasons(reasons: dict[str, str]) -> None:
    page = console()
    for method, reason in reasons.items():
        page.print(f"{method}: {reason}")


def _target_words(target: Target) -> str:
    goal = f"TV <= {target.tv:g}" if target.tv is not None else f"KL <= {target.kl:g}"
    constants = "with" if target.intercept else "without"
    return f"{goal}, probability {1 - target.delta:g}, {constants} intercepts"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    return None if isinstance(value, float) and not isfinite(value) else value
