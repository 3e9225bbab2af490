"""What torch's flight recorders know: read from both, and counted once."""

import time

from course_utils.ranks.groups import flight, torch_inside
from course_utils.ranks.watch import report
from course_utils.ranks.watch.report import Outcome
from tests.support.flights import entry


def test_both_recorders_are_read_and_an_entry_that_both_have_counts_once(recorders):
    gloo, nccl = recorders.values()
    reader = flight.Reader()
    gloo += [entry("gloo", 0)]
    nccl += [entry("nccl", 0, "broadcast"), entry("nccl", 1, is_p2p=True)]
    names = [(found["group"], found["name"]) for found in reader.fresh(flight.entries())]
    assert names == [("gloo:0", "all_reduce"), ("nccl:0", "broadcast")]
    assert reader.fresh(flight.entries()) == []
    gloo += (both := [entry("nccl", 2)])
    nccl += both
    assert len(reader.fresh(flight.entries())) == 1


def test_a_mismatch_that_only_nccls_recorder_knows_is_told(recorders):
    found = {}
    for rank, kind in enumerate(("Float", "Int")):
        recorders["_dump_nccl_trace_json"][:] = [entry("nccl", 0, input_dtypes=[kind])]
        found[rank] = Outcome(0.0, records=flight.Reader().fresh(flight.entries()))
    assert "rank 1: all_reduce of int32 [2]" in report.disagreement(found)


def test_a_torch_without_a_recorder_has_no_records(monkeypatch):
    from torch._C import _distributed_c10d as c10d

    for name in torch_inside.RECORDERS:
        monkeypatch.delattr(c10d, name, raising=False)
    assert flight.Reader().fresh(flight.entries()) == []


def test_pending_is_the_oldest_that_neither_recorder_calls_done(recorders):
    gloo, nccl = recorders.values()
    gloo += [entry("gloo", 0)]
    nccl += [entry("nccl", 0, retired=False, state="completed")]
    assert flight.pending(flight.entries()) == []
    nccl += [entry("nccl", n, retired=False, state="started") for n in (1, 2)]
    oldest = flight.told(flight.pending(flight.entries())[0])
    assert (oldest["group"], oldest["seq"]) == ("nccl:0", 2)


def test_entries_of_groups_that_are_closed_are_none_of_those_that_have_their_names(
    recorders, monkeypatch
):
    gloo, _ = recorders.values()
    monkeypatch.setattr(flight, "_since", 0)
    gloo += [entry("gloo", 0, retired=False)]
    assert len(flight.pending(flight.entries())) == 1
    flight.forget()
    assert flight.entries() == []
    gloo += [entry("gloo", 1, time_created_ns=time.time_ns())]
    assert len(flight.entries()) == 1
