"""The method that also says whether the data look contaminated."""

from dataclasses import dataclass

from gaussnet.errors import SettingError
from gaussnet.estimate.robust import SequentialTrim


@dataclass(frozen=True, slots=True)
class Auto(SequentialTrim):
    """The robust method, and a test of whether the data look contaminated, and where.

    The network is that of `SequentialTrim` with the same settings. For each node, least
    squares with the rows that were rejected is compared to least squares without them; see
    `Fit.contamination`.

    Parameters
    ----------
    level
        The chance with which clean data may be called contaminated, at most.

    Examples
    --------
    >>> Auto().name, Auto(level=0.01).level
    ('auto', 0.01)
    """

    level: float = 0.05
    name = "auto"

    def __post_init__(self) -> None:
        """Refuse a level that is no chance."""
        SequentialTrim.__post_init__(self)
        if not 0.0 < self.level < 1.0:
            raise SettingError(f"got level={self.level!r}, expected 0 < level < 1")
