"""Tables of rows, wherever they lie: in memory, in files, on a cluster."""
