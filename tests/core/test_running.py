"""A long step shows a bar where somebody watches, and can be stopped."""

import os
import time

import pytest
from jupyter_client.manager import start_new_kernel

from course_utils.core import files
from course_utils.core.running import UNATTENDED


@pytest.fixture
def kernel(monkeypatch):
    """A kernel as a reader's is, and a function that runs a cell in it and returns the reply."""
    for name in (UNATTENDED, "PYTEST_VERSION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONPATH", str(files.ROOT))
    manager, client = start_new_kernel()
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def test_a_long_step_shows_a_bar_and_stops_cleanly(kernel, tmp_path):
    manager, client = kernel
    begun = tmp_path / "begun"
    cell = (
        "import time\nfrom course_utils import bar\n"
        f"for i in bar(range(10**6), 'training'):\n"
        f"    time.sleep(0.01)\n    i == 150 and open({str(begun)!r}, 'w').close()"
    )
    request = client.execute(cell)
    end = time.monotonic() + 60
    while not begun.exists():
        assert time.monotonic() < end
        time.sleep(0.05)
    manager.interrupt_kernel()
    while (reply := client.get_shell_msg(timeout=30))["parent_header"].get("msg_id") != request:
        pass  # a kernel that was slow to start answers several times that it is there
    assert reply["content"]["ename"] == "KeyboardInterrupt"
    shown = []
    while True:
        message = client.get_iopub_msg(timeout=10)
        mine = message["parent_header"].get("msg_id") == request
        if mine and message["content"].get("execution_state") == "idle":
            break
        shown.append(str(message["content"]))
    assert any("training" in text for text in shown)
    code = "import psutil, json; print(len(psutil.Process().children()))"
    done = client.execute_interactive(code, timeout=30, output_hook=shown.append)
    assert done["content"]["status"] == "ok"
    assert shown[-2]["content"].get("text") == "0\n"


def test_nobody_there_no_bar(capfd):
    from course_utils import bar

    assert list(bar(range(3), "steps")) == [0, 1, 2]
    assert capfd.readouterr() == ("", "") and "PYTEST_VERSION" in os.environ
