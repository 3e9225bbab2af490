"""Cells that don't block the notebook, in a real kernel."""

import os
import signal

import ipykernel
import pytest

from tests.ranks.test_session import kernel, pytestmark, works  # noqa: F401
from tests.support.kernels import CELL_SECONDS, Kernel

LONG = "import time\nprint('begun', rank)\ntime.sleep(1000)"
BUSY = "A cell runs on the ranks in the background"


def test_a_cell_in_the_background_leaves_the_notebook_free(kernel):  # noqa: F811
    kernel.cell("rank", "2")
    code = "import os, time\nwhile not os.path.exists(flag):\n    time.sleep(0.05)\n"
    kernel.run("import os, tempfile\nflag = tempfile.mktemp()\nranks.push(flag=flag)")
    begun = kernel.client.execute(f"%%ranks --bg\n{code}print('done', rank)")
    assert kernel.run("1 + 1").text == "2"
    for refused in ("%%ranks\n1", "%%ranks --bg\n1", "ranks.pull('rank')", "ranks.run(os.getpid)"):
        assert BUSY in kernel.run(refused).error
    later = kernel.client.execute("open(flag, 'w').close()\nranks.wait()\nprint('waited')")
    said = {begun: "", later: ""}
    while "waited" not in said[later]:
        found = kernel.client.get_iopub_msg(timeout=CELL_SECONDS)
        if found["msg_type"] == "stream":
            said[found["parent_header"]["msg_id"]] += found["content"]["text"]
    assert said == {begun: "[rank 0] done 0\n[rank 1] done 1\n", later: "waited\n"}
    assert works(kernel)


@pytest.mark.skipif(ipykernel.version_info[0] < 7, reason="threads don't know their cell")
def test_its_live_area_is_in_its_own_cell(kernel):  # noqa: F811
    kernel.cell("import time", "2")
    steps = "for i in range(9):\n    print(i, end='\\r', flush=True)\n    time.sleep(0.2)"
    begun = kernel.client.execute(f"%%ranks --bg\n{steps}")
    later = kernel.client.execute("print('mine', flush=True)\nranks.wait()\nprint('waited')")
    heard = []
    while ("stream", later, "waited\n") not in heard:
        found = kernel.client.get_iopub_msg(timeout=CELL_SECONDS)
        kind, content = found["msg_type"], found["content"]
        heard.append((kind, found["parent_header"]["msg_id"], content.get("text")))
    kinds = {kind for kind, message, _ in heard if message == begun}
    assert {"stream", "display_data", "update_display_data", "clear_output"} <= kinds
    assert [text for kind, message, text in heard if (kind, message) == ("stream", later)] == [
        "mine\n", "waited\n"
    ]  # fmt: skip
    assert not {"display_data", "clear_output"} & {k for k, message, _ in heard if message == later}


def test_what_goes_wrong_is_said_in_the_cell_and_raised_by_wait_once(kernel):  # noqa: F811
    kernel.cell("1 / 0", "2 --bg")
    assert "✗ ranks 0 and 1, line 2: ZeroDivisionError" in kernel.run("ranks.wait()").error
    assert kernel.run("ranks.wait()").error == ""
    assert works(kernel)


def test_an_interrupt_reaches_it_while_one_waits(kernel):  # noqa: F811
    kernel.cell(LONG, "2 --bg")
    found = kernel.run("print('waiting', flush=True)\nranks.wait()", interrupt_when="waiting")
    assert "RanksInterrupted: ✗ Interrupted." in found.error and "time.sleep(1000)" in found.error
    assert works(kernel)


def test_new_ranks_and_a_killed_kernel_end_it(kernel):  # noqa: F811
    kernel.cell(LONG, "2 --bg")
    assert kernel.run("ranks.restart()\nranks.wait()").error == ""
    assert works(kernel)
    other = Kernel()
    other.cell(LONG, "2 --bg")
    os.kill(other.pid, signal.SIGKILL)
    assert other.seconds_until_gone() < CELL_SECONDS
    other.close()
