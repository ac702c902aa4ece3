"""Findings as plain values for JSON: every number in a field of its own."""

from collections.abc import Sequence
from typing import Any

import gaussnet as gn
from gaussnet.cli.printing import in_shell_words
from gaussnet.fitting.residuals import ResidualShapes


def graph_fields(check: "gn.GraphCheck | None", reason: str) -> dict[str, Any]:
    """The test of the graph, or why there is none."""
    if check is None:
        return {"tested": False, "reason": in_shell_words(reason)}
    return {
        "tested": True,
        "contradicted": not check.agrees,
        "level": check.level,
        "tests": check.tests,
        "untested": check.untested,
        "rejected": [edge._asdict() for edge in check.rejected],
    }


def residual_fields(shapes: ResidualShapes | None, nodes: Sequence[str]) -> list[dict[str, Any]]:
    """The shape of each node's residuals; none where the rows are not in memory."""
    if shapes is None:
        return []
    return [
        {
            "node": node,
            "shape": shapes.kinds[place],
            "rows": int(shapes.counts[place]),
            "skewness": float(shapes.skewness[place]),
            "excess_kurtosis": float(shapes.kurtosis[place]),
            "furthest": float(shapes.worst[place]),
        }
        for place, node in enumerate(nodes)
    ]


def contamination_fields(test: Any, nodes: Sequence[str]) -> dict[str, Any]:
    """The test for contamination."""
    heads = ("node", "p_value", "adjusted", "share")
    columns = (nodes, test.p_values.tolist(), test.adjusted.tolist(), test.shares.tolist())
    return {
        "contaminated": bool(test.contaminated),
        "level": test.level,
        "columns": list(test.contaminated),
        "nodes": [dict(zip(heads, one, strict=True)) for one in zip(*columns, strict=True)],
    }
