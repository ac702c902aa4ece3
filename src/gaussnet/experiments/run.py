"""A run: what is to be reproduced, checked once, and the tasks it is made of."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from gaussnet import __version__, kernels
from gaussnet.errors import SettingError
from gaussnet.experiments.catalogue import EXPERIMENTS, experiment_named
from gaussnet.experiments.settings import SETTINGS, settings_named
from gaussnet.experiments.tasks import Task
from gaussnet.seeds import check_seed

PAPER_NODES = 100
FEWEST_NODES = 20
FEWEST_ROWS = 50
MOST_REPETITIONS = 10_000


@dataclass(frozen=True, slots=True)
class Run:
    """Experiments, settings, repetitions and seed; experiments in the order of the paper.

    `nodes` and `rows` replace the paper's for a quick look; the real networks keep their nodes.

    Examples
    --------
    >>> run = Run.of(["tree", "er5"], ["plotted"], repetitions=2)
    >>> run.experiments, [task.name for task in run.tasks()]
    (('er5', 'tree'), ['plotted.er5.0000', 'plotted.er5.0001', 'plotted.tree.0000', ...])
    """

    experiments: tuple[str, ...]
    settings: tuple[str, ...]
    repetitions: int = 20
    seed: int = 0
    nodes: int = PAPER_NODES
    rows: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if not 1 <= self.repetitions <= MOST_REPETITIONS:
            raise SettingError(
                f"got repetitions={self.repetitions}, expected 1 to {MOST_REPETITIONS:,}"
            )
        if self.nodes < FEWEST_NODES:
            raise SettingError(f"got nodes={self.nodes}, expected at least {FEWEST_NODES}")
        if self.rows is not None and (not self.rows or min(self.rows) < FEWEST_ROWS):
            raise SettingError(f"got rows={self.rows}, expected at least {FEWEST_ROWS} each")

    @classmethod
    def of(
        cls,
        experiments: Iterable[str] = (),
        settings: Iterable[str] = (),
        *,
        repetitions: int = 20,
        seed: int = 0,
        nodes: int = PAPER_NODES,
        rows: Iterable[int] = (),
    ) -> "Run":
        """A run of the named experiments and settings, or of all where none is named."""
        asked = {experiment_named(name).name for name in experiments}
        kinds = {settings_named(name).name for name in settings}
        return cls(
            tuple(one.name for one in EXPERIMENTS if not asked or one.name in asked),
            tuple(one.name for one in SETTINGS if not kinds or one.name in kinds),
            repetitions,
            seed,
            nodes,
            tuple(sorted(set(rows))) or None,
        )

    def tasks(self, *, timed: bool = False) -> list[Task]:
        """All tasks whose results can be had again, in the order of the results.

        With `timed`, those that measure time instead.
        """
        return [
            Task(settings, name, repetition, self.seed, self.nodes, self.rows)
            for settings in self.settings
            for name in self.experiments
            if (experiment_named(name).condition == "runtime") == timed
            for repetition in range(self.repetitions)
        ]

    def description(self) -> dict[str, object]:
        """All that the results depend on, in plain values."""
        fields = asdict(self)
        lists = {key: list(value) for key, value in fields.items() if isinstance(value, tuple)}
        return {"gaussnet": __version__, "kernels": kernels.backend, **fields, **lists}
