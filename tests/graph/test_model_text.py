"""Graphs as text: model strings, formulas and DOT, read and written."""

import re

import pytest
from hypothesis import assume, example, given, strategies as st

from gaussnet.errors import CycleError, GaussnetError, GraphError
from gaussnet.graph import Dag
from gaussnet.graph.formats.dot import to_dot
from gaussnet.graph.formats.text import formulas, model_string, parse_model

SIGNS = "[]|:~+;#\"`*()-=.,0123ab \t\n\r\\'/^<>é雨_\x1c\u2028"
HOSTILE = st.text(alphabet=SIGNS, min_size=1, max_size=5) | st.text(min_size=1, max_size=5)


@st.composite
def dags(draw: st.DrawFn, names: st.SearchStrategy[str]) -> Dag:
    """A DAG of at least one node, in a node order unrelated to its edges."""
    labels = draw(st.lists(names, unique=True, min_size=1, max_size=6))
    pairs = [(parent, child) for i, child in enumerate(labels) for parent in labels[:i]]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return Dag.from_edges(edges, nodes=draw(st.permutations(labels)))


def fits_a_model_string(name: str) -> bool:
    return name == name.strip() and not set(name) & set("[]|:")


# Model strings


def test_a_model_string_lists_each_node_with_its_parents():
    assert parse_model("[rain][sprinkler][wet|rain:sprinkler]") == (
        ("rain", "sprinkler", "wet"),
        [("rain", "wet"), ("sprinkler", "wet")],
    )


def test_blanks_around_brackets_and_names_do_not_count():
    spaced = "\n [ heavy rain ]\t[sprinkler]\r\n\n[ wet | heavy rain :sprinkler ]\n"
    assert parse_model(spaced) == parse_model("[heavy rain][sprinkler][wet|heavy rain:sprinkler]")


def test_nodes_stand_in_the_order_of_their_brackets():
    assert parse_model("[wet|b:a][a][b]") == (("wet", "a", "b"), [("b", "wet"), ("a", "wet")])


@pytest.mark.parametrize("name", ["265768", "0", "größe", "雨 水", "a~b+c", '"q"', "x#1", "a\nb"])
def test_a_model_string_holds_names_as_they_are(name):
    assert parse_model(f"[{name}][y|{name}]") == ((name, "y"), [(name, "y")])


def test_a_parent_without_bracket_is_refused_with_the_bracket_to_add():
    with pytest.raises(GraphError, match=r"the parent 'rain' of 'wet' .*: add '\[rain\]'"):
        parse_model("[wet|rain]")


@pytest.mark.parametrize("text", ["[]", "[ ]", "[a][|a]", "[a|]", "[a][b|a:]", "[a][b|:a]"])
def test_an_empty_name_in_a_bracket_is_refused(text):
    with pytest.raises(GraphError, match="with no empty name"):
        parse_model(text)


@pytest.mark.parametrize("text", ["[a][b|a|a]", "[a][b:a]", "[a][c:b|a]"])
def test_a_bracket_with_misplaced_signs_is_refused_by_its_text(text):
    with pytest.raises(GraphError, match=re.escape(text.removeprefix("[a]"))):
        parse_model(text)


@pytest.mark.parametrize(
    ("text", "rest"),
    [("[a] b", "b"), ("[a][b", "[b"), ("[a]]", "]"), ("[a][b[c]]", "[b[c]]"), ("[a],[b]", ",[b]")],
)
def test_text_outside_brackets_is_refused_by_name(text, rest):
    with pytest.raises(GraphError, match=re.escape(f"goes on with {rest!r}")):
        parse_model(text)


def test_a_node_with_two_brackets_is_refused():
    with pytest.raises(GraphError, match="the node 'a' is listed twice"):
        Dag.parse("[a][b][a|b]")


def test_a_parent_listed_twice_is_refused():
    with pytest.raises(GraphError, match="the edge 'a' -> 'b' is listed twice"):
        Dag.parse("[a][b|a:a]")


def test_a_cycle_in_a_model_string_is_named():
    with pytest.raises(CycleError, match=r"'a'.*'b'"):
        Dag.parse("[a|b][b|a]")


@pytest.mark.parametrize("sign", list("[]|:"))
def test_a_name_with_a_sign_of_the_format_is_not_written(sign):
    name = f"a{sign}b"
    message = re.escape(f"bnlearn's format cannot hold the node name {name!r}")
    with pytest.raises(GraphError, match=message):
        Dag.from_edges([(name, "y")]).to_model_string()
    with pytest.raises(GraphError, match=message):
        model_string([("y", (name,))])


@pytest.mark.parametrize("name", [" a", "a\n", "\u2003a", ""])
def test_a_name_that_would_come_back_changed_is_not_written(name):
    with pytest.raises(GraphError, match="bnlearn's format cannot hold"):
        model_string([(name, ())])


def test_a_model_string_is_written_in_topological_order():
    dag = Dag.from_edges([("b", "a"), ("c", "a")], nodes=["a", "c", "b", "alone"])
    assert dag.to_model_string() == "[c][b][a|c:b][alone]"


@given(dags(HOSTILE))
def test_model_strings_come_back_whenever_they_can_be_written(dag):
    if all(map(fits_a_model_string, dag)):
        back = Dag.parse(dag.to_model_string())
        assert back.nodes == tuple(dag.nodes[i] for i in dag.order)
        assert set(back.edges) == set(dag.edges)
    else:
        with pytest.raises(GraphError, match="bnlearn's format cannot hold"):
            dag.to_model_string()


@given(dags(HOSTILE.filter(fits_a_model_string)))
def test_model_strings_come_back(dag):
    back = Dag.parse(dag.to_model_string())
    assert Dag.from_edges(back.edges, nodes=dag.nodes) == dag


# Formulas


@pytest.mark.parametrize(
    ("text", "nodes", "edges"),
    [
        ("y ~ a + b", "yab", ["ay", "by"]),
        ("y~a+b", "yab", ["ay", "by"]),
        ("  y\t~ a  ", "ya", ["ay"]),
        ("y ~ a; z ~ y", "yaz", ["ay", "yz"]),
        ("y ~ a\nz ~ y", "yaz", ["ay", "yz"]),
        ("y ~ a\r\nz ~ y\r", "yaz", ["ay", "yz"]),
        (";;y ~ a;\n\n;", "ya", ["ay"]),
        ("y ~ a # + b; z ~ y\n# all\nc", "yac", ["ay"]),
        ("y ~ a\ny ~ b", "yab", ["ay", "by"]),
        ("a\ny ~ b + a", "ayb", ["by", "ay"]),
        ("y", "y", []),
        ("y; y; y", "y", []),
        ("y ~ 1", "y", []),
        ("y ~ 1 + a", "ya", ["ay"]),
        ("y ~ a + 1 + b", "yab", ["ay", "by"]),
        ('y ~ "1" + `0`', "y10", ["1y", "0y"]),
        ('"1" ~ a', "1a", ["a1"]),
        ('`y` ~ "a"', "ya", ["ay"]),
    ],
)
def test_formulas_say_who_explains_whom(text, nodes, edges):
    assert parse_model(text) == (tuple(nodes), [tuple(edge) for edge in edges])


@pytest.mark.parametrize(
    "name", ["265768", "00", "01", "a.b", "_x", "größe", "雨", "हिन्दी", "x1.5", "..", "1e5", "👩‍🔬"]
)
def test_names_of_letters_digits_dots_and_underscores_stand_bare(name):
    assert parse_model(f"y ~ {name}\n{name} ~ z")[0] == ("y", name, "z")
    assert formulas([("y", ()), (name, ("y",))]) == f"y\n{name} ~ y"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('"heavy rain"', "heavy rain"),
        ("`heavy rain`", "heavy rain"),
        ('"a ~ b + c # d; e"', "a ~ b + c # d; e"),
        ('"5"" pipe"', '5" pipe'),
        ('`5" pipe`', '5" pipe'),
        ("`a``b`", "a`b"),
        ('"a`b"', "a`b"),
        ('""""', '"'),
        ('"a\\"', "a\\"),
        ('" a "', " a "),
        ('"a\nb"', "a\nb"),
        ('"[a]"', "[a]"),
    ],
)
def test_between_quotes_a_name_stands_for_itself_and_a_quote_is_doubled(text, name):
    assert parse_model(f"{text} ~ x") == ((name, "x"), [("x", name)])


@pytest.mark.parametrize(
    ("text", "sign", "meaning"),
    [
        ("y ~ a:b", ":", "interaction"),
        ("y ~ `a`*b", "*", "interaction"),
        ("y ~ 0.5*a", "*", "coefficient"),
        ("y ~ log(a)", "(", "function"),
        ("y ~ I(a + b)", "(", "function"),
        ("log(y) ~ a", "(", "function"),
        ("y ~ (a + b)", "(", "function"),
        ("y ~ a ~~ b", "~~", "covariance"),
        ("f =~ a + b", "=~", "latent"),
        ("y | a", "|", "thresholds"),
        ("y ~ a | g", "|", "groups"),
        ("y ~ a - b", "-", "removes a term"),
        ("y ~ -a", "-", "removes a term"),
        ("y <- a", "<-", "is an arrow"),
        ("a -> y", "->", "is an arrow"),
        ("y = a", "=", "no meaning"),
        ("y ~ a^2", "^", "power"),
        ("y ~ a/b", "/", "divides"),
        ("y ~ a, b", ",", "no meaning"),
        ("y ~ 'a'", "'", "no meaning"),
        ("y ~ a [b]", "[", "no meaning"),
        ("y ~ a %in% b", "%", "no meaning"),
    ],
)
def test_other_terms_are_refused_with_their_text_sign_and_line(text, sign, meaning):
    with pytest.raises(GraphError) as caught:
        parse_model(f"# first\nx\n{text}\nz")
    message = str(caught.value)
    assert message.startswith(f"line 3 of the formulas, {text!r}, uses {sign!r}, which ")
    assert meaning in message
    assert "\n" not in message
    # What is computed from columns is to be a column itself.
    assert ("add a column" in message) == (sign in "(^:/")


@pytest.mark.parametrize("text", ["y ~ 0*x", "y ~ z + 0*x", "y ~ 1*x"])
def test_a_coefficient_that_is_fixed_is_no_missing_intercept(text):
    with pytest.raises(GraphError, match="fixes") as caught:
        parse_model(text)
    assert "intercept" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["y ~ 0", "y ~ 0 + a", "y ~ a + 0", "y ~ a - 1", "y ~ -1 + a", "y ~ b*a + 0", "y ~ 1 - 1"],
)
def test_an_equation_without_intercept_is_refused_with_the_setting_for_it(text):
    with pytest.raises(GraphError) as caught:
        parse_model(f"x ~ 1\n{text}\nz")
    assert str(caught.value) == (
        f"line 2 of the formulas, {text!r}, asks for an equation without intercept, and here all "
        "equations have one or none: leave this term out, and give intercept=False to fit all "
        "without intercepts"
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("heavy rain", "has 'rain' where '~' is expected"),
        ("y ~ heavy rain", "has 'rain' where '+' is expected"),
        ('y ~ "a"b', "has 'b' where '+' is expected"),
        ("y ~ a ~ b", "has '~' where '+' is expected"),
        ("a + b", "has '+' where '~' is expected"),
        ("~ a", "has '~' where a name is expected"),
        ("y ~ + a", "has '+' where a name is expected"),
        ("y ~ a ++ b", "has '+' where a name is expected"),
        ("y ~", "stops short"),
        ("y ~ a +", "stops short"),
        ("1 ~ a", "takes the constant 1 for a node"),
        ("0", "takes the constant 0 for a node"),
        ("y ~ .", "has the term '.'"),
        ("y ~ 0.5", "has the term '0.5'"),
        ("1. ~ a", "has the term '1.'"),
        ('y ~ ""', "has an empty name"),
        ("y ~ ``", "has an empty name"),
        ('y ~ "a', 'has a " without its partner'),
        ("y ~ `a", "has a ` without its partner"),
        ('y ~ "a""', 'has a " without its partner'),
    ],
)
def test_a_line_that_is_no_regression_is_refused_with_the_place(text, complaint):
    with pytest.raises(GraphError) as caught:
        parse_model(f"x ~ z;\r\n\r\n{text}")
    message = str(caught.value)
    assert message.startswith(f"line 3 of the formulas, {text!r}, ")
    assert complaint in message


def test_a_long_line_is_quoted_around_the_offence():
    terms = [f"x{i}" for i in range(500)]
    terms[300] = "bad:term"
    with pytest.raises(GraphError, match=r"'\.\.\..*bad:term.*\.\.\.', uses ':'") as caught:
        parse_model("y ~ " + " + ".join(terms))
    whole_model = len(" + ".join(terms))
    assert len(str(caught.value)) < whole_model / 5


@pytest.mark.parametrize("text", ["", "   ", "\n\t\r\n", "# nothing", ";;", "#a\n;# b"])
def test_a_text_without_nodes_is_refused_with_an_example(text):
    with pytest.raises(GraphError, match=r"names no node: give a model string such as '\[a\]"):
        parse_model(text)


@pytest.mark.parametrize("thing", [None, 3, b"[a]", ["y ~ a"]])
def test_a_model_is_a_string(thing):
    with pytest.raises(GraphError, match=f"of type {type(thing).__name__}, expected a string"):
        parse_model(thing)  # type: ignore[arg-type]


def test_a_term_listed_twice_is_refused_even_over_two_lines():
    with pytest.raises(GraphError, match="the edge 'a' -> 'y' is listed twice"):
        Dag.parse("y ~ a\ny ~ b + a")


def test_a_node_that_explains_itself_is_a_cycle():
    with pytest.raises(CycleError, match="'y' -> 'y'"):
        Dag.parse("y ~ y")


def test_formulas_of_an_ordered_graph_are_one_line_for_each_node():
    dag = Dag.parse("[a][b|a][alone][y|a:b]")
    assert dag.to_formulas() == "a\nb ~ a\nalone\ny ~ a + b"


def test_a_node_before_its_parents_keeps_its_place():
    dag = Dag.from_edges([("b", "y")], nodes=["y", "a", "b"])
    assert dag.to_formulas() == "y\na\nb\ny ~ b"
    assert Dag.parse(dag.to_formulas()) == dag


def test_names_are_quoted_only_when_needed():
    assert formulas([("0", ()), ("2", ()), ("a b", ("0", "2")), ("1.5", ()), ('"', ())]) == (
        '"0"\n2\n"a b" ~ "0" + 2\n"1.5"\n""""'
    )


def test_an_empty_name_is_not_written():
    with pytest.raises(GraphError, match="empty node name"):
        formulas([("", ())])


@given(dags(HOSTILE))
@example(Dag.from_edges([("1", "0"), ("0", ".")], nodes=[".", "0", "1"]))
@example(Dag.from_edges([("\r\n", '""'), ('""', "`")], nodes=["`", '""', "\r\n"]))
def test_formulas_come_back_for_any_names_and_any_order(dag):
    assert Dag.parse(dag.to_formulas()) == dag


@given(dags(HOSTILE.filter(lambda name: "\n" not in name and "\r" not in name)))
def test_formulas_survive_comments_blank_lines_and_windows_line_ends(dag):
    dressed = "# head\r\n\r\n" + dag.to_formulas().replace("\n", " # why\r\n\t") + "\r\n;"
    assert Dag.parse(dressed) == dag


# Any text


def graph_of(text: str) -> Dag | None:
    """The graph, or None if the text is refused; any other exception passes through."""
    try:
        return Dag.parse(text)
    except GaussnetError:
        return None


@given(st.text(alphabet=SIGNS, max_size=30) | st.text(max_size=30))
@example("[" * 1000)
@example('"' * 999)
@example("~" * 1000)
def test_any_text_is_a_graph_or_a_graph_error(text):
    dag = graph_of(text)
    assert dag is None or Dag.parse(dag.to_formulas()) == dag


@given(st.lists(st.sampled_from('[]|:~+;\n#"`ab017 '), max_size=14))
def test_any_string_of_tokens_is_a_graph_or_a_graph_error(tokens):
    dag = graph_of("".join(tokens))
    assert dag is None or dag.nodes


# Graphviz


def read_dot(text: str) -> tuple[list[str], list[tuple[str, str]]]:
    """The plain reading of our DOT: one statement a line, a backslash before what it escapes."""
    head, *statements, tail = text.split("\n")[:-1]
    assert (head, tail) == ("digraph {", "}")
    letters = {"n": "\n"}
    nodes, edges = [], []
    for statement in statements:
        pattern = r'"((?:[^"\\]|\\.)+)"'
        names = tuple(
            re.sub(r"\\(.)", lambda m: letters.get(m[1], m[1]), name)
            for name in re.findall(pattern, statement)
        )
        assert re.fullmatch(rf"  {pattern}( -> {pattern})?;", statement, re.DOTALL)
        if len(names) == 1:
            nodes.append(names[0])
        else:
            edges.append(names)
    return nodes, edges


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("rain", '"rain"'),
        ("265768", '"265768"'),
        ("node", '"node"'),
        ("größe 雨", '"größe 雨"'),
        ('a"b', r'"a\"b"'),
        ("a\\", r'"a\\"'),
        ("a\\n", r'"a\\n"'),
        ("a\nb", r'"a\nb"'),
        ("a:n", '"a:n"'),
        ("<b>", '"<b>"'),
    ],
)
def test_names_in_dot_are_quoted_and_escaped(name, written):
    assert to_dot([name], []) == f"digraph {{\n  {written};\n}}\n"


def test_dot_lists_isolated_nodes_and_edges():
    dag = Dag.from_edges([("a", "b")], nodes=["alone", "b", "a"])
    assert dag.to_dot() == 'digraph {\n  "alone";\n  "b";\n  "a";\n  "a" -> "b";\n}\n'


def test_an_empty_graph_is_an_empty_digraph():
    assert Dag.from_edges([]).to_dot() == "digraph {\n}\n"


@given(dags(HOSTILE))
def test_dot_tells_all_names_apart(dag):
    nodes, edges = read_dot(dag.to_dot())
    assert tuple(nodes) == dag.nodes
    assert tuple(edges) == dag.edges


def test_networks_with_numbers_for_names_pass_through_every_format():
    dag = Dag.from_edges([(265768, 245094), (245094, 1), (265768, 1)], nodes=[265768, 245094, 1, 0])
    assert Dag.parse(dag.to_model_string()) == dag
    assert Dag.parse(dag.to_formulas()) == dag
    assert read_dot(dag.to_dot()) == (list(dag.nodes), list(dag.edges))


@given(st.text(min_size=1, max_size=4))
def test_a_single_node_is_a_graph_in_every_format_that_holds_its_name(name):
    dag = Dag.from_edges([], nodes=[name])
    assert Dag.parse(dag.to_formulas()) == dag
    assume(fits_a_model_string(name))
    assert Dag.parse(dag.to_model_string()) == dag
