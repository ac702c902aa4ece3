"""Everything that gaussnet raises on purpose.

Each message is one sentence that says what came, what was expected and what to do next.
"""

LONGEST_CYCLE_SHOWN = 12


class GaussnetError(ValueError):
    """The root of all errors that a user of gaussnet can cause and mend."""


class GraphError(GaussnetError):
    """The graph is not a DAG, or names a node that is not there."""


class CycleError(GraphError):
    """The graph has a directed cycle; `cycle` lists its nodes in order."""

    def __init__(self, cycle: tuple[str, ...]) -> None:
        self.cycle = cycle
        shown = [repr(name) for name in cycle]
        if len(shown) > LONGEST_CYCLE_SHOWN:
            shown[LONGEST_CYCLE_SHOWN // 2 : -LONGEST_CYCLE_SHOWN // 2] = ["..."]
        path = " -> ".join((*shown, shown[0]))
        super().__init__(f"the graph has the cycle {path}: remove or turn one of these edges")

    def __reduce__(self) -> tuple[type["CycleError"], tuple[tuple[str, ...]]]:
        """Pickle by the cycle, not by the message."""
        return CycleError, (self.cycle,)


class NetworkError(GaussnetError):
    """Coefficients, variances or intercepts do not fit the graph."""


class DataError(GaussnetError):
    """The data do not fit the graph: shape, names, missing or infinite values."""


class EstimationError(GaussnetError):
    """The rows do not determine what was asked for."""


class SettingError(GaussnetError):
    """A setting is outside its range or unknown."""


class FileError(GaussnetError):
    """A file cannot be read or written, or does not hold what it should."""
