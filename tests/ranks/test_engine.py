"""The rooms under `ranks`, one by one and without processes: judgements, words, lines."""

import json
import multiprocessing
import socket
import threading
from types import SimpleNamespace

import pytest

from course_utils.ranks.engine import flight, place, report, wire
from course_utils.ranks.engine.group import choose_backend
from course_utils.ranks.engine.printer import Printer
from course_utils.ranks.engine.report import Outcome
from course_utils.ranks.engine.stall import HURRY_SECONDS, PATIENCE_SECONDS, Watch

NOWHERE = {"line": None, "text": "", "inside": "", "call": None, "tensors": ""}


@pytest.mark.parametrize(
    "n, gpus, wanted, rank, chosen",
    [
        (4, 0, None, 1, ("gloo", "cpu")),
        (4, 4, None, 1, ("nccl", "cuda:1")),
        (2, 8, None, 1, ("nccl", "cuda:1")),
        (4, 1, None, 1, ("gloo", "cpu")),
        (4, 1, "cuda", 1, ("gloo", "cuda:0")),
        (4, 2, "cuda", 3, ("gloo", "cuda:1")),
        (4, 4, "cpu", 1, ("gloo", "cpu")),
        (2, 2, "cuda", 0, ("nccl", "cuda:0")),
    ],
)
def test_ranks_get_a_gpu_each_or_share_over_gloo(n, gpus, wanted, rank, chosen):
    assert choose_backend(n, gpus, rank, wanted) == chosen


def test_cuda_without_a_gpu_is_a_sentence():
    with pytest.raises(ValueError, match="needs a GPU"):
        choose_backend(2, 0, 0, "cuda")


CALL, DEVICE, SET_UP = (PATIENCE_SECONDS[wait] for wait in ("call", "device", "set-up"))


def at(wait, mark="m", cpu=0.0, pending=None):
    """A sample of a rank that waits so, or works where `wait` is None."""
    return {"wait": wait, "mark": mark, "cpu": cpu, "call": wait, "tensors": "", "pending": pending}


def watched(samples, now, failed=False):
    """The verdict on samples (second, rank, how it waits or None, mark, processor seconds)."""
    watch = Watch(0.0)
    for second, rank, wait, mark, cpu in samples:
        watch.add(rank, at(wait, mark, cpu), second)
    return watch.stuck({s[1] for s in samples}, now, failed)


def test_ranks_that_all_wait_at_one_place_are_stuck_after_a_while():
    samples = [(t, r, "call", "m", 0.1) for t in (0, 1, 2, 3) for r in (0, 1)]
    assert watched(samples, CALL)
    assert not watched(samples, CALL - 0.1)


def test_once_a_rank_has_failed_the_others_are_waited_for_less_long():
    samples = [(t, 0, "call", "m", 0.1) for t in (0, 0.3, 0.6)]
    assert watched(samples, HURRY_SECONDS["call"], failed=True)


def judged(waits, now, ended=0):
    """The verdict on ranks that wait so from second 0 on, spinning; `ended` ranks have finished."""
    watch = Watch(0.0)
    for _ in range(ended):
        watch.progress(0.0)
    for second in range(int(now) + 1):
        for rank, (wait, pending) in enumerate(waits):
            watch.add(rank, at(wait, cpu=float(second), pending=pending), second)
    return watch.stuck(set(range(len(waits))), now, failed=False)


def test_who_spins_for_a_device_whose_collective_nobody_joins_is_stuck():
    sum_, other = {"name": "all_reduce", "seq": [3, 0]}, {"name": "broadcast", "seq": [3, 0]}
    assert judged([("device", sum_)], DEVICE, ended=1)
    assert judged([("device", sum_), ("device", other)], DEVICE)
    assert not judged([("device", sum_)], DEVICE - 1, ended=1)
    assert not judged([("device", sum_), (None, None)], 2 * DEVICE)


def test_ranks_in_the_same_long_work_of_their_devices_or_set_up_are_slow_not_stuck():
    sum_ = {"name": "all_reduce", "seq": [3, 0]}
    assert not judged([("device", sum_)] * 4, 10 * DEVICE)
    assert not judged([("set-up", None)] * 4, 10 * SET_UP)
    assert judged([("set-up", None)] * 3, SET_UP, ended=1)
    assert not judged([("set-up", None)] * 3, SET_UP - 1, ended=1)


@pytest.mark.parametrize(
    "why, other",
    [
        ("works in Python", (None, ["a"] * 4, [0, 1, 2, 3])),
        ("sleeps", (None, ["a"] * 4, [0, 0, 0, 0])),
        ("moves on", ("call", ["a", "b", "c", "d"], [0, 0, 0, 0])),
        ("sends a large tensor", ("call", ["a"] * 4, [0, 0.5, 1, 1.5])),
    ],
)
def test_a_slow_rank_is_no_stall(why, other):
    wait, marks, cpus = other
    samples = [(t, 0, "call", "m", 0.0) for t in range(4)]
    samples += [(t, 1, wait, marks[t], cpus[t]) for t in range(4)]
    assert not watched(samples, 3.5)


def test_who_waits_for_a_slow_rank_is_given_time_once_it_came():
    watch = Watch(0.0)
    for t in range(9):
        watch.add(0, at("call"), t)
    watch.progress(8.0)
    assert not watch.stuck({0}, 8.1, failed=False)
    assert watch.stuck({0}, 8.0 + CALL, failed=False)


def failure(kind, at, **also):
    name = also.pop("name", "RuntimeError")
    return Outcome(at, NOWHERE | {"kind": kind, "name": name, "message": kind} | also)


def test_the_first_true_cause_isnt_the_first_to_be_heard():
    closed = failure("group", 1.0)
    assert report.first_cause({0: closed, 1: failure("python", 2.0), 2: closed}) == 1
    assert report.first_cause({0: closed, 1: failure("died", 2.0)}) == 1
    assert report.first_cause({0: failure("python", 2.0), 1: failure("python", 1.0)}) == 1
    assert report.first_cause({3: failure("python", 1.0), 2: failure("python", 1.01)}) == 2
    assert report.first_cause({0: failure("stop", 1.0), 1: failure("group", 3.0)}) == 1


def test_a_message_of_gloo_loses_its_addresses():
    said = (
        "[/build/gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:29344. "
        "This is typically caused by a remote worker crashing."
    )
    text = report.failed({0: failure("group", 1.0, message=said)}, {}, gone=True)
    assert text.splitlines()[0] == "✗ rank 0: RuntimeError: Connection closed by peer"


def test_last_words_of_gloo_become_a_sentence():
    words = (
        "what():  [enforce fail at pair.cc:456] op.preamble.length <= op.nbytes. 8 vs 4. Received"
    )
    assert "sent 8 bytes where it expected 4" in report.died(1, -6, words, None)["message"]
    assert report.died(1, None, "", None)["message"] == "its process is gone"


def test_a_rank_in_code_without_lines_still_says_where_it_is(monkeypatch):
    place.remember("<ranks cell 0>", "build()\n")
    cell = compile("build()", "<ranks cell 0>", "exec")
    outer = SimpleNamespace(f_code=cell, f_lineno=1, f_lasti=0, f_locals={}, f_back=None)
    made = SimpleNamespace(f_code=test_ranks_are_named_briefly.__code__, f_lineno=None, f_lasti=0,
                           f_locals={}, f_back=outer)  # fmt: skip
    monkeypatch.setattr(place.sys, "_current_frames", lambda: {1: made})
    assert place.of_thread(1)["line"] == 1 and place.of_thread(1)["text"] == "build()"


@pytest.mark.parametrize(
    "ranks, words",
    [([3], "rank 3"), ([2, 0], "ranks 0 and 2"), ([0, 1, 2, 3], "ranks 0–3"),
     ([0, 1, 3], "ranks 0, 1 and 3")],
)  # fmt: skip
def test_ranks_are_named_briefly(ranks, words):
    assert report.names(ranks) == words


def called(name="all_reduce", group="0", types=("Float",), shapes=((2,),)):
    return {"name": name, "group": group, "types": list(types), "shapes": [list(s) for s in shapes]}


def entry(backend, record, name="all_reduce", **also):
    """What a flight recorder says of a collective of two float32."""
    return {
        "record_id": record, "profiling_name": f"{backend}:{name}", "state": "scheduled",
        "retired": True, "process_group": ["0", "default_pg"], "is_p2p": False,
        "input_dtypes": ["Float"], "input_sizes": [[2]], "collective_seq_id": record + 1,
        "p2p_seq_id": 0, "time_created_ns": 100 * record + (backend == "nccl"), **also,
    }  # fmt: skip


@pytest.fixture
def recorders(monkeypatch):
    """Stand-ins for torch's two flight recorders, by name; they say what the lists hold."""
    from torch._C import _distributed_c10d as c10d

    held = {name: [] for name in flight.RECORDERS}
    for name, entries in held.items():
        told = lambda entries=entries: json.dumps({"entries": entries}).encode()  # noqa: E731
        monkeypatch.setattr(c10d, name, told, raising=False)
    return held


def test_both_recorders_are_read_and_an_entry_that_both_have_counts_once(recorders):
    gloo, nccl = recorders.values()
    reader = flight.Reader()
    gloo += [entry("gloo", 0)]
    nccl += [entry("nccl", 0, "broadcast"), entry("nccl", 1, is_p2p=True)]
    names = [(found["group"], found["name"]) for found in reader.fresh()]
    assert names == [("gloo:0", "all_reduce"), ("nccl:0", "broadcast")]
    assert reader.fresh() == []
    gloo += (both := [entry("nccl", 2)])
    nccl += both
    assert len(reader.fresh()) == 1


def test_a_mismatch_that_only_nccls_recorder_knows_is_told(recorders):
    found = {}
    for rank, kind in enumerate(("Float", "Int")):
        recorders["_dump_nccl_trace_json"][:] = [entry("nccl", 0, input_dtypes=[kind])]
        found[rank] = Outcome(0.0, records=flight.Reader().fresh())
    assert "rank 1: all_reduce of int32 [2]" in report.disagreement(found)


def test_a_torch_without_a_recorder_has_no_records(monkeypatch):
    from torch._C import _distributed_c10d as c10d

    for name in flight.RECORDERS:
        monkeypatch.delattr(c10d, name, raising=False)
    assert flight.Reader().fresh() == [] and flight.pending() is None


def test_pending_is_the_oldest_that_neither_recorder_calls_done(recorders):
    gloo, nccl = recorders.values()
    gloo += [entry("gloo", 0)]
    nccl += [entry("nccl", 0, retired=False, state="completed")]
    assert flight.pending() is None
    nccl += [entry("nccl", n, retired=False, state="started") for n in (1, 2)]
    assert flight.pending()["seq"] == [2, 0] and flight.pending()["group"] == "nccl:0"


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


def test_ranks_that_disagree_about_a_collective_are_told():
    same = Outcome(0, records=[called(), called()])
    assert report.disagreement({0: same, 1: same}) is None
    other = Outcome(0, records=[called(), called(types=["Int"])])
    text = report.disagreement({1: other, 2: same, 0: same})
    assert text.index("ranks 0 and 2") < text.index("rank 1")
    assert "ranks 0 and 2: all_reduce of float32 [2]" in text
    assert "rank 1: all_reduce of int32 [2]" in text


def test_what_may_differ_between_ranks_is_no_disagreement():
    root, other = called("scatter", shapes=[(2,), (2,)]), called("scatter", shapes=[])
    assert (
        report.disagreement({0: Outcome(0, records=[root]), 1: Outcome(0, records=[other])}) is None
    )
    here, there = called(group="1"), called(group="2", shapes=[(9,)])
    assert (
        report.disagreement({0: Outcome(0, records=[here]), 1: Outcome(0, records=[there])}) is None
    )


def test_output_is_printed_in_order_whoever_speaks_first(capsys):
    printer = Printer([0, 1, 2])
    printer.add(1, "stdout", "b\n")
    printer.add(0, "stdout", "a")
    assert capsys.readouterr().out == ""
    printer.add(0, "stdout", "a\nrest")
    assert capsys.readouterr().out == "[rank 0] aa\n"
    printer.finish(1)
    printer.add(2, "stderr", "10%\r100%\n")
    printer.finish(0)
    heard = capsys.readouterr()
    assert heard.out == "[rank 0] rest\n[rank 1] b\n"
    assert heard.err == "[rank 2] 100%\n"
    printer.finish_all()
    assert capsys.readouterr().out == ""


def connected(listener, address):
    found = []
    caller = threading.Thread(target=lambda: found.append(wire.dial(address)))
    caller.start()
    mine = listener.accept(10)
    caller.join()
    return mine, found[0]


def test_messages_and_payloads_arrive_whole():
    listener = wire.Listener()
    mine, theirs = connected(listener, listener.address)
    sender = threading.Thread(target=theirs.send, args=({"text": "≈ \ud800"}, b"\0" * 50_000_000))
    sender.start()
    message, payload = mine.receive()
    assert message == {"text": "≈ \ud800"} and payload == b"\0" * 50_000_000
    assert not mine.ended
    theirs.close()
    assert mine.waiting(10) and mine.ended
    for line in (mine, listener):
        line.close()


def test_who_hasnt_the_key_gets_no_line():
    listener = wire.Listener()
    host, port, _ = listener.address.split(":")
    wrong = f"{host}:{port}:{'00' * 16}"
    refused = []

    def call():
        try:
            wire.dial(wrong)
        except (multiprocessing.AuthenticationError, OSError, EOFError) as error:
            refused.append(error)

    caller = threading.Thread(target=call)
    caller.start()
    assert listener.accept(10) is None
    caller.join()
    assert refused
    mine, theirs = connected(listener, listener.address)
    for line in (mine, theirs, listener):
        line.close()


def test_who_calls_and_says_nothing_is_hung_up_on(monkeypatch):
    monkeypatch.setattr(wire, "HANDSHAKE_SECONDS", 1)
    listener = wire.Listener()
    host, port, _ = listener.address.split(":")
    with socket.create_connection((host, int(port))):
        assert listener.accept(10) is None
    listener.close()
