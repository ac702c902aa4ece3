"""Networks in the words of others: tables, Graphviz, bnlearn, pgmpy."""
