"""The paper's experiments: drawn, learnt, kept, summed up and compared with its figures."""
