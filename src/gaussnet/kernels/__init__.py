"""Kernels: arrays in, arrays out, over all families at once.

Each exists twice, in NumPy (`plain`, the definition) and compiled (`native`). The compiled
ones are used if they were built; the environment variable GAUSSNET_KERNELS, set to `numpy` or
`native` before the import, decides otherwise. `backend` says which are in use.
"""

import os
from types import ModuleType, SimpleNamespace

from gaussnet.errors import SettingError
from gaussnet.kernels import numpy_core, numpy_medians, numpy_robust
from gaussnet.kernels.numpy_medians import Sieve, Sifted
from gaussnet.kernels.numpy_robust import (
    Cells,
    CellTable,
    Judged,
    JudgeTask,
    Learnt,
    Screen,
    TrimAnswer,
    TrimTask,
    WalkTask,
)

__all__ = [
    "CellTable",
    "Cells",
    "JudgeTask",
    "Judged",
    "Learnt",
    "Screen",
    "Sieve",
    "Sifted",
    "TrimAnswer",
    "TrimTask",
    "WalkTask",
    "all_finite",
    "backend",
    "batch_solutions",
    "copy_finite",
    "family_moments",
    "find_cells",
    "joined_medians",
    "joined_spreads",
    "judge_rows",
    "learn_nodes",
    "list_parents",
    "propagate",
    "residual_moments",
    "residuals",
    "row_medians",
    "screen_families",
    "sift_residuals",
    "sift_solutions",
    "sifted_ranks",
    "solve_moments",
    "solve_triangles",
    "split_rows",
    "split_solutions",
    "square_solutions",
    "trim_family",
    "upper_triangles",
    "whole_columns",
]


def _choose(wanted: str) -> tuple[str, ModuleType | SimpleNamespace]:
    """The name of a backend, and where its kernels are."""
    if wanted not in ("", "numpy", "native"):
        raise SettingError(
            f"GAUSSNET_KERNELS is {wanted!r}, expected 'numpy' or 'native': set one or unset it"
        )
    if wanted != "numpy":
        try:
            from gaussnet.kernels import native
        except ImportError as error:
            if wanted == "native":
                raise SettingError(
                    "GAUSSNET_KERNELS is 'native' but the compiled kernels are not there "
                    f"({error}): install gaussnet where a C compiler is found, or unset it"
                ) from error
        else:
            return "native", native
    parts = (vars(module) for module in (numpy_core, numpy_medians, numpy_robust))
    return "numpy", SimpleNamespace(**{name: own for part in parts for name, own in part.items()})


backend, _kernels = _choose(os.environ.get("GAUSSNET_KERNELS", ""))

all_finite = _kernels.all_finite
batch_solutions = _kernels.batch_solutions
copy_finite = _kernels.copy_finite
family_moments = _kernels.family_moments
find_cells = _kernels.find_cells
joined_medians = _kernels.joined_medians
joined_spreads = _kernels.joined_spreads
judge_rows = _kernels.judge_rows
learn_nodes = _kernels.learn_nodes
list_parents = _kernels.list_parents
propagate = _kernels.propagate
residual_moments = _kernels.residual_moments
residuals = _kernels.residuals
row_medians = _kernels.row_medians
screen_families = _kernels.screen_families
sift_residuals = _kernels.sift_residuals
sift_solutions = _kernels.sift_solutions
sifted_ranks = _kernels.sifted_ranks
solve_moments = _kernels.solve_moments
solve_triangles = _kernels.solve_triangles
split_rows = _kernels.split_rows
split_solutions = _kernels.split_solutions
square_solutions = _kernels.square_solutions
trim_family = _kernels.trim_family
upper_triangles = _kernels.upper_triangles
whole_columns = _kernels.whole_columns
