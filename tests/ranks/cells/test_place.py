"""Where a rank is, what it waits for, and whether its line reads a tensor."""

import threading
from types import SimpleNamespace

import pytest

from course_utils.ranks.cells import place
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


def waits_as(monkeypatch, call, nccl=False, **found):
    """How a main thread in `call` waits, with what `waits` finds of the process."""
    seen = {"needs": [], "acting": [], "waits": bool(found.get("needs"))} | found
    monkeypatch.setattr(place.waits, "of_process", lambda main, pending: seen)
    monkeypatch.setattr(place.waits, "may_wait", lambda main: bool(call))
    here = NOWHERE | {"line": 3, "call": call, "mark": "m", "reads": call is None}
    return place.with_wait(here, 0, nccl)["wait"]


def test_who_waits_says_for_what_kind_of_thing(monkeypatch, recorders):
    gloo = {"kind": "collective", "group": "gloo:0", "name": "all_reduce", "seq": 1}
    nccl = gloo | {"group": "nccl:0"}
    assert waits_as(monkeypatch, "all_reduce", needs=[gloo]) == "call"
    assert waits_as(monkeypatch, "wait", True, needs=[nccl]) == "device"
    assert waits_as(monkeypatch, "all_reduce", True, needs=[{"kind": "call"}]) == "set-up"
    assert waits_as(monkeypatch, "all_reduce", False, needs=[{"kind": "call"}]) == "call"
    assert waits_as(monkeypatch, "new_group", needs=[{"kind": "set-up"}]) == "set-up"
    assert waits_as(monkeypatch, "forward") is None


def test_who_reads_a_tensor_while_a_collective_is_under_way_waits_for_the_device(
    monkeypatch, recorders
):
    pending = {"kind": "collective", "group": "nccl:0", "name": "all_reduce", "seq": 1}
    monkeypatch.setattr(place.waits, "collectives", lambda entries: [pending] * len(entries))
    assert waits_as(monkeypatch, None) is None
    recorders["_dump_nccl_trace_json"].append(entry("nccl", 0, retired=False))
    assert waits_as(monkeypatch, None) == "device"
    assert waits_as(monkeypatch, "backward", True) is None  # it computes


def test_a_rank_that_works_isnt_asked_for_its_record(monkeypatch, recorders):
    monkeypatch.setattr(place.flight, "entries", lambda: pytest.fail("it was read"))
    working = NOWHERE | {"line": 3, "mark": "m", "reads": False}
    assert place.with_wait(working, threading.get_ident(), nccl=False)["wait"] is None
