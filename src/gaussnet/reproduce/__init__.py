"""The paper's experiments, figures and baselines."""

from lazy_loader import attach

__getattr__, __dir__, __all__ = attach(__name__, submodules={"baselines"})
