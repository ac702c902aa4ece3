"""The script and the crontab of docs/nightly-job.md do what the page says."""

import csv
import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import gaussnet as gn

PAGE = (Path(__file__).parents[2] / "docs" / "nightly-job.md").read_text()


def block(before):
    """The indented block after these words, without its indent."""
    lines = PAGE.split(before, 1)[1].split("\n\n", 1)[1]
    return textwrap.dedent(re.match(r"(?:    .*\n|\n(?=    ))+", lines).group())


GRAPH, SCRIPT = block("holds the graph in `graph.txt`,"), block("this script, `nightly.sh`:")
CRON = block("One line of `crontab -e`")
DAG = gn.Dag.parse(GRAPH)
TRUTH = gn.simulate.random_network(DAG, seed=1, intercepts=(-1.0, 1.0))
PLACE = {node: place for place, node in enumerate(DAG.nodes)}


def write_day(folder, name, rows):
    with open(folder / "days" / f"{name}.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["time", *DAG.nodes])
        for hour, row in enumerate(rows.tolist()):
            writer.writerow([f"{hour}:00", *("" if np.isnan(cell) else repr(cell) for cell in row)])


@pytest.fixture
def garden(tmp_path):
    (tmp_path / "graph.txt").write_text(GRAPH)
    (tmp_path / "days").mkdir()
    (tmp_path / "nightly.sh").write_text(SCRIPT)
    (tmp_path / "nightly.sh").chmod(0o755)
    return tmp_path


def nightly(folder, name):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = [str(folder / "nightly.sh"), f"days/{name}.csv"]
    environment = os.environ | {"PATH": path}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, cwd="/", check=False
    )


@pytest.mark.skipif(os.name == "nt", reason="a shell script")
def test_the_script_adds_normal_days_and_stops_at_others(garden):
    days = [np.array(TRUTH.sample(400, seed=seed)) for seed in range(2)]
    for number, rows in enumerate(days):
        write_day(garden, f"day-{number}", rows)
        found = nightly(garden, f"day-{number}")
        assert (found.returncode, found.stdout, found.stderr) == (0, "", "")
    both = np.concatenate(days)
    model = gn.read_network(garden / "model.json")
    assert model == gn.fit(both, DAG, columns=list(DAG.nodes)).network
    before = (garden / "summary.npz").read_bytes()

    units = np.array(TRUTH.sample(400, seed=7))
    units[:, PLACE["rain"]] *= 1_000.0
    write_day(garden, "units", units)
    found = nightly(garden, "units")
    assert found.returncode == 3
    assert found.stderr.strip() in PAGE
    assert (garden / "summary.npz").read_bytes() == before
    told = json.loads((garden / "reports" / "units.json").read_text())
    assert told["drift"]["units"][0]["column"] == "rain"

    wrong = np.array(TRUTH.sample(400, seed=8))
    wrong[10, PLACE["wet"]] = 99.0
    write_day(garden, "wrong", wrong)
    found = nightly(garden, "wrong")
    assert found.returncode == 3
    assert found.stderr.startswith("gaussnet: contaminated in 'wet'")
    with open(garden / "reports" / "wrong-cells.csv") as file:
        cells = {(one["time"], one["column"]): one for one in csv.DictReader(file)}
    assert float(cells["10:00", "wet"]["value"]) == 99.0

    wrong[10, PLACE["wet"]] = np.nan  # mended, as the page says
    write_day(garden, "wrong", wrong)
    assert nightly(garden, "wrong").returncode == 0
    assert gn.load_summary(garden / "summary.npz").rows == 3 * 400 - 1
    again = nightly(garden, "wrong")
    assert again.returncode == 1
    assert "are in the summary already" in again.stderr
    assert nightly(garden, "none").returncode == 1


def test_the_line_of_the_crontab_is_one():
    minute, hour, *dates, command = CRON.split(None, 5)
    assert (minute.isdigit(), hour.isdigit(), dates) == (True, True, ["*", "*", "*"])
    assert "%" not in command.replace("\\%", "")
    assert command.startswith("/srv/garden/nightly.sh ")
