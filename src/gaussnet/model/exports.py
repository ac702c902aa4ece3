"""The part of a network that speaks to other programs."""

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from gaussnet.model.formats.lavaan import Values
    from gaussnet.model.network import GaussianNetwork


class Exports:
    """How a network goes to networkx and lavaan."""

    def to_networkx(self) -> Any:
        """A networkx DiGraph: nodes with `intercept` and `variance`, edges with `coefficient`.

        Examples
        --------
        >>> import gaussnet as gn
        >>> network = gn.GaussianNetwork.from_arrays(gn.Dag.parse("[a][b|a]"), [2.0], [1.0, 0.5])
        >>> network.to_networkx().edges["a", "b"]
        {'coefficient': 2.0}
        """
        from gaussnet.model.formats.attributes import to_networkx

        return to_networkx(cast("GaussianNetwork", self))

    @classmethod
    def from_networkx(cls, graph: Any) -> "GaussianNetwork":
        """The network of a networkx DiGraph with the attributes that `to_networkx` gives."""
        from gaussnet.model.formats.attributes import from_networkx

        return from_networkx(graph)

    def to_lavaan(self, values: "Values" = "free") -> str:
        """Model text for lavaan and semopy; parameters "free", "fixed" or with "start" values.

        Fit it with ``lavaan(text, data, fixed.x = FALSE)``, for `sem` adds covariances of its
        own, or with semopy's ``ModelMeans``.

        Examples
        --------
        >>> import gaussnet as gn
        >>> network = gn.GaussianNetwork.from_arrays(gn.Dag.parse("[a][b|a]"), [2.0], [1.0, 0.5])
        >>> network.to_lavaan("start").splitlines()[2]
        'b ~ start(2.0)*a'
        """
        from gaussnet.model.formats.lavaan import to_lavaan

        return to_lavaan(cast("GaussianNetwork", self), values)
