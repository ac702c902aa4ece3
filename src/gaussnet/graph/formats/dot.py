"""The DOT language of Graphviz, written and read.

A node is called by its ID, not by its label. Subgraphs count: ``a -> {b c}`` is two edges, and
edges inside subgraphs are edges of the graph. Ports and attributes are passed over, except that
an edge with ``dir`` other than "forward" is refused, for it does not say parent -> child.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from gaussnet.errors import GraphError
from gaussnet.graph.formats import NodesAndEdges

DEEPEST_SUBGRAPH = 100
MOST_EDGES = 2_000_000
"""``{a b ...} -> {c d ...}`` is as many edges as there are pairs: a short text may ask for more
than memory holds."""

_TOKEN = re.compile(
    r"""(?P<blank>[\s\ufeff]+|//[^\n]*|/\*.*?(?:\*/|\Z)|^\#[^\n]*)
    |(?P<arrow>->|--)
    |(?P<quoted>"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z))
    |(?P<number>-(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?))
    |(?P<word>[A-Za-z0-9_.\u0080-\U0010ffff]+)
    |(?P<sign>.)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_NOT_CLOSED = re.compile(r"""/\*(?!.*?\*/)|"(?![^"\\]*(?:\\.[^"\\]*)*")""", re.DOTALL)
_ESCAPE = re.compile(r"\\(\r\n|.)", re.DOTALL)
_ESCAPED = {'"': '"', "\\": "\\", "n": "\n", "\n": "", "\r\n": ""}
_KEYWORDS = ("node", "edge", "graph", "digraph", "subgraph", "strict")


def to_dot(
    nodes: Iterable[str],
    edges: Iterable[tuple[str, str]],
    covariances: Iterable[tuple[str, str]] = (),
) -> str:
    r"""The graph in Graphviz DOT: every node in order, then every edge.

    Covariances are dashed with two heads, for the eye: `parse_dot` refuses them.

    Names stand in double quotes, with a quote, backslash or line break in them written as
    ``\"``, ``\\`` and ``\n``, so that Graphviz draws the name as it is.

    Examples
    --------
    >>> print(to_dot(["rain", "wet"], [("rain", "wet")]), end="")
    digraph {
      "rain";
      "wet";
      "rain" -> "wet";
    }
    """
    lines = [f"  {dot_name(node)};\n" for node in nodes]
    lines += [f"  {dot_name(parent)} -> {dot_name(child)};\n" for parent, child in edges]
    lines += [f"  {dot_name(a)} -> {dot_name(b)} [{COVARIANCE}];\n" for a, b in covariances]
    return "".join(("digraph {\n", *lines, "}\n"))


COVARIANCE = "dir=both, style=dashed"
"""How a covariance is drawn."""


def dot_name(name: str) -> str:
    """The name as a quoted ID of DOT."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def parse_dot(text: str) -> NodesAndEdges:
    """The nodes, in order of appearance, and the (parent, child) edges of a DOT digraph.

    Examples
    --------
    >>> parse_dot('digraph { rain -> {wet "mud"} [color=red]; wind }')
    (('rain', 'wet', 'mud', 'wind'), [('rain', 'wet'), ('rain', 'mud')])
    """
    return _Reader(text).graph()


class _Token(NamedTuple):
    kind: str
    text: str
    start: int


@dataclass
class _Reader:
    """A walk over the tokens of one graph."""

    text: str
    nodes: dict[str, None] = field(default_factory=dict)
    edges: list[tuple[str, str]] = field(default_factory=list)
    index: int = 0
    depth: int = 0

    def __post_init__(self) -> None:
        self.tokens = _tokens(self.text)

    def graph(self) -> NodesAndEdges:
        strict = self._skip_word("strict")
        if not self._skip_word("digraph"):
            if self._is_word("graph"):
                raise self._refusal("an undirected graph", "a digraph with edges 'a -> b'")
            raise self._refusal(self._shown(), "'digraph'")
        if not self._is_sign("{"):
            self._identifier("a name for the graph or '{'")
        self._statements({"dir": "forward"})
        if self._token().kind != "end":
            raise self._refusal(self._shown(), "nothing after the closing '}'")
        edges = list(dict.fromkeys(self.edges)) if strict else self.edges
        return tuple(self.nodes), edges

    def _statements(self, defaults: dict[str, str]) -> dict[str, None]:
        """The nodes between braces."""
        self._expect("{")
        self.depth += 1
        if self.depth > DEEPEST_SUBGRAPH:
            raise self._refusal(f"{self.depth} braces in each other", "fewer subgraphs")
        found: dict[str, None] = {}
        while not self._is_sign("}"):
            found |= self._statement(defaults)
            self._skip_separators()
        self._expect("}")
        self.depth -= 1
        return found

    def _statement(self, defaults: dict[str, str]) -> dict[str, None]:
        for word in ("graph", "node", "edge"):
            if self._skip_word(word):
                own = self._attributes()
                defaults |= own if word == "edge" else {}
                return {}
        if self._is_assignment():
            self.index += 3
            return {}
        return self._edge_statement(defaults)

    def _edge_statement(self, defaults: dict[str, str]) -> dict[str, None]:
        ends = [self._end(defaults)]
        before = len(self.edges)
        while self._token().kind == "arrow":
            if self._token().text == "--":
                raise self._refusal("the undirected edge '--'", "'->' from parent to child")
            self.index += 1
            ends.append(self._end(defaults))
            if len(self.edges) + len(ends[-2]) * len(ends[-1]) > MOST_EDGES:
                raise self._refusal(f"more than {MOST_EDGES} edges", "fewer")
            self.edges += [(parent, child) for parent in ends[-2] for child in ends[-1]]
        start = self.index
        direction = (defaults | self._attributes())["dir"]
        if direction != "forward" and len(self.edges) > before:
            self.index = start - 1
            raise self._refusal(
                f"an edge with dir={direction!r}", "edges that point from parent to child only"
            )
        return {name: None for end in ends for name in end}

    def _end(self, defaults: dict[str, str]) -> dict[str, None]:
        """The nodes at one end of an edge: one node, or those of a subgraph."""
        if self._skip_word("subgraph"):
            if not self._is_sign("{"):
                self._identifier("a name for the subgraph or '{'")
            return self._statements(dict(defaults)) if self._is_sign("{") else {}
        if self._is_sign("{"):
            return self._statements(dict(defaults))
        name = self._identifier("a node, a subgraph or '}'")
        while self._skip_sign(":"):
            self._identifier("a port")
        self.nodes[name] = None
        return {name: None}

    def _attributes(self) -> dict[str, str]:
        found: dict[str, str] = {}
        while self._skip_sign("["):
            while not self._is_sign("]"):
                key = self._identifier("an attribute or ']'")
                if self._skip_sign("="):
                    found[key] = self._identifier("a value")
                self._skip_separators()
            self.index += 1
        return found

    def _identifier(self, expected: str) -> str:
        token = self._token()
        if token.kind == "quoted":
            return self._quoted()
        is_keyword = token.kind == "word" and token.text.lower() in _KEYWORDS
        if token.kind not in ("word", "number", "markup") or is_keyword:
            raise self._refusal(self._shown(), expected)
        self.index += 1
        return token.text

    def _quoted(self) -> str:
        """A quoted string, or several joined by "+"."""
        parts = [_unquoted(self._token().text)]
        self.index += 1
        while self._skip_sign("+"):
            if self._token().kind != "quoted":
                raise self._refusal(self._shown(), "a quoted string after '+'")
            parts.append(_unquoted(self._token().text))
            self.index += 1
        return "".join(parts)

    def _is_assignment(self) -> bool:
        kinds = [token.kind for token in self.tokens[self.index : self.index + 3]]
        values = ("word", "number", "quoted", "markup")
        return (
            len(kinds) == 3
            and self.tokens[self.index + 1].text == "="
            and kinds[0] in values
            and kinds[2] in values
        )

    def _token(self) -> _Token:
        return self.tokens[self.index]

    def _is_sign(self, sign: str) -> bool:
        return self._token().kind == "sign" and self._token().text == sign

    def _is_word(self, word: str) -> bool:
        return self._token().kind == "word" and self._token().text.lower() == word

    def _skip_word(self, word: str) -> bool:
        found = self._is_word(word)
        self.index += found
        return found

    def _skip_sign(self, sign: str) -> bool:
        found = self._is_sign(sign)
        self.index += found
        return found

    def _skip_separators(self) -> None:
        while self._skip_sign(";") or self._skip_sign(","):
            pass

    def _expect(self, sign: str) -> None:
        if not self._skip_sign(sign):
            raise self._refusal(self._shown(), repr(sign))

    def _shown(self) -> str:
        token = self._token()
        return "the end of the text" if token.kind == "end" else f"{token.text[:40]!r}"

    def _refusal(self, found: str, expected: str) -> GraphError:
        line = 1 + self.text.count("\n", 0, self._token().start)
        return GraphError(f"line {line} has {found}, expected {expected}")


def _tokens(text: str) -> list[_Token]:
    """All tokens but blanks and comments, and one at the end."""
    tokens = []
    index = 0
    while index < len(text):
        match = _TOKEN.match(text, index)
        kind = match.lastgroup if match else None
        if match is None or kind is None:  # every character matches `sign`
            break
        start, index = index, match.end()
        if index == len(text):
            _require_closed(text, start)
        if kind == "sign" and match.group() == "<":
            kind, index = "markup", _markup_end(text, start)
        if kind != "blank":
            tokens.append(_Token(kind, text[start:index], start))
    return [*tokens, _Token("end", "", len(text))]


def _require_closed(text: str, start: int) -> None:
    """Refuse a comment or a quoted name that runs to the end of the text without its own end."""
    found = _NOT_CLOSED.match(text, start)
    if found:
        line = 1 + text.count("\n", 0, start)
        end = "'*/'" if found.group() == "/*" else "a quote"
        raise GraphError(
            f"line {line} has {found.group()!r} that is not closed, expected {end} to match"
        )


def _markup_end(text: str, start: int) -> int:
    """Where the brackets that open here are closed."""
    depth = 0
    for match in re.compile("[<>]").finditer(text, start):
        depth += 1 if match.group() == "<" else -1
        if depth == 0:
            return match.end()
    line = 1 + text.count("\n", 0, start)
    raise GraphError(f"line {line} has '<' that is not closed, expected '>' to match")


def _unquoted(quoted: str) -> str:
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[0]), quoted[1:-1])
