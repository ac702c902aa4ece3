"""Graphs in files and in the formats of other programs."""
