"""Networks in files of several formats: the format goes by the ending of the file's name."""

from collections.abc import Callable

from gaussnet.errors import FileError, GaussnetError
from gaussnet.files import Path, file_name, read_text, suffix, write_text
from gaussnet.graph.formats.rds import read_rds
from gaussnet.model.formats.bnlearn import from_bnlearn, to_bnlearn
from gaussnet.model.formats.text import from_csv, to_csv, to_dot
from gaussnet.model.network import GaussianNetwork


def read_network(path: Path) -> GaussianNetwork:
    """Read a network from a file.

    ``.json`` as `GaussianNetwork.save` writes it, ``.csv`` with one number a line, ``.rds`` with
    a Gaussian `bn.fit` of bnlearn (needs rdata).

    Examples
    --------
    >>> import os, tempfile
    >>> from gaussnet.graph import Dag
    >>> path = os.path.join(tempfile.mkdtemp(), "garden.csv")
    >>> network = GaussianNetwork.from_arrays(Dag.parse("wet ~ rain"), [1.5], [0.5, 1.0])
    >>> write_network(network, path)
    >>> read_network(path) == network
    True
    """
    file = file_name(path)
    ending = suffix(file)
    if ending not in _READERS:
        raise FileError(
            f"cannot tell the format of {file!r}: expected a network in a file whose name ends in "
            f"{', '.join(_READERS)}"
        )
    try:
        return _READERS[ending](file)
    except FileError:
        raise
    except GaussnetError as problem:
        raise FileError(f"the network in {file!r} does not hold: {problem}") from None


def write_network(network: GaussianNetwork, path: Path) -> None:
    """Write a network to a file, whole or not at all.

    ``.json`` and ``.csv`` keep every digit and are read by `read_network`; ``.dot`` and ``.gv``
    are for Graphviz; ``.R`` is a script that makes a `bn.fit` of bnlearn.
    """
    file = file_name(path)
    ending = suffix(file)
    check_ending(file)
    if ending == ".json":
        network.save(file)
        return
    try:
        text = _WRITERS[ending](network)
    except GaussnetError as problem:
        raise FileError(f"cannot write {file!r}: {problem}") from None
    write_text(file, text)


def check_ending(path: Path) -> None:
    """Refuse a file name whose ending says no format that `write_network` knows."""
    file = file_name(path)
    if suffix(file) not in (".json", *_WRITERS):
        raise FileError(
            f"cannot write a network as {file!r}: expected a name that ends in .json, "
            f"{', '.join(_WRITERS)}"
        )


_READERS: dict[str, Callable[[str], GaussianNetwork]] = {
    ".json": GaussianNetwork.load,
    ".csv": lambda file: from_csv(read_text(file), file),
    ".rds": lambda file: from_bnlearn(read_rds(file), file),
}
_WRITERS: dict[str, Callable[[GaussianNetwork], str]] = {
    ".csv": to_csv,
    ".dot": to_dot,
    ".gv": to_dot,
    ".r": to_bnlearn,
}
