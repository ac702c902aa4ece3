"""Clusters on which nothing can work say so within 15 seconds."""

import time

import dask.array
import numpy as np
import pytest
from distributed import Client, LocalCluster
from distributed.comm import CommClosedError

import gaussnet as gn
from gaussnet.data import cluster as on_cluster
from gaussnet.errors import SettingError

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.xdist_group("dask"),
]
DAG = gn.Dag.parse("b ~ a", nodes=["a", "b"])
ROWS = np.random.default_rng(0).normal(size=(1_000, 2))
PATIENCE = 15.0


def refused(client, words):
    """Whether a fit on this cluster is refused with these words, soon."""
    start = time.monotonic()
    with pytest.raises(SettingError, match=words):
        gn.fit(dask.array.from_array(ROWS, chunks=(100, 2)), DAG, client=client)
    assert time.monotonic() - start < PATIENCE


def small(**settings):
    return LocalCluster(threads_per_worker=1, dashboard_address=":0", **settings)


@pytest.mark.parametrize(
    ("preload", "words"),
    [
        ("import sys; sys.modules['gaussnet'] = None", "has no gaussnet that works"),
        ("import gaussnet; gaussnet.__version__ = '0.0.1'", "has gaussnet 0.0.1, this process"),
        (
            "import gaussnet.kernels; gaussnet.kernels.backend = 'numpy'",
            "has kernels numpy, this process native",
        ),
    ],
)
def test_a_worker_with_another_gaussnet_is_named(preload, words):
    if "kernels" in words and gn.kernels.backend != "native":
        pytest.skip("this process has the kernels of NumPy itself")
    with (
        small(n_workers=1, processes=True, preload=[preload]) as cluster,
        Client(cluster) as client,
    ):
        refused(client, f"the worker tcp://.* {words}")


def test_a_cluster_without_workers_is_refused():
    with small(n_workers=0, processes=False) as cluster, Client(cluster) as client:
        refused(client, "has had no worker for 8 seconds")


def test_workers_that_go_away_are_noticed(monkeypatch):
    with small(n_workers=1, processes=False) as cluster, Client(cluster) as client:
        checked = on_cluster.check_workers

        def check_and_lose(one):
            checked(one)
            cluster.scale(0)

        monkeypatch.setattr(on_cluster, "check_workers", check_and_lose)
        refused(client, "has had no worker for 8 seconds")


def test_a_worker_that_is_lost_when_it_is_asked_is_not_told_to_install_gaussnet():
    class Losing:
        def nthreads(self):
            return {"tcp://one": 1}

        def run(self, *_, **__):
            return {"tcp://one": CommClosedError("stream is closed")}

    with pytest.raises(SettingError, match="the worker tcp://one was lost when it was asked"):
        on_cluster.check_workers(Losing())


def test_a_scheduler_that_is_gone_is_noticed():
    cluster = small(n_workers=1, processes=False)
    client = Client(cluster)
    try:
        cluster.close()
        refused(client, "the scheduler of the cluster does not answer")
    finally:
        client.close(timeout=2)
