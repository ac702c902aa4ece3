"""Gaussian Bayesian networks over a known graph: learn their parameters, and know the error.

The public names are listed once, in ``__init__.pyi``; each is imported when it is first used.
"""

from typing import Any

from lazy_loader import attach_stub

__version__ = "0.2.0"

_public, __dir__, __all__ = attach_stub(__name__, __file__)
__all__ += ["__version__"]

_MEANT = {
    "load": "gn.read_network(path), or gn.networks.load(name) for an example",
    "read": "gn.read_network(path) or gn.read_dag(path)",
    "save": "fit.save_network(path) or gn.write_network(network, path)",
    "write": "fit.save_network(path) or gn.write_network(network, path)",
}
"""What names that people try stand for."""


def __getattr__(name: str) -> Any:
    """The public name, imported now; of a name that is not public, what may be meant."""
    if name in _MEANT:
        raise AttributeError(f"module 'gaussnet' has no attribute {name!r}: {_MEANT[name]}")
    return _public(name)
