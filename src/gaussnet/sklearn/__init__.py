"""A Gaussian network as an estimator of scikit-learn, and how to choose among several."""

try:
    import sklearn as _sklearn  # noqa: F401 (only to say what to install)
except ImportError:
    from gaussnet.errors import GaussnetError

    raise GaussnetError(
        "scikit-learn is not installed, and gaussnet.sklearn needs it: install it, for instance "
        "with 'pip install gaussnet[sklearn]'"
    ) from None

from gaussnet.sklearn.estimator import GaussianBayesianNetwork, robust_score, simplest_within_noise

__all__ = ["GaussianBayesianNetwork", "robust_score", "simplest_within_noise"]
