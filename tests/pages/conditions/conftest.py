"""Fixtures of the browser's tests: one JupyterLab server, and a browser for each test."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.pages.conditions.lab import CHROMIUM, FLAGS, Lab, Server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """JupyterLab, started once a worker."""
    with Server(tmp_path_factory.mktemp("lab")) as started:
        yield started


@pytest.fixture
def browser() -> Iterator[Any]:
    """Chromium. (Not once a worker: Playwright's event loop would be in the notebooks' way.)"""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield launched
        finally:
            launched.close()


@pytest.fixture
def lab(server: Server, browser: Any) -> Iterator[Lab]:
    """A page of the server's, with no notebook yet."""
    opened = Lab(browser.new_page(viewport={"width": 1400, "height": 1000}), server)
    yield opened
    opened.close()


@pytest.fixture
def sheet(browser: Any) -> Any:
    """A page of a laptop's size; `wrong` is what the console and dialogs said."""
    page = browser.new_page(viewport={"width": 1366, "height": 768})
    page.wrong = []
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.on("dialog", lambda dialog: page.wrong.append(dialog.message))
    page.on("console", lambda line: page.wrong.append(line.text) if line.type == "error" else None)
    return page
