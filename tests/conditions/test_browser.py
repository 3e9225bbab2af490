"""The chapters in JupyterLab, in a real browser: they run, and their widgets move."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

from course_utils import files

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
QUIET = ("gpu", "quic", "background-networking", "component-update", "sync")
FLAGS = ["--no-sandbox", "--no-first-run", *(f"--disable-{what}" for what in QUIET)]
RUN_SECONDS = 240

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")


@pytest.fixture
def lab(tmp_path):
    """JupyterLab on a copy of the notebooks; its address, with the token."""
    shutil.copytree(files.NOTEBOOKS, tmp_path / "notebooks")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1"]
    command += [f"--port={port}", "--IdentityProvider.token=course"]
    command += [
        "--LabApp.news_url=",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]
    own = {
        "JUPYTER_CONFIG_DIR": str(tmp_path / "config"),
        "JUPYTER_DATA_DIR": str(tmp_path / "data"),
    }
    environment = {**os.environ, **own, "PYTHONPATH": str(files.ROOT)}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen(command, cwd=tmp_path / "notebooks", env=environment, **quiet)
    try:
        wait_for(f"http://127.0.0.1:{port}/api?token=course")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(timeout=30)


def wait_for(address, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(address).close()
            return
        except OSError:
            time.sleep(0.2)
    raise TimeoutError(f"no answer within {seconds} s")


@pytest.fixture
def page():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        yield page
        browser.close()


def test_chapter_2_runs_in_jupyterlab_and_its_widget_moves(lab, page):
    page.goto(f"{lab}/lab/tree/02_async_execution.ipynb?token=course&reset")
    page.locator(".jp-MarkdownOutput h1").first.wait_for(timeout=60_000)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name=re.compile("^Run All Cells")).first.click()
    page.locator(".jp-Notebook .widget-slider").first.wait_for(
        timeout=RUN_SECONDS * 1000, state="attached"
    )
    widget = page.locator(".jp-OutputArea-output .widget-vbox").first
    widget.scroll_into_view_if_needed()
    picture = widget.locator("img")
    before = picture.get_attribute("src")
    handle = widget.locator(".noUi-handle").first
    handle.focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    page.wait_for_function(
        "([image, old]) => image.src !== old",
        arg=[picture.element_handle(), before],
        timeout=60_000,
    )
    end = page.locator(".jp-Cell", has_text='check("async.double_buffer"').last
    end.scroll_into_view_if_needed()
    end.get_by_text("Not tried yet").wait_for(timeout=RUN_SECONDS * 1000)
    assert (
        page.locator('.jp-RenderedText[data-mime-type="application/vnd.jupyter.stderr"]').count()
        == 0
    )
    page.screenshot(path=files.ROOT / "build" / "chapter_02_in_jupyterlab.png")
