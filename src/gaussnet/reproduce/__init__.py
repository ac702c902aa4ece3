"""The paper's experiments, figures and baselines."""

from gaussnet.reproduce import baselines

__all__ = ["baselines"]
