"""Run all benchmarks and write the table and the plots.

    python -m benchmarks [--quick] [--out FOLDER] [--docs]

`--quick` leaves out the million rows, for a look in a minute. `--docs` also enters the table and
the pictures into docs/performance.md.
"""

import argparse
import dataclasses
import json
import platform
import shutil
from pathlib import Path

import numpy as np

import gaussnet as gn
from benchmarks import after_the_fit, growth, pictures, sections
from benchmarks.sections import Line
from benchmarks.workloads import W2, W3, W4, W5
from gaussnet import kernels
from gaussnet.kernels.threads import available_threads

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out the largest workloads")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--docs", action="store_true", help="enter the figures into docs/")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    lines = measure(options.quick)
    curves = measure_growth(options.quick)
    write(options.out, lines, curves)
    if options.docs:
        enter_into_docs(options.out, lines, "--quick" if options.quick else "")


def measure(quick: bool) -> list[Line]:
    """All sections, printed as they come."""
    largest = W3 if quick else W4
    plan = [
        ("small problems", sections.small),
        *((str(work), lambda w=work: sections.methods(w)) for work in (W2, W3, W5)),
        *(() if quick else ((str(W4), lambda: sections.methods(W4)),)),
        *(
            (f"{work}, public function", lambda w=work: sections.public_overhead(w))
            for work in ((W3, W5) if quick else (W3, W4, W5))
        ),
        ("other programs", sections.other_programs),
        ("NumPy kernels", sections.numpy_kernels),
        ("after the fit", after_the_fit.section),
        ("start", sections.start),
        ("memory", lambda: sections.memory(largest)),
        ("threads", lambda: sections.threads_agree(W3)),
        ("files", lambda: sections.parquet(1_000_000 if quick else 10_000_000)),
    ]
    lines = []
    for title, section in plan:
        print(f"\n{title}", flush=True)
        for line in section():
            print(f"  {as_text(line)}", flush=True)
            lines.append(line)
    return lines


def measure_growth(quick: bool) -> dict[str, growth.Curve]:
    """The growth curves."""
    return {
        "rows": growth.by_rows(100_000 if quick else 1_000_000),
        "nodes": growth.by_nodes(1_000 if quick else 10_000),
        "parents": growth.by_parents(),
        "threads": growth.by_threads(W3 if quick else W4, available_threads()),
    }


def write(out: Path, lines: list[Line], curves: dict[str, growth.Curve]) -> None:
    """Table as Markdown and JSON, plots as PNG."""
    record = {
        "version": gn.__version__,
        "kernels": kernels.backend,
        "numpy": np.__version__,
        "machine": f"{platform.machine()}, {available_threads()} processors",
        "lines": [dataclasses.asdict(line) for line in lines],
        "growth": curves,
    }
    (out / "results.json").write_text(json.dumps(record, indent=1) + "\n")
    (out / "table.md").write_text(as_table(lines))
    pictures.draw_ratios(lines, out / "ratios.png")
    pictures.draw_growth(curves, out / "growth.png")
    missed = [line.what for line in lines if line.met is False]
    print(f"\n{len(lines)} figures, {len(missed)} miss their target: {missed or 'none'}")


def enter_into_docs(out: Path, lines: list[Line], option: str) -> None:
    """Rewrite what stands between the marks of docs/performance.md, and its pictures."""
    page = Path("docs/performance.md")
    before, rest = page.read_text().split(BEGIN)
    _, after = rest.split(END)
    missed = sum(line.met is False for line in lines)
    how = (
        f"From `python -m benchmarks {option}".rstrip() + f"` with version {gn.__version__} on "
        f"{platform.machine()}, {available_threads()} processors, NumPy {np.__version__}, "
        f"{kernels.backend} kernels. {len(lines)} figures, {missed} miss their target."
    )
    page.write_text(f"{before}{BEGIN}\n{how}\n\n{as_table(lines)}{END}{after}")
    for name in ("ratios", "growth"):
        shutil.copy(out / f"{name}.png", f"docs/images/benchmark-{name}.png")


def as_text(line: Line) -> str:
    verdict = {True: "met", False: "MISSED", None: ""}[line.met]
    return f"{line.what:58} {line.figure:9.3g} {line.unit:24} {line.target:10} {verdict}"


def as_table(lines: list[Line]) -> str:
    """The lines as a Markdown table."""
    rows = ["| what | figure | unit | target | met |", "|---|---:|---|---|---|"]
    for line in lines:
        met = {True: "yes", False: "**no**", None: ""}[line.met]
        rows.append(f"| {line.what} | {line.figure:.3g} | {line.unit} | {line.target} | {met} |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    main()
