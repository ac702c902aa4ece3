"""CPU seconds to condition networks of 10,000 nodes on 1, 100 and 1,000 of them.

Run: OPENBLAS_NUM_THREADS=1 python benchmarks/inference.py
"""

import time

import numpy as np

import gaussnet as gn

NODES = 10_000


def beds():
    """Networks with coefficients of size 1 to 2; the chain's are smaller, or it would overflow."""
    graphs = {
        "erdos-renyi, degree 5": gn.simulate.erdos_renyi(NODES, 5, seed=1),
        "scale-free, degree 3": gn.simulate.scale_free(NODES, 3, seed=1),
        "tree": gn.simulate.random_tree(NODES, seed=1),
        "polytree": gn.simulate.random_polytree(NODES, seed=1),
    }
    for name, dag in graphs.items():
        yield name, gn.simulate.random_network(dag, seed=2)
    weights = np.random.default_rng(0).uniform(0.5, 1.2, NODES - 1)
    chain = gn.simulate.chain(NODES)
    yield "chain", gn.GaussianNetwork.from_arrays(chain, weights, np.ones(NODES))


def seconds(network, evidence, ask, targets=None, repeats=3):
    """Best CPU time of a few runs of conditioning and asking."""
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        ask(network.condition(evidence, targets=targets))
        best = min(best, time.process_time() - start)
    return best


def main():
    for name, network in beds():
        row = network.sample(1, seed=5)[0]
        for count in (1, 100, 1_000):
            chosen = np.random.default_rng(count).choice(NODES, count, replace=False)
            evidence = {network.dag.nodes[i]: float(row[i]) for i in chosen}
            target = next(node for node in network.dag.nodes if node not in evidence)
            means = seconds(network, evidence, lambda law: law.mean)
            both = seconds(network, evidence, lambda law: law.variances)
            one = seconds(network, evidence, lambda law: law.variances, [target])
            figures = f"means {means:.3f}  and variances {both:.3f}  one node {one:.3f}"
            print(f"{name:22} {count:5}  {figures}")


if __name__ == "__main__":
    main()
