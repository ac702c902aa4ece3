"""`gaussnet sample`: rows from a network, written page by page."""

import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import gaussnet as gn
from gaussnet.cli.printing import Steps, progress
from gaussnet.data.pages import default_page_rows
from gaussnet.data.write import write_csv, write_rows
from gaussnet.model.checks import row_count
from gaussnet.seeds import generator
from gaussnet.types import FloatArray

STANDARD_OUTPUT = "-"


@dataclass(frozen=True, slots=True)
class Drawn:
    """What was drawn and where it went."""

    nodes: int
    rows: int
    seed: int
    out: str

    def to_dict(self) -> dict[str, int | str]:
        """The same as plain values, for JSON."""
        return asdict(self)


def run(model: Path, rows: int, seed: int, out: str) -> Drawn:
    """Draw rows from the network in a file and write them to another, or as CSV to stdout."""
    network = gn.read_network(model)
    pages = sample_pages(network, row_count(rows), seed)
    if out == STANDARD_OUTPUT:
        write_csv(sys.stdout.buffer, network.dag.nodes, pages)
        sys.stdout.flush()
    else:
        with progress(-(-rows // default_page_rows(len(network.dag)))) as tell:
            write_rows(out, network.dag.nodes, _told(pages, tell))
    return Drawn(len(network.dag), rows, seed, out)


def _told(pages: Iterator[FloatArray], tell: Steps) -> Iterator[FloatArray]:
    for page in pages:
        tell("writing rows")
        yield page


def sample_pages(network: gn.GaussianNetwork, rows: int, seed: int) -> Iterator[FloatArray]:
    """The rows of ``network.sample(rows, seed=seed)``, one page at a time.

    Examples
    --------
    >>> network = gn.networks.load("ecoli70")
    >>> [page.shape for page in sample_pages(network, 3, seed=0)]
    [(3, 46)]
    """
    stream = generator(seed)
    height = default_page_rows(len(network.dag))

    def pages() -> Iterator[FloatArray]:
        for start in range(0, rows, height):
            yield network.sample(min(height, rows - start), seed=stream)

    return pages()
