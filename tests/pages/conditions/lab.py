"""JupyterLab on a copy of the chapters, in a real browser."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any, Self

import pytest

from course_utils.core import files

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
QUIET = ("gpu", "quic", "background-networking", "component-update", "sync")
FLAGS = ["--no-sandbox", "--no-first-run", *(f"--disable-{what}" for what in QUIET)]
NO_NEWS = '{"@jupyterlab/apputils-extension:notification": {"fetchNews": "false"}}'
RUN_MS = 240_000
HOST = "127.0.0.1"
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")

READY = """async (name) => {
    const app = window.jupyterapp
    await app.restored
    const panel = await app.commands.execute('docmanager:open', {path: name})
    await panel.context.ready
    await panel.sessionContext.ready
    window.panel = panel
}"""
RUN_ALL = "() => window.jupyterapp.commands.execute('notebook:run-all-cells')"
RUN_CELL = """async (id) => {
    const notebook = window.panel.content
    notebook.activeCellIndex = notebook.widgets.findIndex(cell => cell.model.id === id)
    await window.jupyterapp.commands.execute('notebook:run-cell')
}"""
IDLE = """() => {
    const kernel = window.panel.sessionContext.session?.kernel
    return kernel?.status === 'idle'
}"""
TEXT_OF = """(id) => {
    const model = window.panel.content.widgets.find(cell => cell.model.id === id).model
    return JSON.stringify(model.outputs.toJSON())
}"""


class Lab:
    """A page in JupyterLab, whose notebooks are in `folder`; `requests` are what it asked for."""

    def __init__(self, page: Any, server: "Server") -> None:
        self.page, self.address, self.folder = page, server.address, server.folder
        self.requests: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))

    def open(self, name: str) -> None:
        """Opens a notebook and waits until its kernel can run."""
        self.page.goto(f"{self.address}/lab?token=course&reset")
        self.page.wait_for_function("() => window.jupyterapp", timeout=60_000)
        self.page.evaluate(READY, name)
        self.page.wait_for_function(IDLE, timeout=60_000)

    def close(self) -> None:
        """Ends the notebook's kernel."""
        self.page.evaluate("async () => await window.panel?.sessionContext.shutdown()")

    def run_all(self) -> None:
        """Runs every cell; JupyterLab's command ends when the last one has."""
        self.page.set_default_timeout(RUN_MS)
        self.page.evaluate(RUN_ALL)
        self.page.wait_for_function(IDLE, timeout=RUN_MS)

    def run(self, *cells: str) -> None:
        """Runs the cells with these ids, in this order, and waits for the last."""
        for cell in cells:
            self.page.evaluate(RUN_CELL, cell)
        self.page.wait_for_function(IDLE, timeout=RUN_MS)

    def outputs(self, cell: str) -> str:
        """The outputs of the cell with this id, as JSON text."""
        return self.page.evaluate(TEXT_OF, cell)

    def show(self, cell: str) -> Any:
        """The cell with this id, scrolled into view."""
        find = "id => window.panel.content.widgets.findIndex(cell => cell.model.id === id)"
        index = self.page.evaluate(find, cell)
        self.page.evaluate("i => window.panel.content.scrollToItem(i, 'start')", index)
        return self.page.locator(f'.jp-Cell[data-windowed-list-index="{index}"]')


class Server:
    """JupyterLab with its own folders, a free port and a token, gone at the end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "notebooks"
        shutil.copytree(files.NOTEBOOKS, self.folder)
        settings = folder / "lab" / "settings"
        settings.mkdir(parents=True)
        (settings / "overrides.json").write_text(NO_NEWS)
        with socket.socket() as free:
            free.bind((HOST, 0))
            self.address = f"http://{HOST}:{free.getsockname()[1]}"
        options = {
            "ServerApp.ip": HOST,
            "ServerApp.port": self.address.rpartition(":")[2],
            "ServerApp.open_browser": "False",
            "ServerApp.allow_root": "True",
            "IdentityProvider.token": "course",
            "LabApp.expose_app_in_browser": "True",
            "LabApp.app_settings_dir": str(settings),
        }
        command = [sys.executable, "-m", "jupyterlab"]
        command += [f"--{name}={value}" for name, value in options.items()]
        own = {f"JUPYTER_{k}_DIR": str(folder / k) for k in ("CONFIG", "DATA", "RUNTIME")}
        environment = {**os.environ, **own, "PYTHONPATH": files.python_path()}
        self.log = open(folder / "server.log", "w")  # noqa: SIM115
        self.process = subprocess.Popen(
            command, cwd=self.folder, env=environment, stdout=self.log, stderr=self.log
        )

    def __enter__(self) -> Self:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                urllib.request.urlopen(f"{self.address}/api?token=course").close()
                return self
            except OSError:
                time.sleep(0.2)
        self.__exit__()
        raise TimeoutError(Path(self.log.name).read_text())

    def __exit__(self, *_error: object) -> None:
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
