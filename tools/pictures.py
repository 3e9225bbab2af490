"""`make pictures`: takes the README's pictures in Chromium, of pages as a reader sees them."""

import io
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from course_utils.core import files
from course_utils.traces import published_trace
from snapshots_and_traces import snapshot_page, trace_page
from tests.pages.conditions.lab import CHROMIUM, FLAGS, Lab, Server

TO = files.ROOT / "docs" / "pictures"
WIDTH = 900  # of every picture, in pixels


def of_chapter(browser: Browser, folder: Path) -> None:
    """The end of chapter 9: a question, 6 GiB typed by a reader, and what the page answers."""
    page = browser.new_page(viewport={"width": WIDTH + 70, "height": 1000})
    with Server(folder) as server:
        lab = Lab(page, server)
        lab.open("09_memory_snapshots.ipynb")
        page.evaluate("window.jupyterapp.commands.execute('application:toggle-left-area')")
        lab.run("setup", "bytes", "count", "count-figure", "predict-fit")
        box = lab.show("predict-fit").get_by_role("textbox").last
        box.fill("6")
        box.press("Enter")
        lab.run("build", "small", "small-answers", "small-figure")
        page.evaluate("window.panel.content.activeCellIndex = 0")
        cells = [lab.show("fit").locator("p").last]
        cells += map(lab.show, ("predict-fit", "small-answers", "small-figure"))
        shown = [(one.bounding_box()["x"], one.screenshot()) for one in cells]
    parts = [(round(x - min(shown)[0]), Image.open(io.BytesIO(png))) for x, png in shown]
    whole = Image.new("RGB", (WIDTH, sum(part.height for _, part in parts)), "white")
    for n, (x, part) in enumerate(parts):
        whole.paste(part, (x, sum(above.height for _, above in parts[:n])))
    whole.save(TO / "page.png")


def of_page(browser: Browser, html: Path, name: str, height: int) -> None:
    """The upper part of a page in one file, `height` CSS pixels of it."""
    size = {"width": 1100, "height": 820}
    page = browser.new_page(viewport=size, device_scale_factor=WIDTH / size["width"])
    page.goto(html.as_uri())
    page.screenshot(path=TO / name, clip={**size, "x": 0, "y": 0, "height": height})


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        html = Path(folder, "page.html")
        snapshot_page(files.DATA / "snapshots" / "snapshot_leak.pickle").save(html)
        of_page(browser, html, "snapshot.png", 405)
        trace_page(published_trace("ddp_resnet50"), "ResNet-50 on 2 A100s").save(html)
        of_page(browser, html, "trace.png", 460)
        of_chapter(browser, Path(folder))
