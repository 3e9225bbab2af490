"""`make site`: what gives a prediction away is closed, and its pages need no other host."""

import json
import shutil
import subprocess
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_output

from course_utils.core.files import ROOT
from tests.pages.conditions.lab import CHROMIUM, FLAGS
from tools.site import __main__ as site

FIVE = ("index.html", "notebooks/00_index.html", "notebooks/02_async_execution.html")
FIVE += ("notebooks/07_mixed_precision.html", "INSTRUCTORS.html")
SIZES = ((1366, "light"), (1366, "dark"), (390, "light"))
AXE = ROOT / "build" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
FAULTS = """async () => (await axe.run({resultTypes: ['violations']})).violations
    .filter(one => ['serious', 'critical'].includes(one.impact))
    .map(one => [one.id, one.nodes.length, one.nodes[0].html.slice(0, 200)])"""
NAMELESS = "() => [...document.images].filter(one => !one.alt.trim()).map(one => one.src)"
TARGETS = "() => [...document.querySelectorAll('a[href]')].map(one => one.href)"


def cell(source, *outputs, **metadata):
    return new_code_cell(source, outputs=list(outputs), metadata=metadata)


def test_what_gives_a_prediction_away_is_closed_until_it_is_answered():
    figure = new_output("execute_result", {"image/png": "", "text/plain": "[figure] three"})
    printed = new_output("stream", text="3 ms")
    hidden = {"jupyter": {"source_hidden": True}}
    cells = [
        cell("show()", figure),
        cell('claim("a", "b", 1)', printed, **hidden),
        cell('predict("x.one", ..., "ms")', figure),
        cell("def f(): pass"),
        cell("show()", figure),
        cell("print(f())", printed),
        cell('claim("c", "d", 1)\nanswer("x.one", 3)', printed, **hidden),
        cell("show()", figure),
    ]
    site.fold(cells)
    assert [one.metadata.get("tags", []) for one in cells] == [
        [], ["hide-input"], [], [], ["hide-cell"], ["hide-output"], ["hide-cell"], [],
    ]  # fmt: skip


def test_every_prediction_of_a_chapter_is_answered_in_a_closed_cell():
    for path in (ROOT / "notebooks").glob("[01][1-9]_*.ipynb"):
        cells = nbformat.read(path, 4).cells
        site.fold(cells)
        code = [one for one in cells if one.cell_type == "code"]
        asked = {id for one in code for id in site.ASKED.findall(one.source)}
        closed = [one for one in code if "hide-cell" in one.metadata.get("tags", [])]
        assert asked == {id for one in closed for id in site.ANSWERED.findall(one.source)}


def test_a_link_to_what_the_site_does_not_show_is_plain_words():
    text = "[a](02_async_execution.ipynb) [b](../Makefile) [c](../README.md) ![d](../data) "
    text += "[e](solutions)"
    assert site.resolved(text, site.Path("notebooks/01_your_machine.ipynb")) == (
        "[a](02_async_execution.ipynb) b [c](../index.md) ![d](../data) [e](solutions/index.md)"
    )


@pytest.fixture(scope="module")
def built():
    done = subprocess.run(["make", "site"], cwd=ROOT, capture_output=True, text=True)
    if "No matching distribution" in done.stderr or "No module named venv" in done.stderr:
        pytest.skip("Sphinx can't be installed here")
    assert done.returncode == 0, done.stdout + done.stderr
    return site.SITE


@pytest.mark.thorough("tools/site", "requirements-site.txt")
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_five_pages_need_no_other_host_and_every_reader_can_use_them(built):
    from playwright.sync_api import sync_playwright

    if not AXE.exists() and shutil.which("npm"):
        install = [
            "npm",
            "install",
            "--silent",
            "--prefix",
            str(ROOT / "build" / "axe"),
            "axe-core",
        ]
        subprocess.run(install, capture_output=True)
    wrong = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for width, scheme in SIZES:
            page = browser.new_page(
                viewport={"width": width, "height": 800}, color_scheme=scheme, bypass_csp=True
            )
            requested, errors = [], []
            page.on("request", lambda one, to=requested: to.append(one.url))
            page.on("pageerror", lambda error, to=errors: to.append(str(error)))
            for name in FIVE:
                page.goto((built / name).as_uri())
                page.evaluate(
                    "for (const one of document.querySelectorAll('details')) one.open = true"
                )
                wrong += [(name, "no words", one) for one in page.evaluate(NAMELESS)]
                wrong += [(name, "broken", one) for one in broken(page.evaluate(TARGETS))]
                if page.evaluate("document.documentElement.scrollWidth") > width:
                    wrong.append((name, width, "scrolls sideways"))
                if AXE.exists():
                    page.add_script_tag(path=AXE)
                    wrong += [(name, width, scheme, *one) for one in page.evaluate(FAULTS)]
            wrong += errors + [one for one in requested if not one.startswith(("file:", "data:"))]
            page.close()
        browser.close()
    assert wrong == [], json.dumps(wrong, indent=1)
    if not AXE.exists():
        pytest.skip("axe-core isn't there: no npm, or no registry. All else was tested")


def broken(targets):
    """Those of the links to this site whose file or place in it isn't there."""
    inside = {one for one in targets if one.startswith("file:")}
    return [one for one in sorted(inside) if not is_there(urlsplit(one))]


def is_there(target):
    path = site.Path(unquote(target.path))
    place = unquote(target.fragment)
    return path.is_file() and (not place or f'id="{place}"' in path.read_text(encoding="utf-8"))
