"""Graphs as model text: bnlearn model strings and regression formulas.

A **model string** holds one bracket per node, ``[rain][sprinkler][wet|rain:sprinkler]``.
Blanks around brackets and names do not count; a name holds anything but ``[ ] | :``.

**Formulas** hold one regression per line or ``;``, ``wet ~ rain + sprinkler``. Several lines
for one node add up, a name alone on a line is a node, ``#`` starts a comment. The constant
term 1 names no parent, for intercepts are a matter of the fit and not of the graph; 0 and -1, which
ask for an equation without intercept, are refused.
A name of letters, digits, ``.``, ``_`` and characters beyond ASCII stands bare; every other
name, the names 0 and 1, and decimals such as 0.5 stand in double quotes or backticks.
Between quotes each character stands for itself, and the quote itself is written twice:
``"5"" pipe"`` is the name ``5" pipe``.

As in lavaan, ``y ~ b*m`` gives the coefficient of m the label b, and ``ind := a*b`` defines a
quantity from labels; neither changes the graph. ``x1 ~~ x2 + x3`` lets x1 covary with x2 and
with x3, and ``x ~~ x``, a variance, is passed over: all are free.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gaussnet.errors import GraphError
from gaussnet.graph.formats import NodesAndEdges

_BRACKET = re.compile(r"\s*\[([^\[\]]*)\]\s*")
_BARE = r"[^\s!-\-/:-@\[-^`{-~]+"
_DECIMAL = re.compile(r"[0-9]*\.[0-9]*")
_TOKEN = re.compile(
    rf"""(?P<blank>[^\S\n\r]+|\#[^\n\r]*)
    |(?P<end>[\n\r;])
    |(?P<quoted>"[^"]*(?:""[^"]*)*"|`[^`]*(?:``[^`]*)*`)
    |(?P<name>{_BARE})
    |(?P<sign>~~|=~|:=|->|<-|.)""",
    re.VERBOSE,
)
_CONSTANTS = ("0", "1")
_MEANINGS = {
    "~~": "declares a covariance and stands between two names alone",
    "=~": "declares a latent variable",
    ":=": "defines a derived quantity",
    ":": "makes an interaction",
    "*": "makes an interaction, fixes a coefficient or follows a label",
    "(": "calls a function or groups terms",
    "^": "takes a power",
    "/": "divides or nests variables",
    "|": "declares thresholds or groups",
    "-": "removes a term",
    "->": "is an arrow",
    "<-": "is an arrow",
}

_ON_COLUMNS = (
    "add a column with these values to the data, as frame['log_x'] = np.log(frame['x']), and name "
    "it, as in 'y ~ log_x'"
)


class _Token(NamedTuple):
    kind: str
    text: str
    start: int


class _Statement(NamedTuple):
    """One formula: its tokens, and the whole text to quote from when it is refused."""

    tokens: list[_Token]
    model: str

    @property
    def is_definition(self) -> bool:
        """Whether this is ``name := expression``."""
        return len(self.tokens) > 1 and self.tokens[1].text == ":="

    @property
    def is_covariance(self) -> bool:
        """Whether this is ``name ~~ name + ...``."""
        return len(self.tokens) > 1 and self.tokens[1].text == "~~"

    @property
    def labelled(self) -> list[tuple[_Token, _Token]]:
        """The labels of terms with the names that they stand before."""
        places = range(2, len(self.tokens) - 2)
        triples = (self.tokens[index : index + 3] for index in places)
        return [(label, name) for label, sign, name in triples if self._is_label(label, sign, name)]

    @property
    def unlabelled(self) -> "_Statement":
        """Without the labels of terms and their stars."""
        left = {label.start for label, _ in self.labelled}
        kept, tokens = [], iter(self.tokens)
        for token in tokens:
            if token.start in left:
                next(tokens)
            else:
                kept.append(token)
        return _Statement(kept, self.model)

    def _is_label(self, label: _Token, sign: _Token, name: _Token) -> bool:
        words = label.kind == "name" and name.kind in ("name", "quoted")
        return words and sign.text == "*" and label.text[0].isalpha() and not _is_constant(name)

    def refusal(self, token: _Token, complaint: str) -> GraphError:
        line = 1 + len(re.findall(r"\r\n|\r|\n", self.model[: token.start]))
        last = self.tokens[-1]
        start, stop = self.tokens[0].start, last.start + len(last.text)
        left, right = max(start, token.start - 40), min(stop, token.start + 40)
        head, tail = "..." * (left > start), "..." * (right < stop)
        excerpt = f"{head}{self.model[left:right]}{tail}"
        return GraphError(f"line {line} of the formulas, {excerpt!r}, {complaint}")


def parse_model(model: str) -> NodesAndEdges:
    """The nodes, in order of appearance, and the (parent, child) edges of a model text.

    A text that starts with ``[`` is a model string, any other is a list of formulas.

    Examples
    --------
    >>> parse_model("[rain][wet|rain]")
    (('rain', 'wet'), [('rain', 'wet')])
    >>> parse_model("wet ~ rain + `lawn sprinkler` # the garden")
    (('wet', 'rain', 'lawn sprinkler'), [('rain', 'wet'), ('lawn sprinkler', 'wet')])
    """
    if not isinstance(model, str):
        raise GraphError(f"got a model of type {type(model).__name__}, expected a string")
    if model.lstrip().startswith("["):
        families = _brackets(model)
        nodes = tuple(child for child, _ in families)
    else:
        lines = [one for one in _statements(model) if not one.is_definition]
        named = [_covariance(one) if one.is_covariance else _regression(one) for one in lines]
        nodes = tuple(dict.fromkeys(name for own, given in named for name in (own, *given)))
        pairs = zip(named, lines, strict=True)
        families = [family for family, one in pairs if not one.is_covariance]
    if not nodes:
        raise GraphError(
            f"the model text {_shorten(model)!r} names no node: give a model string such as "
            "'[a][b|a]' or lines such as 'b ~ a'"
        )
    return nodes, [(parent, child) for child, parents in families for parent in parents]


def parse_covariances(model: str) -> list[tuple[str, str]]:
    """The pairs of nodes that a model text lets covary.

    Examples
    --------
    >>> parse_covariances("y ~ a + b + c; a ~~ b + c")
    [('a', 'b'), ('a', 'c')]
    """
    if model.lstrip().startswith("["):
        return []
    found = (_covariance(one) for one in _statements(model) if one.is_covariance)
    return [(own, other) for own, others in found for other in others]


class Labels(NamedTuple):
    """Names that a model text gives to coefficients, and quantities that it defines from them."""

    edges: dict[str, tuple[str, str]]
    """The (parent, child) edge of each label."""
    definitions: dict[str, str]
    """The expression of each defined quantity."""


FUNCTIONS = ("exp", "log", "sqrt", "abs")
"""Functions that a definition may use."""


def parse_labels(model: str, known: Iterable[str] = ()) -> Labels:
    """The labels and definitions of a model text that `parse_model` accepts.

    Definitions may use these labels, those already `known`, and definitions before them.

    Examples
    --------
    >>> parse_labels("m ~ a*x; y ~ b*m + x; ind := a*b")
    Labels(edges={'a': ('x', 'm'), 'b': ('m', 'y')}, definitions={'ind': 'a*b'})
    """
    found = Labels({}, {})
    if model.lstrip().startswith("["):
        return found
    nodes, _ = parse_model(model)
    definitions = []
    for statement in _statements(model):
        if statement.is_definition:
            definitions.append(statement)
            continue
        if statement.is_covariance:
            continue
        child = _name(statement.tokens[0], statement)
        for label, name in statement.labelled:
            _check_label(label, found, nodes, statement)
            found.edges[label.text] = (_name(name, statement), child)
    for statement in definitions:
        _add_definition(found, statement, set(known))
    return found


def _check_label(
    label: _Token, found: Labels, nodes: tuple[str, ...], statement: _Statement
) -> None:
    if label.text in nodes:
        raise statement.refusal(
            label,
            f"uses {label.text!r} as a label before '*', and as a node: interactions are not part "
            "of a linear Gaussian network, so write '+' between two parents, or rename the label",
        )
    if label.text in found.edges:
        raise statement.refusal(
            label,
            f"gives the label {label.text!r} to a second edge, which would ask for equal "
            "coefficients: give each edge a label of its own",
        )


def _add_definition(found: Labels, statement: _Statement, known: set[str]) -> None:
    name, *rest = statement.tokens
    if name.kind != "name" or len(rest) < 2:
        raise statement.refusal(name, "defines nothing: write it like 'ind := a*b'")
    if name.text in found.definitions or name.text in found.edges:
        raise statement.refusal(name, f"names {name.text!r} a second time: give it another name")
    for token in rest[1:]:
        words = {*known, *found.edges, *found.definitions, *FUNCTIONS}
        if token.kind == "quoted" or (token.text[0].isalpha() and token.text not in words):
            raise statement.refusal(
                token,
                f"uses {token.text!r}, which is neither a label nor a quantity defined before: "
                f"give an edge that label, as in 'y ~ {token.text}*x'",
            )
    last = rest[-1]
    expression = statement.model[rest[1].start : last.start + len(last.text)]
    found.definitions[name.text] = expression


def model_string(families: Iterable[tuple[str, tuple[str, ...]]]) -> str:
    """The bnlearn model string of (node, parents) pairs, in the order given."""
    return "".join(
        f"[{_plain(child)}|{':'.join(map(_plain, parents))}]" if parents else f"[{_plain(child)}]"
        for child, parents in families
    )


def formulas(
    families: Iterable[tuple[str, tuple[str, ...]]], covariances: Iterable[tuple[str, str]] = ()
) -> str:
    """Formulas of (node, parents) pairs, one line per node, a name alone if it has no parents.

    Covariances stand last, one a line.

    `parse_model` gives back the same nodes in the same order: a node that comes before one of
    its parents stands alone in its place, and its formula follows at the end.

    Examples
    --------
    >>> print(formulas([("wet", ("heavy rain",)), ("heavy rain", ()), ("mud", ("wet",))]))
    wet
    "heavy rain"
    mud ~ wet
    wet ~ "heavy rain"
    """
    lines: list[str] = []
    late: list[str] = []
    seen: set[str] = set()
    for child, parents in families:
        name = _quoted(child)
        formula = f"{name} ~ {' + '.join(map(_quoted, parents))}" if parents else name
        if seen.issuperset(parents):
            lines.append(formula)
        else:
            lines.append(name)
            late.append(formula)
        seen.add(child)
    pairs = [f"{_quoted(one)} ~~ {_quoted(other)}" for one, other in covariances]
    return "\n".join(lines + late + pairs)


def _brackets(model: str) -> list[tuple[str, list[str]]]:
    families: list[tuple[str, list[str]]] = []
    position = 0
    while position < len(model):
        match = _BRACKET.match(model, position)
        if match is None:
            raise GraphError(
                f"the model string goes on with {_shorten(model[position:].strip())!r}, expected "
                "a node in brackets such as '[a]' or '[a|b:c]'"
            )
        families.append(_family(match.group(1)))
        position = match.end()
    known = {child for child, _ in families}
    for child, parents in families:
        for parent in parents:
            if parent not in known:
                raise GraphError(
                    f"the parent {parent!r} of {child!r} has no bracket of its own in the model "
                    f"string: add '[{parent}]'"
                )
    return families


def _family(inside: str) -> tuple[str, list[str]]:
    own, *given = inside.split("|")
    names = [own, *given[0].split(":")] if given else [own]
    child, *parents = [name.strip() for name in names]
    if len(given) > 1 or ":" in child or not all((child, *parents)):
        raise GraphError(
            f"got the bracket {_shorten(f'[{inside}]')!r} in the model string, expected '[node]' "
            "or '[node|parent:parent]' with no empty name"
        )
    return child, parents


def _statements(model: str) -> Iterator[_Statement]:
    tokens: list[_Token] = []
    for match in _TOKEN.finditer(model):
        kind = match.lastgroup or ""
        if kind == "end" and tokens:
            yield _Statement(tokens, model)
            tokens = []
        elif kind not in ("end", "blank"):
            tokens.append(_Token(kind, match.group(), match.start()))
    if tokens:
        yield _Statement(tokens, model)


def _regression(statement: _Statement) -> tuple[str, list[str]]:
    """The child and the parents of ``name ~ name + name + ...``; names and signs take turns."""
    statement = statement.unlabelled
    tokens = statement.tokens
    without = _without_intercept(tokens)
    if without is not None:
        raise statement.refusal(
            without,
            "asks for an equation without intercept, and here all equations have one or none: "
            "leave this term out, and give intercept=False to fit all without intercepts",
        )
    for index, token in enumerate(tokens):
        expected = "a name" if index % 2 == 0 else "'~'" if index == 1 else "'+'"
        complaint = _complaint(token, expected)
        if complaint:
            raise statement.refusal(token, complaint)
    if tokens[-1].kind == "sign":
        raise statement.refusal(
            tokens[-1], "stops short: name a parent, or write '1' for a node without parents"
        )
    child, *terms = tokens[::2]
    if _is_constant(child):
        raise statement.refusal(
            child, f"takes the constant {child.text} for a node: quote it if it is a name"
        )
    parents = [_name(term, statement) for term in terms if not _is_constant(term)]
    return _name(child, statement), parents


def _without_intercept(tokens: list[_Token]) -> _Token | None:
    """The term that asks for no intercept, as in ``y ~ 0 + x`` and ``y ~ x - 1``; None if none."""
    if len(tokens) < 2 or tokens[1].text != "~":
        return None
    signs = {"0": ("~", "+"), "1": ("-",)}
    for before, token, after in zip(tokens, tokens[1:], (*tokens[2:], None), strict=False):
        is_factor = after is not None and after.text == "*"  # a coefficient that is fixed
        if token.kind == "name" and before.text in signs.get(token.text, ()) and not is_factor:
            return token
    return None


def _covariance(statement: _Statement) -> tuple[str, list[str]]:
    """The node and the others of ``name ~~ name + name + ...``."""
    tokens = statement.tokens
    stars = [token for token in tokens if token.text == "*"]
    if stars:
        raise statement.refusal(
            stars[0],
            "fixes or labels a covariance: those between nodes without parents are free if they "
            "are written, as in 'a ~~ b', and 0 if not",
        )
    for index, token in enumerate(tokens):
        expected = "a name" if index % 2 == 0 else "'~~'" if index == 1 else "'+'"
        found = repr(token.text) if token.kind == "sign" else "a name"
        if found != expected or _is_constant(token):
            raise statement.refusal(
                token, f"has {token.text!r} where {expected} is expected: write it like 'a ~~ b'"
            )
    if len(tokens) % 2 == 0:
        raise statement.refusal(tokens[-1], "stops short: name a second node, as in 'a ~~ b'")
    own, *others = (_name(token, statement) for token in tokens[::2])
    return own, others


def _complaint(token: _Token, expected: str) -> str:
    """What is wrong with a token in a place where `expected` should stand; "" if nothing."""
    if token.kind == "sign" and token.text in '"`':
        return f"has a {token.text} without its partner: close the quote"
    if token.kind == "sign" and token.text not in "~+":
        meaning = _MEANINGS.get(token.text, "has no meaning here")
        advice = _ON_COLUMNS if token.text in "(^:/" else "write plain terms as in 'y ~ a + b'"
        return (
            f"uses {token.text!r}, which {meaning}: {advice}; "
            'a name that holds the sign stands between " or `'
        )
    found = repr(token.text) if token.kind == "sign" else "a name"
    if found == expected:
        return ""
    return (
        f"has {token.text!r} where {expected} is expected: write it like 'y ~ a + b', "
        'and put a name that holds blanks or signs between " or `'
    )


def _is_constant(token: _Token) -> bool:
    return token.kind == "name" and token.text in _CONSTANTS


def _name(token: _Token, statement: _Statement) -> str:
    if token.kind == "quoted":
        quote = token.text[0]
        name = token.text[1:-1].replace(quote * 2, quote)
        if not name:
            raise statement.refusal(token, "has an empty name: write the name between the quotes")
        return name
    if _DECIMAL.fullmatch(token.text):
        raise statement.refusal(
            token, f"has the term {token.text!r}: name each parent, and quote it if it is a name"
        )
    return token.text


def _plain(name: str) -> str:
    if not name or name != name.strip() or any(sign in name for sign in "[]|:"):
        raise GraphError(
            f"bnlearn's format cannot hold the node name {name!r}: rename the node (no '[', ']', "
            "'|', ':' and no blank at either end) or write formulas instead"
        )
    return name


def _quoted(name: str) -> str:
    if not name:
        raise GraphError("got an empty node name, expected a non-empty string: rename the node")
    bare = re.fullmatch(_BARE, name) and not _DECIMAL.fullmatch(name) and name not in _CONSTANTS
    return name if bare else '"' + name.replace('"', '""') + '"'


def _shorten(words: str, limit: int = 40) -> str:
    return words if len(words) <= limit else words[:limit] + "..."
