"""Where a rank is, what it waits for, and whether its line reads a tensor."""

from types import SimpleNamespace

import pytest

from course_utils.ranks.engine import place
from tests.support.flights import NOWHERE, entry


def test_a_rank_in_code_without_lines_still_says_where_it_is(monkeypatch):
    place.remember("<ranks cell 0>", "build()\n")
    cell = compile("build()", "<ranks cell 0>", "exec")
    outer = SimpleNamespace(f_code=cell, f_lineno=1, f_lasti=0, f_locals={}, f_back=None)
    made = SimpleNamespace(f_code=entry.__code__, f_lineno=None, f_lasti=0,
                           f_locals={}, f_back=outer)  # fmt: skip
    monkeypatch.setattr(place.sys, "_current_frames", lambda: {1: made})
    assert place.of_thread(1)["line"] == 1 and place.of_thread(1)["text"] == "build()"


READS = {
    "x.item()": True, "float(x)": True, "x.to('cpu')": True, "a.b.cpu()": True, "print(x)": True,
    "x.sum()": False, "time.sleep(1)": False, "f(x)": False,
}  # fmt: skip


@pytest.mark.parametrize("source", READS)
def test_what_reads_a_tensor_is_known_by_its_source(source, monkeypatch):
    place.remember("<ranks cell 1>", f"{source}\n")
    code = compile(source, "<ranks cell 1>", "exec")
    calls = [i.offset for i in place.dis.get_instructions(code) if i.opname == "CALL"]
    frame = SimpleNamespace(f_code=code, f_lineno=1, f_lasti=calls[-1], f_locals={}, f_back=None)
    monkeypatch.setattr(place.sys, "_current_frames", lambda: {1: frame})
    assert place.of_thread(1)["reads"] is READS[source]


def test_under_nccl_a_call_without_a_record_is_set_up_and_one_with_it_the_devices(recorders):
    call = NOWHERE | {"line": 3, "call": "all_reduce", "mark": "m"}
    assert place.with_wait(dict(call), nccl=False)["wait"] == "call"
    assert place.with_wait(dict(call), nccl=True)["wait"] == "set-up"
    recorders["_dump_nccl_trace_json"].append(entry("nccl", 0, retired=False))
    assert place.with_wait(dict(call), nccl=True)["wait"] == "device"
    read = NOWHERE | {"line": 3, "reads": True, "mark": "m"}
    assert place.with_wait(dict(read), nccl=True)["pending"]["name"] == "all_reduce"
    assert place.with_wait(NOWHERE | {"reads": False, "mark": "m"}, nccl=True)["wait"] is None
    backward = NOWHERE | {"line": 3, "call": "backward", "mark": "m"}
    assert place.with_wait(dict(backward), nccl=True)["wait"] == "device"
    recorders["_dump_nccl_trace_json"].clear()
    assert place.with_wait(dict(backward), nccl=True)["wait"] is None
    assert place.with_wait(dict(backward), nccl=False)["wait"] == "call"
    before = NOWHERE | {"call": "init_process_group", "mark": "m"}
    assert place.with_wait(dict(before), nccl=False)["wait"] == "set-up"
