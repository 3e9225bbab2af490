"""A file that is no trace, or a broken or hostile one: one sentence, little memory, no time."""

import gzip
import json
import pickle
import tracemalloc

import pytest

from snapshots_and_traces.tests.support.traces import op
from snapshots_and_traces.traces import reading
from snapshots_and_traces.traces.reading import TraceError, read_trace
from snapshots_and_traces.traces.report import about

GOOD = op("aten::mm", 5, 2)
WHOLE = json.dumps({"schemaVersion": 1, "traceEvents": [GOOD, GOOD]}).encode()


def one(**changes):
    """A trace whose second event is changed so; None takes a field away."""
    bad = {key: value for key, value in {**GOOD, **changes}.items() if value is not None}
    return json.dumps([GOOD, bad]).encode()


BROKEN = {
    "empty": (b"", "it is empty"),
    "blank": (b" \n ", "it is empty"),
    "text": (b"hello", "it isn't JSON, it begins with 'h'"),
    "pickle": (pickle.dumps({"segments": []}), "python -m snapshots_and_traces snapshot"),
    "another object": (b'{"segments": []}', "it has no `traceEvents`"),
    "no events": (b'{"traceEvents": []}', "nothing was traced"),
    "only labels": (b'[{"ph": "M", "name": "process_name"}]', "nothing was traced"),
    "events that are no list": (b'{"traceEvents": 3}', "isn't one list"),
    "no object among them": (b"[7]", "nothing was traced"),
    "half of a name": (WHOLE[:60], "it was cut off"),
    "half of an event": (WHOLE[: WHOLE.index(b"}}, ") + 9], "it was cut off"),
    "half of a list": (WHOLE[: WHOLE.index(b"}}, ") + 2], "it was cut off"),
    "no last bracket": (WHOLE[:-1], "it was cut off"),
    "a comma too many": (WHOLE.replace(b"}]", b"},]"), "isn't JSON (JSON is malformed: trailing"),
    "a comma too few": (WHOLE.replace(b"}}, {", b"}} {"), "isn't JSON (JSON is malformed: expec"),
    "something after it": (WHOLE + b"[]", "something follows"),
    "half a gzip": (gzip.compress(WHOLE)[:-20], "gzip stream is cut off"),
    "a bent gzip": (gzip.compress(WHOLE)[:10] + b"\xff" * 60, "gzip stream is broken"),
    "nested": (b'[{"args": ' + b"[" * 200_000, "nested deeper"),
}  # fmt: skip
NO_TIME, NO_FIELDS = reading.NO_TIME, reading.NO_FIELDS
LEFT_OUT = {  # what is wrong with the second of two events: what is said to be left out
    "NaN": (one(dur=float("nan")), NO_TIME),
    "infinity": (one(ts=float("inf")), NO_TIME),
    "negative": (one(dur=-0.001), NO_TIME),
    "huge": (one(dur=1e13), NO_TIME),
    "at the beginning of all times": (one(ts=-1.6e15), NO_TIME),
    "a clock that nobody read": (
        json.dumps([{**GOOD, "ts": 9e10}, {**GOOD, "ts": 0}]).encode(), NO_TIME
    ),
    "more than a number holds": (one(ts=10**400), NO_FIELDS),
    "a string for a number": (one(ts="5"), NO_FIELDS),
    "a truth for a number": (one(ts=True), NO_FIELDS),
    "no duration": (one(dur=None), NO_TIME),
    "no time": (one(ts=None), NO_TIME),
    "no name": (one(name=None), NO_TIME),
    "a list for a name": (one(name=["mm"]), NO_FIELDS),
    "a list for a category": (one(cat=[1]), NO_FIELDS),
    "a list for a thread": (one(tid=[1]), NO_FIELDS),
    "no object": (json.dumps([GOOD, 7]).encode(), NO_FIELDS),
    "an end before its begin": (
        json.dumps([GOOD, {"ph": "B", "name": "f", "ts": 9}, {"ph": "E", "ts": 3}]).encode(),
        NO_TIME,
    ),
}  # fmt: skip


@pytest.mark.parametrize("content, what", LEFT_OUT.values(), ids=LEFT_OUT.keys())
def test_an_event_that_cannot_be_is_left_out_and_counted_and_the_rest_is_read(
    content, what, tmp_path
):
    file = tmp_path / "given.json"
    file.write_bytes(content)
    trace = read_trace(file)
    assert trace.left_out == {what: 1} and trace.start.tolist() == [0.0]
    assert f"Left out of all sums: 1 with {what}." in about(trace)[0]


def test_devices_that_are_not_known_are_said(tmp_path):
    events = [{**GOOD, "cat": "mtia_ccp_events"}] * 3 + [GOOD]
    file = tmp_path / "given.json"
    file.write_text(json.dumps({"traceEvents": events, "deviceProperties": [{"name": "X"}] * 8}))
    said = about(read_trace(file))[0]
    assert "without a kernel, though the file lists 8 GPUs" in said
    assert "Left out of all sums: 3 with the unknown category 'mtia_ccp_events'." in said


def test_text_as_some_profilers_write_it_is_read_all_the_same(tmp_path):
    file = tmp_path / "given.json"
    odd = b'\xef\xbb\xbf[{"ph": "X", "name": "a\nb\xff", "ts": 1, "dur": 2, "args": {"x": NaN}}]'
    file.write_bytes(odd)
    assert read_trace(file).names == ["a b\ufffd"]


@pytest.mark.parametrize("content, said", BROKEN.values(), ids=BROKEN.keys())
def test_what_is_wrong_is_a_sentence_that_names_the_file(content, said, tmp_path):
    file = tmp_path / "given.json"
    file.write_bytes(content)
    with pytest.raises(TraceError) as caught:
        read_trace(file)
    sentence = str(caught.value)
    assert said in sentence and sentence.startswith("given.json can't be read as a trace: ")
    assert sentence.endswith(".") and len(sentence) < 250 and "\n" not in sentence
    assert caught.value.__suppress_context__


def test_cut_anywhere_it_is_a_sentence(tmp_path):
    file = tmp_path / "cut.json"
    for cut in range(1, len(WHOLE)):
        file.write_bytes(WHOLE[:cut])
        with pytest.raises(TraceError, match=r"^cut\.json"):
            read_trace(file)


@pytest.mark.parametrize(
    "unit", [b" ", b"[", b'"', b"1", b'[{"a":"', b"\x00"], ids=["_", "[", "quote", "1", "text", "0"]
)
def test_a_bomb_is_refused_in_the_memory_of_a_few_of_its_limits(unit, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "LARGEST_BYTES", 2**24)
    file = tmp_path / "bomb.json.gz"
    for length in (2**26, 2**24):
        file.write_bytes(gzip.compress(unit * (length // len(unit)), 1))
        tracemalloc.start()
        try:
            with pytest.raises(TraceError):
                read_trace(file)
            assert tracemalloc.get_traced_memory()[1] < 2**24 * 12
        finally:
            tracemalloc.stop()


def test_a_folder_a_missing_file_and_a_trace_that_is_too_large_are_said(tmp_path, monkeypatch):
    with pytest.raises(TraceError, match=r"is a folder: give the file that torch\.profiler"):
        read_trace(tmp_path)
    with pytest.raises(TraceError, match="isn't there"):
        read_trace(tmp_path / "none.json")
    monkeypatch.setattr(reading, "LARGEST_BYTES", 2**20)
    file = tmp_path / "large.json.gz"
    file.write_bytes(gzip.compress(json.dumps([GOOD] * 20_000).encode()))
    with pytest.raises(TraceError, match=r"more than 1 MiB unpacked: trace fewer steps"):
        read_trace(file)
