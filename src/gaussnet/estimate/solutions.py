"""Solutions of many small systems, kept size by size until their mean or median is taken."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gaussnet import kernels
from gaussnet._types import FloatArray, IntArray
from gaussnet.estimate.equations import Block, Equations
from gaussnet.estimate.middles import Medians
from gaussnet.estimate.solution import Solution, no_batches


@dataclass(frozen=True, slots=True)
class Solutions:
    """Solutions of batches or windows, in runs as they were found; NaN marks a singular one.

    Each run has one array (families of that size, p, count) for each size p >= 1.
    """

    runs: tuple[tuple[FloatArray, ...], ...]

    def merge(self, other: "Solutions") -> "Solutions":
        """The runs of both."""
        return Solutions(self.runs + other.runs)

    def parts(self, index: int) -> list[FloatArray]:
        """The solutions of the families of one size, run by run: (families, p, count) each."""
        return [run[index] for run in self.runs]

    def of_block(self, index: int) -> FloatArray:
        """All solutions of the families of one size: (families, p, count), a fresh array."""
        return np.concatenate(self.parts(index), axis=2)


class Tally:
    """Collects the answer block by block into one `Solution`."""

    def __init__(self, equations: Equations) -> None:
        self.equations = equations
        self.coefficients = np.empty(len(equations.families.parents))
        self.batches = no_batches(equations)
        self.singular = no_batches(equations)

    def add_medians(
        self, block: Block, parts: list[FloatArray], upper: FloatArray | None = None
    ) -> None:
        """Enter the coordinate-wise medians of solutions in parts (families, p, count).

        With `upper`, (families, p, p), they are taken of ``upper @ solution`` and turned back.
        """
        answer, used = kernels.joined_medians(parts, upper)
        if upper is not None:
            answer = turned_back(upper, answer)
        self.add(block, answer, used, sum(part.shape[2] for part in parts))

    def add(self, block: Block, answer: FloatArray, used: IntArray, count: int | IntArray) -> None:
        """Enter coefficients (families, p) found from `used` of `count` batches."""
        self.coefficients[block.edges] = answer.ravel()
        self.batches[block.families] = used
        self.singular[block.families] = count - used

    def solution(self, doubtful: IntArray | None = None, passes: int = 1) -> Solution:
        """The collected answer; the parents of an answered family have full rank."""
        return Solution(
            self.coefficients,
            ranks=self.equations.families.sizes,
            batches=self.batches,
            singular=self.singular,
            doubtful=doubtful,
            passes=passes,
        )


def turned_back(upper: FloatArray, answer: FloatArray) -> FloatArray:
    """The solutions x of ``upper @ x = answer``, (families, p); NaN where there is none."""
    found: FloatArray = kernels.solve_triangles(upper, answer)
    return found


def tally_medians(
    equations: Equations,
    medians: Medians,
    counts: IntArray,
    uppers: Sequence[FloatArray] | None = None,
) -> Tally:
    """The medians of all coefficients, with what was used of so many."""
    tally = Tally(equations)
    for index, block in enumerate(equations.blocks()):
        shape = (block.count, block.size)
        answer = medians.values[block.edges].reshape(shape)
        if uppers is not None:
            answer = turned_back(uppers[index], answer)
        used, count = (own[block.edges].reshape(shape)[:, 0] for own in (medians.used, counts))
        tally.add(block, answer, used, count)
    return tally
