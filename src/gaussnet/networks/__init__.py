"""Real Gaussian networks that come with the package, to be used offline.

They are those of the bnlearn repository, under CC BY-SA 3.0: see data/NOTICE.
"""

import json
from functools import cache
from importlib.resources import files

from gaussnet.errors import SettingError
from gaussnet.graph.dag import Dag
from gaussnet.model.network import GaussianNetwork

__all__ = ["load", "names"]


def names() -> tuple[str, ...]:
    """The names that `load` knows, in alphabetical order.

    Examples
    --------
    >>> names()
    ('arth150', 'ecoli70', 'magic-irri', 'magic-niab')
    """
    entries = (entry.name for entry in (files("gaussnet.networks") / "data").iterdir())
    return tuple(sorted(name.removesuffix(".json") for name in entries if name.endswith(".json")))


def load(name: str) -> GaussianNetwork:
    """A network of the bnlearn repository, with its intercepts and noise variances.

    Numbers are rounded to four decimals: slopes differ from those of the published .rds files by
    up to 6e-3 of their size. For all digits, read such a file with `gaussnet.read_network`. Node
    names are strings even where they are made of digits only, as in arth150.

    Examples
    --------
    >>> network = load("ecoli70")
    >>> len(network.dag.nodes), len(network.dag.edges)
    (46, 70)
    >>> network.coefficients["icdA", "aceB"], network.variances["aceB"]
    (1.0464, 0.0853)
    """
    if name not in names():
        known = ", ".join(repr(one) for one in names())
        raise SettingError(f"got the network name {name!r}, expected one of {known}")
    return _read(name)


@cache
def _read(name: str) -> GaussianNetwork:
    text = (files("gaussnet.networks") / "data" / f"{name}.json").read_text(encoding="utf-8")
    record = json.loads(text)
    pairs = [(parent, child) for parent, child, _ in record["edges"]]
    weights = {(parent, child): weight for parent, child, weight in record["edges"]}
    dag = Dag.from_parts(record["nodes"], pairs)
    return GaussianNetwork.from_arrays(
        dag,
        [weights[edge] for edge in dag.edges],
        record["variances"],
        record["intercepts"],
    )
