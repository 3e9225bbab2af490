"""A file that is no trace, or a broken or hostile one: one sentence, little memory, no time."""

import gzip
import json
import pickle
import tracemalloc

import pytest

from snapshots_and_traces.tests.support.traces import op
from snapshots_and_traces.traces import json_events
from snapshots_and_traces.traces.json_events import TraceError
from snapshots_and_traces.traces.reading import read_trace

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
    "two lists": (b'{"traceEvents": [], "traceEvents": []}', "isn't one list"),
    "an event that is no object": (b"[7]", "event 1 isn't an object"),
    "half of a name": (WHOLE[:60], "it was cut off"),
    "half of an event": (WHOLE[: WHOLE.index(b"}}, ") + 9], "it was cut off"),
    "half of a list": (WHOLE[: WHOLE.index(b"}}, ") + 2], "it was cut off"),
    "no last bracket": (WHOLE[:-1], "it was cut off"),
    "a comma too many": (WHOLE.replace(b"}]", b"},]"), "isn't JSON"),
    "a comma too few": (WHOLE.replace(b"}}, {", b"}} {"), "a comma is missing"),
    "something after it": (WHOLE + b"[]", "something follows"),
    "half a gzip": (gzip.compress(WHOLE)[:-20], "gzip stream is cut off"),
    "a bent gzip": (gzip.compress(WHOLE)[:10] + b"\xff" * 60, "gzip stream is broken"),
    "nested": (b'[{"args": ' + b"[" * 200_000, "nested deeper"),
    "a number of 9,999 digits": (b'[{"ts": ' + b"9" * 9999 + b"}]", "thousands of digits"),
    "NaN": (one(dur=float("nan")), "event 2 has a `dur` of nan µs"),
    "infinity": (one(ts=float("inf")), "event 2 has a `ts` of inf µs"),
    "negative": (one(dur=-1), "event 2 has a `dur` of -1 µs"),
    "huge": (one(dur=9e18), "which no clock gives"),
    "huger": (one(ts=10**400), "which no clock gives"),
    "a string for a number": (one(ts="5"), "a `ts` that is no number: '5'"),
    "a truth for a number": (one(ts=True), "a `ts` that is no number"),
    "no duration": (one(dur=None), "event 2 has no `dur`"),
    "no time": (one(ts=None), "event 2 has no `ts`"),
    "no name": (one(name=None), "event 2 has no name"),
    "a list for a name": (one(name=["mm"]), "event 2 has no name"),
    "a list for a category": (one(cat=[1]), "event 2 has no name, or a category"),
    "a list for a thread": (one(tid=[1]), "event 2 has a process or thread that is neither"),
    "an end before its begin": (
        b'[{"ph": "B", "name": "f", "ts": 9}, {"ph": "E", "ts": 3}]', "ends before it begins"
    ),
}  # fmt: skip


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
def test_a_bomb_is_refused_in_little_memory(unit, tmp_path, monkeypatch):
    monkeypatch.setattr(json_events, "LARGEST_BYTES", 2**25)
    monkeypatch.setattr(json_events, "LARGEST_VALUE", 2**22)
    monkeypatch.setattr(json_events, "PIECE", 2**18)
    file = tmp_path / "bomb.json.gz"
    file.write_bytes(gzip.compress(unit * (2**26 // len(unit)), 1))
    tracemalloc.start()
    try:
        with pytest.raises(TraceError):
            read_trace(file)
        assert tracemalloc.get_traced_memory()[1] < 2**26
    finally:
        tracemalloc.stop()


def test_a_folder_a_missing_file_and_a_trace_that_is_too_large_are_said(tmp_path, monkeypatch):
    with pytest.raises(TraceError, match=r"is a folder: give the file that torch\.profiler"):
        read_trace(tmp_path)
    with pytest.raises(TraceError, match="isn't there"):
        read_trace(tmp_path / "none.json")
    monkeypatch.setattr(json_events, "LARGEST_BYTES", 2**20)
    file = tmp_path / "large.json.gz"
    file.write_bytes(gzip.compress(json.dumps([GOOD] * 20_000).encode()))
    with pytest.raises(TraceError, match=r"more than 1 MiB unpacked: trace fewer steps"):
        read_trace(file)


def test_it_is_the_same_however_it_is_cut_into_pieces(tmp_path, monkeypatch):
    file = tmp_path / "whole.json"
    file.write_bytes(b"\xef\xbb\xbf" + WHOLE.replace(b"aten::mm", "µ✓\\u00e9".encode()))
    for piece in (1, 2, 7, 64):
        monkeypatch.setattr(json_events, "PIECE", piece)
        beside = {}
        assert len(list(json_events.events(file, beside))) == 2 and beside == {"schemaVersion": 1}
        assert read_trace(file).names == ["µ✓é"]
