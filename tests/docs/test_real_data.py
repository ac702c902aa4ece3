"""What the pages on real data say, against regressions by hand."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gaussnet as gn

SIZES = {"none": 853, "ICAM2": 902, "Akt": 911, "G0076": 723, "PIP2": 810, "Mek": 799, "LY": 848,
         "PMA": 913, "cAMP": 707}  # fmt: skip
NAMES = ["Raf", "Mek", "Plcg", "PIP2", "PIP3", "Erk", "Akt", "PKA", "PKC", "P38", "Jnk"]
MODEL = "Erk ~ Mek + PKA; Akt ~ Erk + PKA; Mek ~ PKC + PKA + Raf; Raf ~ PKC + PKA; PKA ~ PKC"
TARGETS = {"Akt": ["Akt"], "PIP2": [], "Mek": ["Mek"], "LY": ["Akt"], "PMA": ["PKC"],
           "cAMP": ["PKA"]}  # fmt: skip


@pytest.fixture(scope="module")
def cells():
    folder = Path(find_spec("cdt").origin).parent / "data" / "resources"
    frame = np.log(pd.read_csv(folder / "cyto_full_data.csv").set_axis(NAMES, axis=1))
    assert len(frame) == sum(SIZES.values())
    return frame.assign(reagent=np.repeat(list(SIZES), list(SIZES.values())))


def regression(frame, child, parents):
    design = np.column_stack((np.ones(len(frame)), frame[parents]))
    slopes = np.linalg.lstsq(design, frame[child], rcond=None)[0][1:]
    return dict(zip(parents, slopes, strict=True))


def effect_by_hand(akt, erk, mek, raf):
    """PKA on Akt: direct, over Erk, over Mek and Erk, over Raf, Mek and Erk."""
    over_mek = mek["PKA"] + mek["Raf"] * raf["PKA"]
    return akt["PKA"] + akt["Erk"] * (erk["PKA"] + erk["Mek"] * over_mek)


def by_hand(cells, left_out):
    families = {
        "Akt": ["Erk", "PKA"],
        "Erk": ["Mek", "PKA"],
        "Mek": ["PKC", "PKA", "Raf"],
        "Raf": ["PKC", "PKA"],
    }
    slopes = [
        regression(cells[~cells["reagent"].isin(left_out.get(child, []))], child, parents)
        for child, parents in families.items()
    ]
    return effect_by_hand(*slopes)


def test_the_sign_of_an_effect_depends_on_naming_what_the_reagents_did(cells):
    observed = gn.fit(cells[cells["reagent"] == "none"], MODEL).effect("PKA", "Akt")
    pooled = gn.fit(cells, MODEL).effect("PKA", "Akt")
    named = TARGETS | {"G0076": ["PKC"]}
    paper = gn.fit(cells, MODEL, interventions={"reagent": named}).effect("PKA", "Akt")
    nodes = list(gn.Dag.parse(MODEL).nodes)
    every = TARGETS | {"G0076": nodes}
    right = gn.fit(cells, MODEL, interventions={"reagent": every}).effect("PKA", "Akt")
    only = cells[cells["reagent"] == "none"]
    assert observed.value == pytest.approx(by_hand(only, {}), abs=1e-10)
    assert pooled.value == pytest.approx(by_hand(cells, {}), abs=1e-10)
    masked = {"Akt": ["Akt", "LY"], "Mek": ["Mek"]}
    assert paper.value == pytest.approx(by_hand(cells, masked), abs=1e-10)
    fully = {node: [*masked.get(node, []), "G0076"] for node in nodes}
    assert right.value == pytest.approx(by_hand(cells, fully), abs=1e-10)
    assert pooled.high < 0.0 < right.low
    assert paper.high < 0.0  # the targets that the paper names are not enough
    assert observed.low < right.value < observed.high
    assert right.standard_error < 0.5 * observed.standard_error


def test_the_famous_wrong_cells_of_the_cars_are_flagged():
    folder = Path(find_spec("robpy").origin).parent / "datasets" / "data"
    cars = pd.read_csv(folder / "topgear.csv")
    table = cars[["Length", "Width", "Height", "Displacement", "Weight", "BHP", "MPG"]]
    model = (
        "Width ~ Length; Height ~ Length + Width; Displacement ~ Length; BHP ~ Displacement; "
        "Weight ~ Length + Width + Height + Displacement; MPG ~ Displacement + Weight + BHP"
    )
    fit = gn.fit(np.log(table), model, "robust", missing="drop-by-node")
    flagged = {(cars["Model"][cell.row], cell.node) for cell in fit.outliers()}
    assert {("107", "Weight"), ("i3", "MPG"), ("Ampera", "MPG"), ("Volt", "MPG")} <= flagged
