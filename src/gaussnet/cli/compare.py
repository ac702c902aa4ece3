"""`gaussnet compare`: how far apart two networks are."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gaussnet as gn
from gaussnet.cli.printing import console, number, print_table, progress
from gaussnet.errors import NetworkError


@dataclass(frozen=True, slots=True)
class Comparison:
    """Distances of two networks, and each node's part in the divergence from P to Q."""

    kl: float
    reverse_kl: float
    hellinger: float
    variation: gn.TotalVariation
    by_node: tuple[tuple[str, float], ...] | None
    """Worst first; None where the networks have different edges."""

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values, for JSON."""
        return {
            "kl": self.kl,
            "reverse_kl": self.reverse_kl,
            "hellinger": self.hellinger,
            "total_variation": {
                "estimate": self.variation.estimate,
                "interval": list(self.variation.interval),
                "lower": self.variation.lower,
                "upper": self.variation.upper,
            },
            "kl_by_node": None if self.by_node is None else dict(self.by_node),
        }


def run(one: Path, other: Path, samples: int, seed: int) -> Comparison:
    """Read two networks over the same nodes and measure how far apart they are."""
    p, q = gn.read_network(one), gn.read_network(other)
    with progress(1) as tell:
        tell("comparing")
        return Comparison(
            gn.kl_divergence(p, q),
            gn.kl_divergence(q, p),
            gn.hellinger(p, q),
            gn.total_variation(p, q, samples=samples, seed=seed),
            _worst_first(p, q),
        )


def show(found: Comparison) -> None:
    """Print the distances."""
    low, high = found.variation.interval
    print_table(
        "P is the first network, Q the second",
        ("distance", "value"),
        (
            ("KL(P, Q)", found.kl),
            ("KL(Q, P)", found.reverse_kl),
            ("Hellinger", found.hellinger),
            ("total variation", found.variation.estimate),
        ),
    )
    page = console()
    page.print(f"total variation is between {number(low)} and {number(high)} (95 %)")
    if found.by_node is None:
        page.print("the networks have different edges, so KL(P, Q) is no sum over nodes")
    else:
        print_table("Parts of KL(P, Q), worst first", ("node", "KL"), found.by_node)


def _worst_first(
    p: gn.GaussianNetwork, q: gn.GaussianNetwork
) -> tuple[tuple[str, float], ...] | None:
    try:
        parts = gn.kl_by_node(p, q)
    except NetworkError:  # the same names, but not the same edges
        return None
    return tuple(sorted(parts.items(), key=lambda part: -part[1]))
