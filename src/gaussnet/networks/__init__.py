"""Real Gaussian networks that come with the package, to be used offline.

They are those of the bnlearn repository, under CC BY-SA 3.0: see data/NOTICE.
"""

from gaussnet.networks.library import load, names

__all__ = ["load", "names"]
