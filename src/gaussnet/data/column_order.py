"""Which column is which: data without names are refused unless their order is stated."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gaussnet.data.columns import Loaded, check_is_table, is_frame
from gaussnet.data.paths import files_of, is_path
from gaussnet.data.sources import is_source
from gaussnet.data.table import Table
from gaussnet.errors import DataError, FileError, GraphError, SettingError
from gaussnet.files import suffix
from gaussnet.graph.dag import Dag, node_name, shorten, unstated_order
from gaussnet.named_rows import NamedRows, did_you_mean, named, names_of


def in_column_order(
    data: Any, dag: Dag, columns: Iterable[object] | None = None
) -> tuple[Any, Dag]:
    """The data, and the graph with its nodes in the order of columns that have no names.

    `columns` names the columns of an array, a Dask array or .npy files from left to right; those
    that are no nodes are left out. Without it the graph must state the order. Data with names
    are left as they are, and the fields of a record array are its columns.

    Examples
    --------
    >>> dag = Dag.parse("wet ~ rain")
    >>> rows, ordered = in_column_order(np.array([[7.0, 1.0, 2.0]]), dag, ["id", "rain", "wet"])
    >>> ordered.nodes, rows.tolist()
    (('rain', 'wet'), [[1.0, 2.0]])
    """
    check_is_table(data)
    if isinstance(data, np.ndarray) and data.dtype.names and data.ndim == 1:
        data = _named_fields(data, dag)
    if not is_path(data) and not has_names(data):
        _check_is_array(data)
    if dag.factors and has_names(data):
        from gaussnet.data.factors import with_indicators

        data = with_indicators(data, dag.factors)
    if columns is None:
        order = dag.nodes if has_names(data) else dag.column_order()
        return data, dag if order == dag.nodes else dag.reordered(order)
    names = column_names(columns)
    if has_names(data):
        _check_same_names(data, names)
        return data, dag
    own = [index for index, name in enumerate(names) if name in dag]
    if len(own) < len(dag):
        _refuse_lacking(data, dag, names)
    ordered = dag.reordered(names[index] for index in own)
    return (data if len(own) == len(names) else _taken(data, own, len(names))), ordered


def _refuse_lacking(data: Any, dag: Dag, names: Sequence[str]) -> None:
    """Say which nodes `columns` does not name, and which name was perhaps meant for one."""
    lacking = [node for node in dag.nodes if node not in names]
    shape: tuple[int, ...] = getattr(data, "shape", ())
    whose = f"each of the {shape[1]} columns of the array" if len(shape) == 2 else "every column"
    hint = did_you_mean(lacking[0], [name for name in names if name not in dag])
    raise GraphError(
        f"columns={list(names)!r} leaves out {shorten(lacking)}{hint or ':'} "
        f"{'Give' if hint else 'give'} a name for {whose}, from left to right"
    )


def check_mask_order(mask: Any, dag: Dag) -> None:
    """Refuse an array (rows, nodes) beside the data if nobody stated the order of the nodes."""
    if mask is None or isinstance(mask, str | Mapping) or is_frame(mask):
        return
    try:
        by_position = np.ndim(mask) == 2
    except ValueError:  # lists of several lengths
        return
    if by_position and dag.column_order() != dag.nodes:
        raise unstated_order(dag.nodes)


def by_node(data: Any, dag: Dag, columns: Iterable[object] | None = None) -> Any:
    """The data as they are if their columns have names, else in the order of the graph's nodes."""
    given, ordered = in_column_order(data, dag, columns)
    if has_names(data) or ordered.nodes == dag.nodes:
        return given
    order = [ordered.position(node) for node in dag.nodes]
    return _taken(given, order, len(order))


def has_names(data: Any) -> bool:
    """Whether the columns have names, or somebody has looked at them already.

    Examples
    --------
    >>> has_names([[1.0, 2.0]]), has_names("rows.csv")
    (False, True)
    """
    if isinstance(data, Loaded | Table) or is_source(data):
        return True
    if is_path(data):
        return all(map(_file_has_names, files_of(data)))
    return names_of(data) is not None or is_frame(data) or hasattr(data, "columns")


def column_names(columns: Iterable[object]) -> list[str]:
    """Names of columns as a list of strings, each once."""
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise SettingError(
            f"got columns={columns!r}, expected the name of every column from left to right: give "
            "a list of strings"
        )
    names = [node_name(column) for column in columns]
    if len(set(names)) < len(names):
        twice = [name for name, count in Counter(names).items() if count > 1]
        raise SettingError(f"columns names {shorten(twice)} twice: give each column its own name")
    return names


def _named_fields(records: np.ndarray[Any, Any], dag: Dag) -> NamedRows:
    """The fields of a record array as columns, if they hold numbers, as those of nodes must."""
    fields = {name: records[name] for name in records.dtype.names or ()}
    own = {name: one for name, one in fields.items() if one.ndim == 1 and one.dtype.kind in "biuf"}
    others = [name for name in fields if name in dag and name not in own]
    if others:
        raise DataError(
            f"the field {others[0]!r} of the record array has the type {records.dtype[others[0]]}, "
            "expected numbers: give a frame, as pandas.DataFrame(records)"
        )
    columns = np.empty((len(records), len(own)), order="F")
    for place, values in enumerate(own.values()):
        columns[:, place] = values
    return named(columns, own)


def _check_is_array(data: Any) -> None:
    """Refuse what is neither an array nor lists of numbers."""
    is_array = hasattr(data, "shape") or hasattr(data, "__array__")
    is_sequence = hasattr(data, "__len__") and hasattr(data, "__getitem__")
    if isinstance(data, bytes) or not (is_array or is_sequence):
        raise DataError(
            f"got data of type {type(data).__name__}, expected a frame, an array (rows, nodes) "
            "with columns=[...], or the path of a file"
        )


def _file_has_names(file: str) -> bool:
    if suffix(file) != ".npy":
        return True
    try:
        array = np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return True  # reading it says what is wrong
    return not isinstance(array, np.ndarray) or array.dtype.names is not None


def _check_same_names(data: Any, names: Sequence[str]) -> None:
    given = names_of(data)
    if given is None:
        given = getattr(data, "column_names", getattr(data, "columns", None))
    if given is None or [str(name) for name in given] != list(names):
        raise SettingError(
            "got columns for data whose columns have names already: leave columns out, or rename "
            "the columns of the data"
        )


def _taken(data: Any, chosen: Sequence[int], width: int) -> Any:
    """These columns alone."""
    if is_path(data):
        raise FileError(
            f"the files have {width} columns without names, of which the graph has other than "
            "these in this order: write a file with named columns, or with the nodes' columns alone"
        )
    if isinstance(data, np.ma.MaskedArray):
        data = np.ma.filled(data.astype(np.float64), np.nan)
    array = data if hasattr(data, "shape") else np.asarray(data)
    if len(array.shape) != 2 or array.shape[1] != width:
        raise DataError(
            f"got data of shape {tuple(array.shape)}, expected (rows, {width}): columns names "
            f"{width} columns"
        )
    return array[:, list(chosen)]
