"""Networks as model text of lavaan, which semopy reads too."""

import re
from typing import Literal, get_args

from gaussnet.errors import NetworkError, SettingError
from gaussnet.model.network import GaussianNetwork

Values = Literal["free", "start", "fixed"]

# A letter, or a dot without a digit after it; then letters, digits, dots and underscores.
_NAME = re.compile(r"(?:[^\W\d_]|\.(?!\d))[\w.]*")
_DOTS = re.compile(r"\.\.\.|\.\.\d+")
_RESERVED = re.compile(
    "if|else|repeat|while|function|for|next|break|in|TRUE|FALSE|NULL|Inf|NaN|"
    "NA|NA_integer_|NA_real_|NA_complex_|NA_character_"
)


def to_lavaan(network: GaussianNetwork, values: Values = "free") -> str:
    """The model text: regressions, intercepts ``~ 1`` and variances ``~~``, one a line.

    It is the whole model: fit it with ``lavaan(text, data, fixed.x = FALSE)``, for `sem` adds
    covariances of its own, or with semopy's ``ModelMeans``.

    Parameters
    ----------
    values
        "free" leaves all parameters to be estimated and is read by lavaan and semopy alike;
        "fixed" fixes them at the network's numbers, for both; "start" makes these numbers the
        starting values of lavaan.

    Examples
    --------
    >>> from gaussnet.graph.dag import Dag
    >>> network = GaussianNetwork.from_arrays(Dag.parse("[rain][wet|rain]"), [1.5], [1.0, 0.25])
    >>> print(to_lavaan(network, "fixed"), end="")
    rain ~ 0.0*1
    rain ~~ 1.0*rain
    wet ~ 1.5*rain
    wet ~ 0.0*1
    wet ~~ 0.25*wet
    """
    if values not in get_args(Values):
        raise SettingError(f"got values={values!r}, expected 'free', 'start' or 'fixed'")
    dag = network.dag
    for node in dag.nodes:
        _check(node)
    lines = []
    for node in dag.nodes:
        terms = [
            _term(network.coefficients[parent, node], parent, values)
            for parent in dag.parents(node)
        ]
        lines += [f"{node} ~ {' + '.join(terms)}"] if terms else []
        lines.append(f"{node} ~ {_term(network.intercepts[node], '1', values)}")
        lines.append(f"{node} ~~ {_term(network.variances[node], node, values)}")
    return "".join(f"{line}\n" for line in lines)


def _term(number: float, name: str, values: Values) -> str:
    if values == "free":
        return name
    return f"{number!r}*{name}" if values == "fixed" else f"start({number!r})*{name}"


def _check(name: str) -> None:
    if not _NAME.fullmatch(name) or _DOTS.fullmatch(name) or _RESERVED.fullmatch(name):
        raise NetworkError(
            f"lavaan cannot hold the node name {name!r}, and has no quotes for it: rename the node "
            "(letters, digits, '.' and '_', a letter first, no reserved word of R)"
        )
