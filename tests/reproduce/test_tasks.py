"""Tasks: what they find depends on nothing but themselves."""

import numpy as np
import pytest

import gaussnet as gn
from gaussnet.methods.mad import Mad
from gaussnet.reproduce.catalogue import EXPERIMENTS, RootMad, experiment_named
from gaussnet.reproduce.run import Run
from gaussnet.reproduce.tasks import Task, label_of

SMALL = {"nodes": 25, "rows": (150, 300)}


def small(name, settings="plotted", repetition=0, seed=0):
    return Task(settings, name, repetition, seed, **SMALL).run()


@pytest.mark.parametrize("settings", ["written", "plotted"])
@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda one: one.name)
def test_every_experiment_gives_a_number_for_each_method_and_size(experiment, settings):
    records = small(experiment.name, settings)
    found = {(record.method, record.rows) for record in records}
    assert found >= {(method, rows) for method in experiment.methods for rows in (150, 300)}
    assert all(np.isfinite(record.value) and record.value > 0.0 for record in records)
    assert {record.settings for record in records} == {settings}


def test_a_task_finds_the_same_whenever_it_runs():
    assert small("tree-gauss") == small("tree-gauss")


@pytest.mark.parametrize("change", [{"repetition": 1}, {"seed": 1}, {"settings": "written"}])
def test_another_repetition_seed_or_setting_finds_other_numbers(change):
    values = {record.value for record in small("er5")}
    assert values.isdisjoint(record.value for record in small("er5", **change))


def test_the_closer_look_shows_the_same_rows():
    closer = [record[2:] for record in small("er5")]
    whole = [record[2:] for record in small("er5-all") if record.method in experiment_five()]
    assert closer == whole


def experiment_five():
    return experiment_named("er5").methods


def test_cauchy_methods_are_one_on_trees_of_in_degree_one():
    values = {(r.method, r.rows): r.value for r in small("tree", "written")}
    for rows in SMALL["rows"]:
        assert values["cauchy", rows] == pytest.approx(values["cauchy-tree", rows], rel=1e-9)


def test_excess_and_projection_add_up_to_the_divergence():
    values = {(r.method, r.measure, r.rows): r.value for r in small("agnostic-er")}
    for rows in SMALL["rows"]:
        best = values["projection", "kl", rows]
        for method in experiment_five():
            whole = values[method, "kl", rows]
            assert whole == pytest.approx(best + values[method, "excess", rows], rel=1e-12)


def test_least_squares_keeps_to_the_limit_with_ill_conditioned_nodes():
    # KL of 25 nodes and about 60 edges: mean limit, relative sd near sqrt(2 / 85) = 0.15, and a
    # finite-sample surplus of p / m; a lost digit would give factors of thousands
    for record in small("ill-er"):
        if record.method == "least-squares":
            assert 0.4 < record.value / record.limit < 2.0


def test_the_slip_is_the_root_of_the_right_scale():
    rows = np.random.default_rng(0).normal(0.0, 3.0, (50, 4))
    dag = gn.Dag.from_edges([], nodes=list("abcd"))
    right = gn.fit(rows, dag, scale=Mad()).network.variance_array
    slipped = gn.fit(rows, dag, scale=RootMad()).network.variance_array
    assert slipped == pytest.approx(np.sqrt(right))


def test_the_slip_stays_inside_the_plotted_settings():
    from gaussnet.methods.names import SCALES, class_at
    from gaussnet.reproduce.catalogue import PLOTTED, WRITTEN

    assert RootMad not in map(class_at, SCALES.values())
    assert isinstance(PLOTTED.contaminated_scale, RootMad)
    assert type(WRITTEN.contaminated_scale) is Mad


def test_tasks_come_in_the_order_of_the_paper_with_times_apart():
    run = Run.of(["runtime", "tree", "er5"], repetitions=2)
    names = [(task.settings, task.experiment) for task in run.tasks()]
    order = [(s, e) for s in ("written", "plotted") for e in ("er5", "tree") for _ in range(2)]
    assert names == order
    assert {task.experiment for task in run.tasks(timed=True)} == {"runtime"}


def test_labels_are_those_of_the_paper():
    labels = [label_of(method) for method in experiment_named("er5-all").methods]
    assert labels[:3] == ["LeastSquares", "BatchAvg+20", "BatchMed+20"]
    assert labels[5:] == ["MLE", "GLASSO", "CLIME"]
