"""Cells that don't block the notebook, in a real kernel."""

import ipykernel
import pytest

from notebook_ranks.tests.kernels import CELL_SECONDS

LONG = "import time\nprint('begun', rank)\ntime.sleep(1000)"
BUSY = "A cell runs on the ranks in the background"


def test_a_cell_in_the_background_leaves_the_notebook_free(kernel):
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
    assert said[begun].endswith("[rank 0] done 0\n[rank 1] done 1\n")
    assert said[later] == "waited\n"
    assert kernel.works()


@pytest.mark.skipif(ipykernel.version_info[0] < 7, reason="threads don't know their cell")
def test_its_live_area_is_in_its_own_cell(kernel, tmp_path):
    kernel.cell("import os, time", "2")
    steps = f"for i in range(600):\n    if os.path.exists('{tmp_path}/seen'):\n        break\n"
    steps += "    print(i, end='\\r', flush=True)\n    time.sleep(0.1)"
    begun = kernel.client.execute(f"%%ranks --bg\n{steps}")
    later = kernel.client.execute("print('mine', flush=True)\nranks.wait()\nprint('waited')")
    heard, said = [], ""  # a line may come in two parts
    while "waited\n" not in said:
        found = kernel.client.get_iopub_msg(timeout=CELL_SECONDS)
        kind, content = found["msg_type"], found["content"]
        heard.append((kind, found["parent_header"]["msg_id"], content.get("text")))
        if kind == "update_display_data":
            (tmp_path / "seen").touch()
        if heard[-1][:2] == ("stream", later):
            said += content["text"]
    kinds = {kind for kind, message, _ in heard if message == begun}
    assert {"stream", "display_data", "update_display_data", "clear_output"} <= kinds
    assert said == "mine\nwaited\n"
    assert not {"display_data", "clear_output"} & {k for k, message, _ in heard if message == later}


def test_what_goes_wrong_is_said_in_the_cell_and_raised_by_wait_once(kernel):
    kernel.cell("1 / 0", "2 --bg")
    assert "✗ ranks 0 and 1, line 2: ZeroDivisionError" in kernel.run("ranks.wait()").error
    assert kernel.run("ranks.wait()").error == ""


def test_an_interrupt_reaches_it_while_one_waits_and_new_ranks_end_it(kernel):
    kernel.cell(LONG, "2 --bg")
    found = kernel.run("print('waiting', flush=True)\nranks.wait()", interrupt_when="waiting")
    assert "RanksInterrupted: ✗ Interrupted." in found.error
    kernel.cell(LONG, "2 --bg")
    assert kernel.run("ranks.restart()\nranks.wait()").error == ""
    assert kernel.works()
