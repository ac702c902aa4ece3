"""Networks in the words of others: tables, Graphviz, networkx, bnlearn, pgmpy, lavaan."""
