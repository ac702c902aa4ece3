"""The paper's sample sizes, and total variation from KL and back."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from gaussnet.errors import SettingError
from gaussnet.graph.dag import Dag
from gaussnet.planning import plan
from gaussnet.planning.cauchy_tree import CauchyTreeLaw
from gaussnet.planning.laws import Degrees
from gaussnet.planning.least_squares import LeastSquaresLaw
from gaussnet.planning.targets import (
    LARGEST_EPSILON,
    kl_for_tv,
    paper_kl,
    paper_sizes,
    tv_bound,
)

LEAST_SQUARES = LeastSquaresLaw()
HUNDRED = Degrees(((0, 50), (5, 50)))


def test_sizes_of_least_squares_are_the_papers():
    sizes = paper_sizes(LEAST_SQUARES, HUNDRED, kl=0.3, delta=0.05)
    assert sizes.epsilon == pytest.approx(0.1)
    assert sizes.m1 == np.ceil(32 * 250 / 0.1 * np.log(300 / 0.05))
    assert sizes.m2 == np.ceil(32 * 250 / 0.1 * np.log(200 / 0.05))
    assert sizes.m2_printed == np.ceil(32 * 250 / 0.1 * np.log(2 / 0.05))


def test_corrected_sizes_have_the_proofs_own_constant():
    # (1 - 2 c1)^4 with c1 = 1/4 gives 128; every node has an allowance of max(p, 1).
    sizes = paper_sizes(LEAST_SQUARES, HUNDRED, kl=0.3, delta=0.05)
    assert sizes.m1_corrected == np.ceil(128 * 300 / 0.1 * np.log(3 * 100 * 5 / 0.025))
    assert sizes.m2_corrected == np.ceil(32 * 300 / 0.1 * np.log(200 / 0.025))


def test_sizes_of_the_cauchy_tree_are_the_papers():
    sizes = paper_sizes(CauchyTreeLaw(), Degrees(((0, 1), (1, 9))), kl=0.3, delta=0.05)
    assert sizes.m1 == np.ceil(8 * 9 / 0.1 * np.log(20 / 0.05))
    assert plan(Dag.parse("b ~ a"), kl=0.3, method="cauchy-tree", law="paper").paper is not None


def test_epsilon_stays_where_the_proof_holds():
    assert paper_sizes(LEAST_SQUARES, HUNDRED, kl=5.0, delta=0.05).epsilon == LARGEST_EPSILON


def test_rows_and_kl_of_the_paper_invert_each_other():
    rows = paper_sizes(LEAST_SQUARES, HUNDRED, kl=0.02, delta=0.05).rows
    assert paper_kl(LEAST_SQUARES, HUNDRED, rows, 0.05) == pytest.approx(0.02, rel=1e-6)
    assert paper_kl(LEAST_SQUARES, HUNDRED, 1_000, 0.05) == np.inf


def test_the_paper_says_nothing_of_a_graph_without_edges():
    with pytest.raises(SettingError, match="without edges"):
        paper_sizes(LEAST_SQUARES, Degrees(((0, 3),)), kl=0.1, delta=0.05)


@given(st.floats(1e-6, 0.999))
def test_the_target_is_the_largest_kl_that_guarantees_the_tv(tv):
    assert tv_bound(kl_for_tv(tv)) == pytest.approx(tv, rel=1e-9)
    assert tv_bound(1.01 * kl_for_tv(tv)) > tv


@given(st.floats(0.0, 1e6))
def test_tv_bound_is_a_probability_and_below_both_inequalities(kl):
    bound = tv_bound(kl)
    assert 0.0 <= bound <= 1.0
    # Two square roots and one expm1, each within a few units in the last place on any processor.
    rounding = 1.0 + 8.0 * np.finfo(np.float64).eps
    assert bound <= np.sqrt(kl / 2) * rounding
    assert bound <= np.sqrt(-np.expm1(-kl)) * rounding
