"""Gaussian Bayesian networks over a known graph: learn their parameters, and know the error.

The public names are listed once, in ``__init__.pyi``; each is imported when it is first used.
"""

from lazy_loader import attach_stub

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
__all__ += ["__version__"]
