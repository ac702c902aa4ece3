"""A real table, raw and transformed, by least squares and robustly, ending in a report.

    python examples/diabetes.py [report.html]

442 patients of the diabetes study of Efron, Hastie, Johnstone and Tibshirani (2004), as
scikit-learn ships it. docs/real-data.md discusses what comes out.
"""

import sys

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes

import gaussnet as gn

MODEL = """
age
bmi         ~ age
bp          ~ age + bmi
glu         ~ age + bmi
hdl         ~ bmi
ltg         ~ age + bmi + hdl
tc          ~ age + hdl + ltg
ldl         ~ tc + hdl + ltg
progression ~ bmi + bp + glu + hdl + ltg
"""
NAMES = {"s1": "tc", "s2": "ldl", "s3": "hdl", "s4": "tch", "s5": "ltg", "s6": "glu"}


def patients() -> pd.DataFrame:
    """The table as shipped, columns named by what they hold; ltg is the log of triglycerides."""
    table = load_diabetes(as_frame=True, scaled=False).frame
    return table.rename(columns=NAMES | {"target": "progression"})


def transformed(table: pd.DataFrame) -> pd.DataFrame:
    """The same with triglycerides in mg/dl, as the laboratory measured them."""
    return table.assign(tg=np.exp(table["ltg"])).drop(columns="ltg")


def main() -> None:
    """Print both analyses, and write the report of the last fit."""
    raw = patients()
    for title, table, model in (
        ("log triglycerides, as shipped", raw, MODEL),
        ("triglycerides in mg/dl", transformed(raw), MODEL.replace("ltg", "tg")),
    ):
        dag = gn.Dag.parse(model)
        print(f"\n{title}\n{gn.cross_validate(table, dag)}")
        for method in ("least-squares", "robust"):
            fit = gn.fit(table, dag, method)
            slopes = {p: round(fit.network.coefficients[p, "ldl"], 5) for p in dag.parents("ldl")}
            scale = fit.network.variances["ldl"] ** 0.5
            print(f"{method}: ldl from {slopes}, standard deviation {scale:.4g}")
    print(f"\n{fit.outliers()}")
    report = sys.argv[1] if len(sys.argv) > 1 else "diabetes.html"
    gn.write_report(fit, report, title="Diabetes, robustly")
    print(f"\nreport in {report}")


if __name__ == "__main__":
    main()
