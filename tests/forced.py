"""Fits on a run of any kind: what is small is streamed, sampled or kept within little memory."""

from typing import Any

import pytest

from gaussnet import kernels
from gaussnet.data.passes import Run
from gaussnet.data.study import Study
from gaussnet.data.table import default_page_rows
from gaussnet.fitting.learn import fit_with
from gaussnet.fitting.result import Fit
from gaussnet.graph.dag import Dag
from gaussnet.kernels.threads import available_threads
from gaussnet.methods.base import Method, Scale
from gaussnet.methods.groups import ReadOptions
from gaussnet.methods.names import check_together, method_named, scale_named

STREAMED = {"largest_whole_bytes": -1}
"""No file is small enough to be read whole."""

SAMPLED = {"sampled_rows": 0, "sampled_values": 0}
"""Medians are looked for where a sample says, however few the values are."""

IS_COMPILED = kernels.backend == "native"

many_rows = pytest.mark.skipif(not IS_COMPILED, reason="as many rows take minutes in NumPy")
"""A robust fit of more rows than the definition of its kernel in NumPy sees in seconds."""

KEPT = {"sampled_rows": 1 << 60}
"""Medians keep all values, however many these are."""


def fit_with_run(
    run: Run,
    data: Any,
    dag: Dag,
    method: str | Method = "least-squares",
    *,
    scale: str | Scale | None = None,
    intercept: bool = True,
    split: tuple[int, int] | None = None,
    missing: Any = "raise",
    page_rows: int | None = None,
    client: Any = None,
    **study: Any,
) -> Fit:
    """`gaussnet.fit` on this run, which says what its threads and progress are."""
    chosen = method_named(method)
    spread = scale_named(scale, chosen)
    check_together(chosen, spread, split)
    height = default_page_rows(len(dag)) if page_rows is None else page_rows
    options = ReadOptions(dag, intercept, split, missing, height, Study(**study))
    return fit_with(run, data, options, (chosen, spread), client)


def fit_streamed(
    data: Any,
    dag: Dag,
    method: str | Method = "least-squares",
    *,
    threads: int | None = None,
    progress: Any = None,
    **settings: Any,
) -> Fit:
    """`gaussnet.fit` with files of any size read page by page."""
    run = Run(threads or available_threads(), progress, **STREAMED)
    return fit_with_run(run, data, dag, method, **settings)
