"""Kernels: arrays in, arrays out, over all families at once.

Each exists twice, in NumPy (`plain`, the definition) and compiled (`native`). The compiled
ones are used if they were built; the environment variable GAUSSNET_KERNELS, set to `numpy` or
`native` before the import, decides otherwise. `backend` says which are in use.
"""

import os
from types import ModuleType

from gaussnet.errors import SettingError
from gaussnet.kernels import (
    plain,
    plain_brackets,
    plain_robust,
    plain_sifting,
    plain_triangles,
    plain_walk,
)
from gaussnet.kernels.plain_robust import (
    Cells,
    Judged,
    JudgeTask,
    Screen,
    TrimAnswer,
    TrimTask,
)
from gaussnet.kernels.plain_sifting import Sieve, Sifted
from gaussnet.kernels.plain_walk import CellTable, Learnt, WalkTask

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


def _choose(wanted: str) -> tuple[str, ModuleType, ModuleType, ModuleType]:
    """The name of a backend, its module, and those of the kernels for sieves and triangles."""
    if wanted not in ("", "numpy", "native"):
        raise SettingError(
            f"GAUSSNET_KERNELS is {wanted!r}, expected 'numpy' or 'native': set one or unset it"
        )
    if wanted != "numpy":
        try:
            from gaussnet.kernels import native, native_sifting, native_triangles
        except ImportError as error:
            if wanted == "native":
                raise SettingError(
                    "GAUSSNET_KERNELS is 'native' but the compiled kernels are not there "
                    f"({error}): install gaussnet where a C compiler is found, or unset it"
                ) from error
        else:
            return "native", native, native_sifting, native_triangles
    return "numpy", plain, plain_sifting, plain_triangles


backend, _module, _sifting, _triangles = _choose(os.environ.get("GAUSSNET_KERNELS", ""))

all_finite = _module.all_finite
batch_solutions = _module.batch_solutions
copy_finite = _module.copy_finite
family_moments = _module.family_moments
joined_medians = _module.joined_medians
joined_spreads = _module.joined_spreads
propagate = _module.propagate
residual_moments = _module.residual_moments
residuals = _module.residuals
row_medians = _module.row_medians
solve_moments = _module.solve_moments
split_rows = _module.split_rows if backend == "native" else plain_brackets.split_rows
square_solutions = _module.square_solutions

sift_residuals = _sifting.sift_residuals
sift_solutions = _sifting.sift_solutions
sifted_ranks = _sifting.sifted_ranks
split_solutions = _sifting.split_solutions

solve_triangles = _triangles.solve_triangles
upper_triangles = _triangles.upper_triangles

_robust = _module if backend == "native" else plain_robust
judge_rows = _robust.judge_rows
screen_families = _robust.screen_families
trim_family = _robust.trim_family
whole_columns = _robust.whole_columns

_walk = _module if backend == "native" else plain_walk
find_cells = _walk.find_cells
learn_nodes = _walk.learn_nodes
list_parents = _walk.list_parents
