"""Bad inputs and the one sentence that each gives.

Every entry is (command, files, sentence): the files are put into an empty folder, the command
runs there, and standard error holds just this sentence.
"""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet

GRAPH = "y ~ x\n"
ROWS = "x,y\n1,2\n2,3.5\n3,7\n4,7.5\n"
NETWORK = (
    '{"format": "gaussnet-network", "version": 1, "nodes": ['
    '{"name": "x", "intercept": 0, "variance": 1, "parents": {}}]}'
)
FIT = "fit rows.csv --dag graph.txt --out model.json"
DATA_ENDINGS = ".csv, .tsv, .csv.gz, .tsv.gz, .parquet, .arrow, .feather, .npy"
GRAPH_ENDINGS = ".dot, .gv, .gml, .graphml, .json, .csv, .txt, .rds"


def parquet(columns):
    stream = io.BytesIO()
    pyarrow.parquet.write_table(pa.table(columns), stream)
    return stream.getvalue()


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


WHOLE_PARQUET = parquet({"x": [1.0, 2.0, 4.0], "y": [1.0, 3.0, 2.0]})


def rows(text):
    return {"rows.csv": text, "graph.txt": GRAPH}


def graph(name, content):
    return {"rows.csv": ROWS, name: content}


def fit_with(name):
    return f"fit rows.csv --dag {name} --out model.json"


def network(content):
    return {"net.json": content}


SAMPLE = "sample net.json --rows 5 --out out.csv"

BAD_DATA = [
    (
        FIT,
        {"graph.txt": GRAPH},
        "cannot read 'rows.csv': no such file or directory",
    ),
    (FIT, rows(""), "'rows.csv' is empty: expected a first line that names the columns"),
    (FIT, rows("\n\n"), "'rows.csv' is empty: expected a first line that names the columns"),
    (FIT, rows("x,y\n"), "the data have no rows: give at least one"),
    (
        FIT,
        rows("x,y\n1,2\n"),
        "the 1 rows do not determine the 1 coefficients of 'y' (rank 0): give more rows, drop "
        "parents that are constant or collinear, or give --allow-singular for the solution of "
        "least norm",
    ),
    (
        FIT,
        {"rows.csv": "a,b,c,y\n1,2,4,8\n3,1,1,5\n", "graph.txt": "y ~ a + b + c"},
        "the 2 rows do not determine the 3 coefficients of 'y' (rank 1): give more rows, drop "
        "parents that are constant or collinear, or give --allow-singular for the solution of "
        "least norm",
    ),
    (
        FIT,
        rows("x,y\n5,1\n5,2\n5,4\n"),
        "the 3 rows do not determine the 1 coefficients of 'y' (rank 0): give more rows, drop "
        "parents that are constant or collinear, or give --allow-singular for the solution of "
        "least norm",
    ),
    (
        FIT,
        {"rows.csv": "a,b,y\n1,2,1\n2,4,2\n3,6,7\n5,10,1\n", "graph.txt": "y ~ a + b"},
        "the 4 rows do not determine the 2 coefficients of 'y' (rank 1): give more rows, drop "
        "parents that are constant or collinear, or give --allow-singular for the solution of "
        "least norm",
    ),
    (
        FIT,
        rows("x,y\n1,5\n2,5\n4,5\n"),
        "the node 'y' is left without noise, because its column is constant, its parents "
        "determine it or the rows are too few: leave it out of the graph, or give "
        "--allow-singular",
    ),
    (
        FIT,
        rows("x,y\n1,2\nNaN,3\n3,4\n"),
        "1 value is missing, the first in row 1 of column 'x', counted from 0: give "
        "--missing 'likelihood' (from every cell that is there), 'drop-by-node' or "
        "'drop-rows', or fill them",
    ),
    (
        FIT,
        rows("x,y\n1,2\n2,\n3,4\n"),
        "1 value is missing, the first in row 1 of column 'y', counted from 0: give "
        "--missing 'likelihood' (from every cell that is there), 'drop-by-node' or "
        "'drop-rows', or fill them",
    ),
    (
        FIT + " --missing-values NA",
        rows("x,y\n1,2\n2,3\n3,5\n"),
        "got --missing-values 'NA', expected numbers with commas between, such as -999,-99",
    ),
    (
        FIT + " --missing drop-rows",
        rows("x,y\n1,\n,3\n"),
        "each of the 2 rows has a missing value: give --missing 'likelihood' or 'drop-by-node'",
    ),
    (
        FIT + " --missing drop-rows",
        rows("x,y\n1,\n2,\n"),
        "the column 'y' has no value at all: leave the node out of the graph",
    ),
    (
        FIT,
        rows("x,y\n1,2\n2,inf\n"),
        "1 value is infinite, the first in row 1 of column 'y', counted from 0: mend them, or set "
        "them to NaN and say what to do with missing",
    ),
    (
        FIT,
        rows("x,y\n1,2\n1e999,3\n"),
        "1 value is infinite, the first in row 1 of column 'x', counted from 0: mend them, or set "
        "them to NaN and say what to do with missing",
    ),
    (
        FIT,
        rows("x,y\n1,2\n2,wet\n"),
        "the column 'y' has 'wet' in line 3 of 'rows.csv', expected a number: mend it, or leave "
        "it empty if it is missing",
    ),
    (
        FIT,
        rows('x,y\n1,2\n"1,5",3\n'),
        "the column 'x' has '1,5' in line 3 of 'rows.csv', expected a number: mend it, or leave "
        "it empty if it is missing",
    ),
    (
        FIT,
        rows("x,y\n1,2020-01-01\n"),
        "the column 'y' has '2020-01-01' in line 2 of 'rows.csv', expected a number: mend it, "
        "or leave it empty if it is missing",
    ),
    (
        FIT,
        rows(b"x,y\xe9\n1,2\n"),
        "'rows.csv' is not UTF-8 text (byte 0xe9 at offset 3): save it as UTF-8",
    ),
    (
        FIT,
        rows("x,y\n1,2\n".encode("utf-16")),
        "'rows.csv' is not UTF-8 text but UTF-16: save it as UTF-8",
    ),
    (
        FIT,
        rows("x,z\n1,2\n"),
        "'rows.csv' has no column for 1 node ('y'), only 'z', 'x': rename the columns or "
        "leave these nodes out of the graph",
    ),
    (
        "fit rows.csv --dag graph.txt",
        {"rows.csv": "e\u0301,y\n1,2\n", "graph.txt": "y ~ \u00e9"},
        "'rows.csv' has no column for 1 node ('\u00e9'), only 'e\u0301', 'y': rename the "
        "columns or leave these nodes out of the graph (some only look the same: an accent may be "
        "part of its letter or follow it)",
    ),
    (
        FIT,
        rows(" x,x ,y\n1,2,3\n"),
        "'rows.csv' has 2 columns 'x' with blanks around it: rename or drop them",
    ),
    (FIT, rows("x,y,x\n1,2,3\n"), "'rows.csv' has 2 columns 'x': rename or drop them"),
    (
        FIT,
        rows("x,y\n1,2\n3\n"),
        "line 3 of 'rows.csv' has 1 cells, expected 2 as in the first line",
    ),
    (
        FIT,
        rows('x,y\n1,"2\n'),
        "line 2 of 'rows.csv' has a quote that is not closed, or a cell that is too long: mend "
        "the line",
    ),
    (
        FIT,
        rows("1,2\n3,4\n"),
        "the first line of 'rows.csv' holds numbers, expected the names of the columns",
    ),
    (
        FIT,
        rows("x;y\n1;2\n"),
        "the first line of 'rows.csv' has one column 'x;y': separate the columns by ',', not by "
        "';', or give --sep ';'",
    ),
    (
        "fit rows.parquet --dag graph.txt",
        {"rows.parquet": WHOLE_PARQUET[:-20], "graph.txt": GRAPH},
        "'rows.parquet' is not a whole Parquet file: write it again",
    ),
    (
        "fit rows.parquet --dag graph.txt",
        {"rows.parquet": b"", "graph.txt": GRAPH},
        "'rows.parquet' is not a whole Parquet file: write it again",
    ),
    (
        "fit rows.parquet --dag graph.txt",
        {"rows.parquet": parquet({"x": ["a"], "y": [1.0]}), "graph.txt": GRAPH},
        "the data have 1 row, and the category 'x' needs rows of 2 levels at least: give more rows",
    ),
    (
        "fit rows.parquet --dag graph.txt",
        {"rows.parquet": WHOLE_PARQUET, "graph.txt": "z ~ y"},
        "'rows.parquet' has no column for 1 node ('z'), only 'x', 'y': rename the columns "
        "or leave these nodes out of the graph",
    ),
    (
        "fit rows.arrow --dag graph.txt",
        {"rows.arrow": b"ARROW1\x00\x00", "graph.txt": GRAPH},
        "'rows.arrow' is not a whole Arrow file: write it again",
    ),
    (
        "fit rows.npy --dag graph.txt",
        {"rows.npy": npy(np.zeros((3, 3))), "graph.txt": GRAPH},
        "the columns have no names, and 'y', 'x' is only the order in which the graph happens to "
        "name its nodes: give a file with named columns, or say which column is which with "
        "--columns, as --columns rain,wet",
    ),
    (
        "fit rows.npy --dag graph.txt",
        {"rows.npy": npy(np.array([[{}, {}]], dtype=object)), "graph.txt": GRAPH},
        "'rows.npy' is not a whole .npy file of numbers: write it again with numpy.save",
    ),
    (
        "fit rows.npy --dag graph.txt",
        {"rows.npy": npy(np.zeros((3, 2)))[:-8], "graph.txt": GRAPH},
        "'rows.npy' is not a whole .npy file of numbers: write it again with numpy.save",
    ),
    (
        "fit rows.xlsx --dag graph.txt",
        {"rows.xlsx": b"", "graph.txt": GRAPH},
        f"cannot tell the format of 'rows.xlsx': expected a name that ends in {DATA_ENDINGS}, or "
        "'-' for CSV from the standard input",
    ),
    (
        "fit . --dag graph.txt",
        {"graph.txt": GRAPH},
        f"the folder '.' has no file of rows: expected names that end in {DATA_ENDINGS}",
    ),
]

BAD_GRAPHS = [
    (
        fit_with("graph.txt"),
        {"rows.csv": ROWS},
        "cannot read 'graph.txt': no such file or directory",
    ),
    (
        fit_with("graph.xyz"),
        graph("graph.xyz", ""),
        f"cannot tell the format of 'graph.xyz': expected a name that ends in {GRAPH_ENDINGS}",
    ),
    (
        fit_with("'wet ~ 0 + rain'"),
        {"rows.csv": ROWS},
        "line 1 of the formulas, 'wet ~ 0 + rain', asks for an equation without intercept, and "
        "here all equations have one or none: leave this term out, and give --no-intercept to fit "
        "all without intercepts",
    ),
    (
        fit_with("graph.txt"),
        graph("graph.txt", ""),
        "the graph in 'graph.txt' does not hold: the model text '' names no node: give a model "
        "string such as '[a][b|a]' or lines such as 'b ~ a'",
    ),
    (
        fit_with("graph.txt"),
        graph("graph.txt", "y ~ x; x ~ y"),
        "the graph in 'graph.txt' does not hold: the graph has the cycle 'x' -> 'y' -> 'x': "
        "remove or turn one of these edges",
    ),
    (
        fit_with("graph.txt"),
        graph("graph.txt", "y ~ x + x"),
        "the graph in 'graph.txt' does not hold: the edge 'x' -> 'y' is listed twice: list it once",
    ),
    (
        fit_with("graph.txt"),
        graph("graph.txt", "y ~ x:z"),
        "the graph in 'graph.txt' does not hold: line 1 of the formulas, 'y ~ x:z', uses ':', "
        "which makes an interaction: add a column with these values to the data and name it, as in "
        "'y ~ log_x'; a name that "
        'holds the sign stands between " or `',
    ),
    (
        fit_with("graph.txt"),
        graph("graph.txt", "y ~ log(x)"),
        "the graph in 'graph.txt' does not hold: line 1 of the formulas, 'y ~ log(x)', uses '(', "
        "which calls a function or groups terms: add a column with these values to the data and "
        "name it, as in 'y ~ log_x'; a name that "
        'holds the sign stands between " or `',
    ),
    (
        fit_with("graph.txt"),
        graph("graph.txt", b"\xfcber ~ x"),
        "'graph.txt' is not UTF-8 text (byte 0xfc at offset 0): save it as UTF-8",
    ),
    (
        fit_with("graph.dot"),
        graph("graph.dot", "graph { x -- y }"),
        "the graph in 'graph.dot' does not hold: line 1 has an undirected graph, expected a "
        "digraph with edges 'a -> b'",
    ),
    (
        fit_with("graph.dot"),
        graph("graph.dot", "digraph { x -> y"),
        "the graph in 'graph.dot' does not hold: line 1 has the end of the text, expected a "
        "node, a subgraph or '}'",
    ),
    (
        fit_with("graph.dot"),
        graph("graph.dot", "digraph { x -> y [dir=both] }"),
        "the graph in 'graph.dot' does not hold: line 1 has an edge with dir='both', expected "
        "edges that point from parent to child only",
    ),
    (
        fit_with("graph.csv"),
        graph("graph.csv", ""),
        "'graph.csv' is empty: expected one edge per line, parent and child",
    ),
    (
        fit_with("graph.csv"),
        graph("graph.csv", "x,y,z\n"),
        "line 1 of 'graph.csv' has 3 cells, expected 2: give parent and child, and name the "
        "columns in the first line if there are more",
    ),
    (
        fit_with("graph.csv"),
        graph("graph.csv", "from,to\n,y\n"),
        "line 2 of 'graph.csv' names no parent: write a node without edges as 'name,'",
    ),
    (
        fit_with("graph.csv"),
        graph("graph.csv", "x,y\nx,y\n"),
        "the graph in 'graph.csv' does not hold: the edge 'x' -> 'y' is listed twice: list it once",
    ),
    (
        fit_with("graph.json"),
        graph("graph.json", '{"nodes": ["x"'),
        "the graph in 'graph.json' does not hold: it is not whole JSON: write it again",
    ),
    (
        fit_with("graph.json"),
        graph("graph.json", '{"nodes": ["x", "y"]}'),
        "the graph in 'graph.json' does not hold: it has no list 'edges': add it",
    ),
    (
        fit_with("graph.json"),
        graph("graph.json", '{"nodes": ["x"], "edges": [["x", "y"]]}'),
        "the graph in 'graph.json' does not hold: the edge 'x' -> 'y' names 'y', which is not "
        "among the nodes: add it to nodes or drop the edge",
    ),
    (
        fit_with("graph.json"),
        graph("graph.json", '{"nodes": ["x", "x"], "edges": []}'),
        "the graph in 'graph.json' does not hold: the node 'x' is listed twice: give each node "
        "one name of its own",
    ),
    (
        fit_with("graph.gml"),
        graph("graph.gml", "graph [ node [ id 1"),
        "'graph.gml' is not a whole GML file: write it again",
    ),
    (
        fit_with("graph.gml"),
        graph("graph.gml", "graph [ node [ id 1 ] ]"),
        "the graph in 'graph.gml' does not hold: got an undirected networkx Graph, expected a "
        "DiGraph: give every edge a direction, parent to child",
    ),
    (
        fit_with("graph.graphml"),
        graph("graph.graphml", "<graphml><graph>"),
        "'graph.graphml' is not a whole GraphML file: write it again",
    ),
    (
        fit_with("graph.rds"),
        graph("graph.rds", b"\x1f\x8b\x00"),
        "'graph.rds' is not a whole .rds file: write it again with saveRDS in R",
    ),
]

BAD_SETTINGS = [
    (
        FIT + " --method magic",
        rows(ROWS),
        None,  # the names of methods may grow: the start of the sentence is told below
    ),
    (FIT + " --scale magic", rows(ROWS), None),
    (
        FIT + " --missing ignore",
        rows(ROWS),
        "got --missing 'ignore', expected 'raise', 'drop-rows', 'drop-by-node' or 'likelihood'",
    ),
    (
        FIT + " --method batch-median",
        rows(ROWS),
        "the node 'y' has 1 parents and 4 rows, but 'batch-median' needs 22: give more rows or "
        "another method",
    ),
    (
        FIT + " --method cauchy",
        rows("x,y\n5,1\n5,2\n5,4\n5,5\n"),
        "the node 'y' has no answer, all 2 batches of rows are singular: its parents are "
        "collinear or constant, so drop one or use 'least-squares'",
    ),
    (
        "fit rows.csv --dag graph.txt --out model.xyz",
        rows(ROWS),
        "cannot write a network as 'model.xyz': expected a name that ends in .json, .csv, .dot, "
        ".gv, .r",
    ),
    (
        "fit rows.csv --dag graph.txt --out absent/model.json",
        rows(ROWS),
        "cannot write 'absent/model.json': no such file or directory",
    ),
    (
        FIT + " --report report.pdf",
        rows(ROWS),
        "cannot write a report as 'report.pdf': expected a name that ends in .html",
    ),
    (
        FIT + " --report absent/report.html",
        rows(ROWS),
        "cannot write 'absent/report.html': no such file or directory",
    ),
    (
        "report rows.csv --out report.html",
        rows(ROWS),
        "give either --dag, to learn a network, or --model, to show a saved one",
    ),
    (
        "report rows.csv --dag graph.txt --model net.json --out report.html",
        rows(ROWS),
        "give either --dag, to learn a network, or --model, to show a saved one",
    ),
    (
        "report rows.csv --model net.json --out report.html",
        rows(ROWS),
        "cannot read 'net.json': no such file or directory",
    ),
    (
        "report rows.csv --model net.json --out report.html",
        {"rows.csv": "y,z\n1,2\n", "net.json": NETWORK},
        "'rows.csv' has no column 'x', only 'y', 'z': name one of these, or rename a column",
    ),
    (
        "report rows.csv --dag graph.txt --level 2 --out report.html",
        rows(ROWS),
        "got level=2.0, expected a number between 0 and 1 such as 0.95",
    ),
    (
        "report rows.csv --dag graph.txt --out .",
        rows(ROWS),
        "cannot write a report as '.': expected a name that ends in .html",
    ),
    (
        "fit rows.csv --dag graph.txt --out rows.csv/model.json",
        rows(ROWS),
        "cannot write 'rows.csv/model.json': not a directory",
    ),
]

BAD_NETWORKS = [
    (SAMPLE, {}, "cannot read 'net.json': no such file or directory"),
    (
        SAMPLE,
        network("{}"),
        "'net.json' is not a network: expected a JSON file with format 'gaussnet-network'",
    ),
    (
        SAMPLE,
        network(NETWORK.replace('"variance": 1', '"variance": -1')),
        "the network in 'net.json' does not hold: the variance of 'x' is -1.0, expected 0 or more",
    ),
    (
        SAMPLE,
        network(NETWORK.replace('"version": 1', '"version": 9')),
        "'net.json' has version 9, newer than 2: read it with a newer gaussnet",
    ),
    (
        "sample net.json --rows -1 --out out.csv",
        network(NETWORK),
        "got rows=-1, expected a whole number of 0 or more",
    ),
    (
        "sample net.json --rows 5 --seed -1 --out out.csv",
        network(NETWORK),
        "got seed=-1, expected a non-negative integer, a numpy SeedSequence or Generator",
    ),
    (
        "sample net.json --rows 5 --out out.xlsx",
        network(NETWORK),
        f"cannot write rows as 'out.xlsx': expected a name that ends in {DATA_ENDINGS}",
    ),
    (
        "sample net.json --rows 5 --out absent/out.csv",
        network(NETWORK),
        "cannot write 'absent/out.csv': no such file or directory",
    ),
    (
        "sample net.json --rows 5 --json",
        network(NETWORK),
        "got --json while the rows go to the standard output: give --out",
    ),
    (
        "sample net.dot --rows 5",
        {"net.dot": "digraph { a }"},
        "cannot tell the format of 'net.dot': expected a network in a file whose name ends in "
        ".json, .csv, .rds",
    ),
    (
        "sample net.csv --rows 5",
        {"net.csv": "a,b\n"},
        "'net.csv' is not a table of a network: expected the columns node, quantity, parent, "
        "value in this order",
    ),
    (
        "sample net.csv --rows 5",
        {"net.csv": "node,quantity,parent,value\na,variance,,x\n"},
        "line 2 of 'net.csv' has the value 'x', expected a finite number",
    ),
    (
        "compare net.json other.json --samples 1",
        {"net.json": NETWORK, "other.json": NETWORK},
        "got samples=1, expected a whole number of 2 or more",
    ),
]

BAD_SIMULATIONS = [
    (
        "simulate star --out rows.csv",
        {},
        "got the graph 'star', expected one of erdos-renyi, scale-free, tree, polytree, chain",
    ),
    ("simulate tree", {}, "got no file to write: give --graph, --network or --out"),
    (
        "simulate tree --nodes 0 --out rows.csv",
        {},
        "got nodes=0, expected a whole number from 1 to 1e+06",
    ),
    (
        "simulate tree --rows -3 --out rows.csv",
        {},
        "got rows=-3, expected a whole number from 0 to 1e+09",
    ),
    (
        "simulate erdos-renyi --nodes 5 --degree 9 --out rows.csv",
        {},
        "got degree=9.0, expected a number from 0 to 4",
    ),
    (
        "simulate tree --share 1.5 --out rows.csv",
        {},
        "got share=1.5, expected a number from 0 to 1",
    ),
    (
        "simulate tree --share 0.1 --pattern stripes --out rows.csv",
        {},
        "got pattern='stripes', expected one of 'fresh', 'fixed', 'rows', 'cells'",
    ),
    (
        "simulate tree --share 0.1 --value zero --out rows.csv",
        {},
        "got value='zero', expected one of 'gaussian', 'cauchy', 'shift', 'resampled'",
    ),
    (
        "simulate tree --graph graph.rds",
        {},
        "cannot write a graph as 'graph.rds': expected a name that ends in .dot, .gv, .gml, "
        ".graphml, .json, .csv, .txt",
    ),
    (
        "simulate tree --network net.rds --out rows.csv",
        {},
        "cannot write a network as 'net.rds': expected a name that ends in .json, .csv, .dot, "
        ".gv, .r",
    ),
]

BAD_PAGES = [
    ("explore net.json", {}, "cannot read 'net.json': no such file or directory"),
    (
        "explore net.json --out page.txt",
        network(NETWORK),
        "cannot write a what-if page as 'page.txt': expected a name that ends in .html",
    ),
    (
        "explore net.json --around z",
        network(NETWORK),
        "there is no node 'z': the nodes are 'x'",
    ),
    (
        "explore net.json --level 95",
        network(NETWORK),
        "got level=95.0, expected a number between 0 and 1 such as 0.95",
    ),
]

BAD_INPUTS = BAD_PAGES + BAD_DATA + BAD_GRAPHS + BAD_SETTINGS + BAD_NETWORKS + BAD_SIMULATIONS
