"""Kernels: arrays in, arrays out, over all families at once.

Each is defined in NumPy (`numpy_*.py`) and most are compiled too (`c`, called by `native`). The
compiled ones are used if they were built; the environment variable GAUSSNET_KERNELS, set to
`numpy` or `native` before the import, decides otherwise. `backend` says which are in use.
"""

import os
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

from gaussnet.errors import SettingError
from gaussnet.kernels import (
    numpy_core,
    numpy_likelihood,
    numpy_medians,
    numpy_mixture,
    numpy_pairs,
    numpy_robust,
)
from gaussnet.kernels.numpy_likelihood import Expected as Expected
from gaussnet.kernels.numpy_medians import Draw as Draw, Ends as Ends, Split as Split
from gaussnet.kernels.numpy_mixture import (
    MixtureMoments as MixtureMoments,
    MixtureTask as MixtureTask,
    log_wrong_values as log_wrong_values,
)
from gaussnet.kernels.numpy_robust import (
    Cells as Cells,
    CellTable as CellTable,
    LearningTask as LearningTask,
    Learnt as Learnt,
    Screen as Screen,
)

Definition = TypeVar("Definition", bound=Callable[..., Any])


def _compiled(wanted: str) -> ModuleType | None:
    """The compiled kernels, or None if those in NumPy are used."""
    if wanted not in ("", "numpy", "native"):
        raise SettingError(
            f"GAUSSNET_KERNELS is {wanted!r}, expected 'numpy' or 'native': set one or unset it"
        )
    if wanted == "numpy":
        return None
    try:
        from gaussnet.kernels import native
    except ImportError as error:
        if wanted == "native":
            raise SettingError(
                "GAUSSNET_KERNELS is 'native' but the compiled kernels are not there "
                f"({error}): install gaussnet where a C compiler is found, or unset it"
            ) from error
        return None
    return native


_compiled_kernels = _compiled(os.environ.get("GAUSSNET_KERNELS", ""))

backend = "numpy" if _compiled_kernels is None else "native"


def _chosen(definition: Definition) -> Definition:
    """The kernel of this name that is in use."""
    if _compiled_kernels is None:
        return definition
    found: Definition = getattr(_compiled_kernels, definition.__name__)
    return found


all_finite = _chosen(numpy_core.all_finite)
copy_finite = _chosen(numpy_core.copy_finite)
checksum = _chosen(numpy_core.checksum)
family_moments = _chosen(numpy_core.family_moments)
solve_moments = _chosen(numpy_core.solve_moments)
upper_triangles = _chosen(numpy_core.upper_triangles)
solve_triangles = _chosen(numpy_core.solve_triangles)
batch_solutions = _chosen(numpy_core.batch_solutions)
square_solutions = _chosen(numpy_core.square_solutions)
residuals = _chosen(numpy_core.residuals)
residual_moments = _chosen(numpy_core.residual_moments)
propagate = _chosen(numpy_core.propagate)
candidate_pairs = _chosen(numpy_pairs.candidate_pairs)
pair_residuals = _chosen(numpy_pairs.pair_residuals)
expected_rows = _chosen(numpy_likelihood.expected_rows)
missing_information = _chosen(numpy_likelihood.missing_information)
split_solutions = _chosen(numpy_medians.split_solutions)
split_residuals = _chosen(numpy_medians.split_residuals)
split_rows = _chosen(numpy_medians.split_rows)
kept_ranks = _chosen(numpy_medians.kept_ranks)
joined_medians = _chosen(numpy_medians.joined_medians)
joined_spreads = _chosen(numpy_medians.joined_spreads)
whole_columns = _chosen(numpy_robust.whole_columns)
screen_families = _chosen(numpy_robust.screen_families)
learn_nodes = _chosen(numpy_robust.learn_nodes)
list_parents = _chosen(numpy_robust.list_parents)
find_cells = _chosen(numpy_robust.find_cells)
mixture_moments = _chosen(numpy_mixture.mixture_moments)
