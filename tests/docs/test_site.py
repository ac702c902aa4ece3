"""The documentation site builds without a warning and needs nothing from elsewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FETCHED = re.compile(r'(?:src|href)="(https?://[^"]+\.(?:js|css|woff2?|png|svg))"')


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


def test_every_document_is_a_page_that_the_menu_leads_to(site):
    menu = (site / "index.html").read_text(encoding="utf-8")
    for document in (ROOT / "docs").glob("*.md"):
        assert (site / f"{document.stem}.html").exists()
        assert f'href="{document.stem}.html"' in menu or document.stem == "index"


def test_pages_load_nothing_from_elsewhere(site):
    for page in site.glob("*.html"):
        assert FETCHED.findall(page.read_text(encoding="utf-8")) == [], page.name


def test_formulas_are_shown_and_not_spelled(site):
    for name in ("theory", "api"):
        text = (site / f"{name}.html").read_text(encoding="utf-8")
        assert "<math" in text
        assert not re.search(r":math:|\.\. math::|arithmatex", text)


def test_the_reference_describes_every_public_name(site):
    import gaussnet as gn

    text = (site / "api.html").read_text(encoding="utf-8")
    identifiers = set(re.findall(r'id="gaussnet\.([\w.]+)"', text))
    described = {name.rsplit(".", 1)[-1] for name in identifiers}
    modules = {"baselines", "networks", "simulate", "sklearn", "__version__"}
    assert set(gn.__all__) - modules - described == set()
