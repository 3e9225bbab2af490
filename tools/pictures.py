"""`make pictures`: takes the README's pictures in Chromium, of pages as a reader sees them.

The end of chapter 9 in JupyterLab, with a prediction typed into its box; and the pages that
`snapshot` and `trace` make of files in data/.
"""

import io
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from course_utils.core import files
from course_utils.traces import published_trace
from snapshots_and_traces import snapshot_page, trace_page
from tests.pages.conditions.lab import CHROMIUM, FLAGS, Lab, Server

TO = files.ROOT / "docs" / "pictures"
WIDTH = 900  # of every picture, in pixels
BEFORE = "setup", "bytes", "live", "count", "count-figure", "predict-fit"
AFTER = "build", "small", "small-answers", "small-figure"


def of_chapter(browser: Any, folder: Path) -> None:
    """The question about GPT-2 small, a reader's 6 GiB, and what the page answers."""
    with Server(folder) as server:
        page = browser.new_page(viewport={"width": WIDTH + 70, "height": 1000})
        lab = Lab(page, server)
        lab.open("09_memory_snapshots.ipynb")
        page.evaluate("window.jupyterapp.commands.execute('application:toggle-left-area')")
        lab.run(*BEFORE)
        box = lab.show("predict-fit").get_by_role("textbox").last
        box.fill("6")
        box.press("Enter")
        lab.run(*AFTER)
        page.evaluate("window.panel.content.activeCellIndex = 0")
        question = lab.show("fit").locator("p").last
        cells = [question, *map(lab.show, ("predict-fit", "small-answers", "small-figure"))]
        shown = [(one.bounding_box()["x"], one.screenshot()) for one in cells]
        lab.close()
    parts = [(round(x), Image.open(io.BytesIO(png))) for x, png in shown]
    left, below = min(x for x, _ in parts), 0
    whole = Image.new("RGB", (WIDTH, sum(part.height for _, part in parts)), "white")
    for x, part in parts:
        whole.paste(part, (x - left, below))
        below += part.height
    whole.save(TO / "page.png")


def of_page(browser: Any, html: Path, name: str, height: int) -> None:
    """The upper part of a page in one file, `height` CSS pixels of it."""
    size = {"width": 1100, "height": 820}
    page = browser.new_page(viewport=size, device_scale_factor=WIDTH / size["width"])
    page.goto(html.as_uri())
    page.wait_for_load_state("networkidle")
    page.screenshot(path=TO / name, clip={**size, "x": 0, "y": 0, "height": height})


def main() -> None:
    """Writes docs/pictures/*.png."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        folder, html = Path(name), Path(name) / "page.html"
        snapshot_page(files.DATA / "snapshots" / "snapshot_leak.pickle").save(html)
        of_page(browser, html, "snapshot.png", 405)
        trace_page(published_trace("ddp_resnet50"), "ResNet-50 on 2 A100s").save(html)
        of_page(browser, html, "trace.png", 460)
        of_chapter(browser, folder)


if __name__ == "__main__":
    main()
