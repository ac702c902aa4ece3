"""What a column should be, given all the others."""

from gaussnet import kernels
from gaussnet._types import FloatArray
from gaussnet.model.network import GaussianNetwork


def expected_from_rest(network: GaussianNetwork, rows: FloatArray) -> FloatArray:
    r"""The conditional mean of every node given all others, (rows, nodes).

    With residuals :math:`e` and precision :math:`K`,

    .. math:: x_i - \frac{e_i / s_i^2 - \sum_c a_{ci} e_c / s_c^2}{K_{ii}}, \qquad
              K_{ii} = \frac{1}{s_i^2} + \sum_c \frac{a_{ci}^2}{s_c^2},

    where c runs over the children of i: only parents, children and the children's other parents
    matter. A node's own value cancels.

    Examples
    --------
    >>> import numpy as np
    >>> from gaussnet.graph.dag import Dag
    >>> network = GaussianNetwork.from_arrays(Dag.parse("[a][b|a]"), [2.0], [1.0, 1.0])
    >>> expected_from_rest(network, np.array([[7.0, 5.0]])).tolist()
    [[2.0, 14.0]]
    """
    from scipy.sparse import csr_array

    network._check_has_density()
    families = network.dag.families
    places = (families.parents, families.family_of_edge)
    slopes = csr_array((network.coefficient_array, places), shape=2 * (len(network.dag),))
    weights = 1.0 / network.variance_array
    errors = kernels.residuals(rows, families, network.coefficient_array)
    errors = (errors - network.intercept_array[:, None]) * weights[:, None]
    precisions = weights + slopes.power(2) @ weights
    expected: FloatArray = rows - ((errors - slopes @ errors) / precisions[:, None]).T
    return expected
