"""For GridSearchCV: a score that wrong rows cannot move, and a rule for what is within noise."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from gaussnet.errors import SettingError
from gaussnet.fitting.validation import first_within_noise
from gaussnet.model.scores import robust_score as network_score


def robust_score(estimator: Any, X: Any, y: Any = None) -> float:
    """Score X by `gaussnet.robust_score`, for ``GridSearchCV(scoring=robust_score)``.

    `estimator` is a fitted `GaussianBayesianNetwork`, or a Pipeline that ends in one. Unlike the
    estimator's own `score`, the mean log density, it is not decided by a few wrong rows of X.

    Examples
    --------
    >>> import numpy as np
    >>> from gaussnet.sklearn import GaussianBayesianNetwork
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> model = GaussianBayesianNetwork().fit(X)
    >>> wild = np.vstack((X, [[1e6, 1e6]]))
    >>> model.score(wild) < -1e6, round(robust_score(model, wild) - robust_score(model, X), 2)
    (True, -0.06)
    """
    rows = X
    model = estimator
    if hasattr(estimator, "steps"):
        *steps, (_, model) = estimator.steps
        for _, step in steps:
            rows = rows if step in (None, "passthrough") else step.transform(rows)
    if not hasattr(model, "_rows"):
        raise SettingError(
            f"got a {type(model).__name__} to score, expected a GaussianBayesianNetwork or a "
            "Pipeline that ends in one"
        )
    return network_score(model.network_, model._rows(rows))


def simplest_within_noise(results: Mapping[str, Any]) -> int:
    """The first candidate that no other beats beyond noise, for ``GridSearchCV(refit=...)``.

    `results` are ``cv_results_``. Beyond noise means by more than two standard errors of the
    difference over the folds; so list candidates simplest first. A candidate that failed on a
    fold is out.

    Examples
    --------
    >>> simplest_within_noise({"split0_test_score": [1.0, 1.1], "split1_test_score": [2.0, 1.9]})
    0
    """
    folds = [key for key in results if key.startswith("split") and key.endswith("_test_score")]
    if len(folds) < 2:
        raise SettingError(
            "got results without test scores of at least two folds: give one scoring, and cv=2 or "
            "more"
        )
    return first_within_noise(np.array([results[key] for key in folds], dtype=np.float64).T)
