"""A small writer of R's .rds files (XDR, version 2), for tests: lists, strings, numbers."""

import gzip
import struct

STRING_ATTRIBUTE, OBJECT, TAGGED, ATTRIBUTES = 9, 0x100, 0x400, 0x200
END = struct.pack(">i", 254)


def rds_bytes(value):
    """The file of an R object."""
    return gzip.compress(b"X\n" + struct.pack(">iii", 2, 0x040100, 0x020300) + value, mtime=0)


def numbers(values, names=None):
    """A numeric vector, with names if given."""
    body = struct.pack(">i", len(values)) + struct.pack(f">{len(values)}d", *values)
    return _vector(14, body, {"names": texts(names)} if names is not None else {})


def texts(values):
    """A character vector."""
    return _vector(16, struct.pack(">i", len(values)) + b"".join(map(_text, values)), {})


def named_list(entries, classes=()):
    """A list with names, of these classes."""
    attributes = {"names": texts(list(entries))}
    if classes:
        attributes["class"] = texts(list(classes))
    body = struct.pack(">i", len(entries)) + b"".join(entries.values())
    return _vector(19, body, attributes)


def gaussian_network(nodes):
    """A `bn.fit` of {name: (intercept, {parent: coefficient}, sd)}."""
    children = {name: [c for c in nodes if name in nodes[c][1]] for name in nodes}
    entries = {
        name: named_list(
            {
                "node": texts([name]),
                "parents": texts(list(slopes)),
                "children": texts(children[name]),
                "coefficients": numbers([constant, *slopes.values()], ["(Intercept)", *slopes]),
                "residuals": numbers([0.5, -0.5]),
                "fitted.values": numbers([1.0, 2.0]),
                "sd": numbers([scale]),
            },
            ["bn.fit.gnode"],
        )
        for name, (constant, slopes, scale) in nodes.items()
    }
    return rds_bytes(named_list(entries, ["bn.fit", "bn.fit.gnet"]))


def _vector(kind, body, attributes):
    flags = kind | (ATTRIBUTES if attributes else 0) | (OBJECT if "class" in attributes else 0)
    pairs = b"".join(
        struct.pack(">ii", 2 | TAGGED, 1) + _text(name) + value
        for name, value in attributes.items()
    )
    return struct.pack(">i", flags) + body + (pairs + END if attributes else b"")


def _text(value):
    raw = value.encode()
    return struct.pack(">ii", STRING_ATTRIBUTE | 0x8000, len(raw)) + raw
