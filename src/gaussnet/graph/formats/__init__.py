"""Graphs in files and in the formats of other programs."""

NodesAndEdges = tuple[tuple[str, ...], list[tuple[str, str]]]
"""What a format says of a graph: its nodes in order, its (parent, child) edges."""
