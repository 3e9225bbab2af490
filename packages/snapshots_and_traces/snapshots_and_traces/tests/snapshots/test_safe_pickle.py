"""A file from a stranger: read as data, or refused in one sentence, quickly, with nothing run."""

import os
import pickle
import random
import struct
import sys
import time
import tracemalloc
from contextlib import suppress
from pathlib import Path

import pytest

from snapshots_and_traces.snapshot_viewer.page import snapshot_page
from snapshots_and_traces.snapshots import safe_pickle
from snapshots_and_traces.snapshots.lives import history
from snapshots_and_traces.snapshots.safe_pickle import SnapshotError
from snapshots_and_traces.snapshots.snapshot import load, loads
from snapshots_and_traces.tests.support.snapshots import damaged, real, small_snapshot

pytestmark = pytest.mark.without_torch

MANY = 2**20
EIGHT_TB = struct.pack("<Q", 2**43)
CUT_OFF = "cut off: a part claims more bytes"
NOT_PLAIN = "where plain data has none"


class Runs:
    """What runs a command where a pickle of it is loaded."""

    def __init__(self, *call: object) -> None:
        self.call = call

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return self.call[0], self.call[1:]


def framed(body: bytes) -> bytes:
    return b"\x80\x04\x95" + struct.pack("<Q", len(body)) + body


SYSTEM = Runs(os.system, "touch was_run")
EVAL = Runs(eval, "open('was_run', 'w')")
CALLED = b"cposix\nsystem\n\x8c\x0dtouch was_run"
MALICIOUS = {  # what it is: what the refusal says, the file
    "os.system": ("posix.system", pickle.dumps(SYSTEM)),
    "eval": ("builtins.eval", pickle.dumps(EVAL)),
    "eval, protocol 2": ("protocol 2", pickle.dumps(EVAL, protocol=2)),
    "eval, protocol 0": ("a whole pickle file", pickle.dumps(EVAL, protocol=0)),
    "nested": ("posix.system", pickle.dumps({"segments": [{"blocks": [SYSTEM]}]})),
    "a class": (r"pathlib\S*\.Path", pickle.dumps({"segments": [], "device_traces": Path})),
    "global by text": ("posix.system", b"\x80\x04" + CALLED + b"\x85R."),
    "inst": ("posix.system", b"\x80\x04(\x8c\x0dtouch was_runiposix\nsystem\n."),
    "obj": ("posix.system", b"\x80\x04(" + CALLED + b"o."),
    "newobj": ("posix.system", b"\x80\x04" + CALLED + b"\x85\x81."),
    "build": ("BUILD", b"\x80\x04}}\x8c\x08__dict__NsbN."),
    "persistent id": ("BINPERSID", b"\x80\x04\x8c\x01aQ."),
    "persistent id by text": ("PERSID", b"\x80\x04Pa\n."),
    "extension code": ("EXT1", b"\x80\x04\x82\xf0."),
    "extension code of four bytes": ("EXT4", b"\x80\x04\x84\xf0\x00\x00\x00."),
    "out-of-band buffer": ("NEXT_BUFFER", b"\x80\x05\x97."),
    "set": ("EMPTY_SET", pickle.dumps({1, 2})),
    "bytes": ("BINBYTES", pickle.dumps(b"abc")),
    "a bytearray of eight terabytes": ("BYTEARRAY8", b"\x80\x05\x96" + EIGHT_TB + b"a."),
    "bytes of eight terabytes": ("BINBYTES8", b"\x80\x04\x8e" + EIGHT_TB + b"a."),
    "text of eight terabytes": (CUT_OFF, b"\x80\x04\x8d" + EIGHT_TB + b"a."),
    "text of eight terabytes, framed": (NOT_PLAIN, framed(b"\x8d" + EIGHT_TB + b"a.")),
    "text of four gigabytes": (NOT_PLAIN, framed(b"X\xff\xff\xff\xffa.")),
    "a frame of eight terabytes": (CUT_OFF, b"\x80\x04\x95" + EIGHT_TB + b"N."),
    "a number of two gigabytes": ("LONG4", b"\x80\x04\x8b\xff\xff\xff\x7fa."),
    "a number of negative length": ("LONG4", b"\x80\x04\x8b" + struct.pack("<i", -5) + b"a."),
    "a number in decimal": ("INT", b"\x80\x04I" + b"9" * 100_000 + b"\n."),
    "a memo of 2^32 places": ("LONG_BINPUT", b"\x80\x04Nr\xff\xff\xff\xff."),
    "a memo of 10^18 places": ("PUT", b"\x80\x04Np1000000000000000000\n."),
    "nested lists": ("memory bomb", b"\x80\x04" + b"]" * MANY + b"a" * MANY + b"."),
    "nested lists, opened": ("memory bomb", b"\x80\x04" + b"](" * MANY + b"."),
    "nested tuples": ("TUPLE1", b"\x80\x04N" + b"\x85" * MANY + b"."),
    "nested tuples as a key": ("TUPLE1", framed(b"}K\x01" + b"\x85" * MANY + b"Ns.")),
    "nested tuples as a key, by the memo": (
        "TUPLE1", framed(b"}\x94](K\x01" + b"\x85\x94h\x01" * 50_000 + b"eNs."),
    ),
    "open brackets alone": ("MARK", b"\x80\x04" + b"(" * MANY + b"."),
    "a million lists": ("memory bomb", framed(b"(" + b"]" * MANY + b"l.")),
    "beginnings of lists alone": ("memory bomb", framed(b"]\x94(" + b"j]\x94(j" * 300_000 + b".")),
    "a list a million times itself": ("no snapshot", framed(b"]\x94(" + b"h\x00" * MANY + b"e.")),
    "doubling lists": (
        "no snapshot",
        framed(b"]\x94" + b"".join(b"]\x94(h%ch%ce" % (n, n) for n in range(40)) + b"."),
    ),
    "numbers that collide as keys": (
        NOT_PLAIN,
        framed(
            b"}("
            + b"".join(
                b"\x8a\x0a" + (n * (2**61 - 1)).to_bytes(10, "little") + b"N"
                for n in range(50_000)
            )
            + b"u."
        ),
    ),
    "keys after text": (NOT_PLAIN, framed(b"}\x94(\x8c\x01aN" + b"K\x01N" * 50_000 + b"u.")),
    "keys shifted by one": (
        NOT_PLAIN, framed(b"}\x94(\x8c\x01a\x8c\x01bK\x01" + b"\x8c\x01aK\x02" * 50_000 + b"u."),
    ),
    "keys behind long text": (
        NOT_PLAIN,
        framed(
            b"}\x94(\x8c\x01a" + b"X\x01\x00\x00\x00b" * 2 + b"\x8c\x01cK\x02" * 50_000 + b"u."
        ),
    ),
    "keys one by one": (NOT_PLAIN, framed(b"}\x94" + b"K\x01Ns" * 50_000 + b".")),
    "keys by a bracket left open": (NOT_PLAIN, framed(b"}]\x94(" + b"K\x01N" * 50_000 + b"u.")),
    "a dict filled by the memo": (NOT_PLAIN, framed(b"}\x94h\x00(" + b"K\x01N" * 50_000 + b"u.")),
    "a pickle after the end": (NOT_PLAIN, pickle.dumps([]) + pickle.dumps([])),
    "empty": ("a whole pickle file", b""),
    "one byte": ("a whole pickle file", b"\x80"),
    "no pickle": ("a whole pickle file", b"PK\x03\x04 this is a zip file."),
}  # fmt: skip
CALLS = {"os.system", "os.exec", "subprocess.Popen", "exec", "pickle.find_class", "socket.connect"}
watched: list[list[str]] = []


def watch_for_calls() -> list[str]:
    """What Python's audit hooks report from here on, of what a pickle could do."""
    if not watched:
        sys.addaudithook(lambda event, _: watched[-1].append(event) if event in CALLS else None)
    watched.append([])
    return watched[-1]


@pytest.mark.parametrize("said, data", MALICIOUS.values(), ids=MALICIOUS)
def test_a_malicious_file_is_refused_in_a_sentence_and_nothing_runs(
    said, data, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "stranger.pickle"
    file.write_bytes(data)
    ran = watch_for_calls()
    tracemalloc.start()
    start = time.process_time()
    try:
        with pytest.raises(SnapshotError, match=said) as refusal:
            load(file)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    sentence = str(refusal.value)
    assert sentence.startswith("stranger.pickle is refused: ")
    assert "\n" not in sentence and len(sentence) < 400
    assert not (tmp_path / "was_run").exists() and ran == []
    assert peak < 40 * len(data) + 2**20
    assert time.process_time() - start < 60, "far less, but for what grows as the square"


def test_a_second_lock_refuses_what_the_check_would_let_through(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(safe_pickle, "with_lists_once", b"".join)
    monkeypatch.setattr(safe_pickle, "_check", lambda body: None)
    for kind, words in {"os.system": "posix.system", "persistent id": "kept elsewhere"}.items():
        with pytest.raises(SnapshotError, match=words):
            safe_pickle.read(MALICIOUS[kind][1])


PLAIN = [
    None, True, False, [], {}, (), 0, -1, 255, 2**16, -(2**31), 2**63 - 1, 1.5, float("inf"), "",
    "ä€😀", "x" * 300, "x" * 70_000, [[[[1], 2], []], {}], (0, 1), (1, 2, 3), [(0,), ([],)],
    list(range(5000)), {f"key {n}": n for n in range(5000)}, {"a": {"b": {}}, "d": [[{}]]},
    {"k": "x" * 65_536, "after": ["y" * 70_000, 1]},
]  # fmt: skip


@pytest.mark.parametrize("protocol", [4, 5])
def test_plain_data_is_read_as_pickle_reads_it(protocol):
    for value in PLAIN:
        assert safe_pickle.read(pickle.dumps(value, protocol)) == value


def test_random_plain_data_is_read_as_pickle_reads_it():
    choose = random.Random(1)

    def value(depth: int) -> object:
        kind = choose.randrange(9 if depth else 6)
        if kind < 6:
            number = choose.randrange(-(2 ** choose.randrange(1, 63)), 2 ** choose.randrange(1, 63))
            return (None, True, number, "t" * choose.randrange(400), 0.1, (0, number % 300))[kind]
        n = choose.choice((0, 1, 1, 2, 3, 12))
        if kind == 6:
            return {f"key {choose.randrange(50)}": value(depth - 1) for _ in range(n)}
        return [value(depth - 1) for _ in range(n)]

    for _ in range(500):
        made = value(5)
        assert safe_pickle.read(pickle.dumps(made)) == made


@real
def test_real_snapshots_are_read_as_pickle_reads_them(file):
    data = file.read_bytes()
    assert safe_pickle.read(data) == pickle.loads(data)


def test_long_call_stacks_that_repeat_are_read_in_less_memory_than_their_file_has_bytes(tmp_path):
    """As torch writes them: the frames are shared, their lists are not."""
    frames = [{"name": f"function {n}", "filename": "a.py", "line": n} for n in range(400)]
    made = [
        {"addr": 2**46 + n, "frames": frames[n % 90 : n % 90 + 300], "more": [n % 7, 2.5]}
        for n in range(10_000)
    ]
    file = tmp_path / "deep.pickle"
    file.write_bytes(pickle.dumps(made))
    tracemalloc.start()
    try:
        with file.open("rb") as opened:
            found = safe_pickle.read_file(opened)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < file.stat().st_size and found == made
    assert len({id(event["frames"]) for event in found}) <= 180  # 90, each in two forms
    assert len({id(event["more"]) for event in found}) == len(made)


@pytest.mark.parametrize(
    "inside", [b"]\x94(h\x01h\x01", b"(h\x01h\x01e.", b"]\x94(h\x01h\x01e"[:8]]
)
def test_a_number_that_looks_like_such_a_list_stays_a_number(inside):
    number = struct.unpack(">d", inside[:8].ljust(8, b"e"))[0]
    made = [["x", "y"], *[[number, None, "x", "x", [0]] for _ in range(9)]]
    assert repr(safe_pickle.read(pickle.dumps(made))) == repr(made)


def test_lists_that_repeat_are_the_same_wherever_they_end_and_before_anything():
    draw = random.Random(1)
    words = [f"word {n}" for n in range(300)]
    pool = [draw.choices(words, k=draw.randint(2, 40)) for _ in range(40)]
    made = [words]
    for _ in range(2000):
        made.append([list(draw.choice(pool)) for _ in range(draw.randint(1, 3))])
    for after in (0, 300, 2.5, "text", "long " * 99, None, {}, [], (), {"a": 1}):
        made += [[draw.choice(pool), after] for _ in range(90)]
        made += [{"frames": words[n % 7 : 50], "after": after} for n in range(90)]
    assert safe_pickle.read(pickle.dumps(made)) == pickle.loads(pickle.dumps(made))


def test_a_thousand_damaged_files_are_refused_or_read_and_viewed_and_never_more(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    choose, whole = random.Random(2), small_snapshot()
    outcomes = {"read": 0, "refused": 0}
    ran = watch_for_calls()
    for _ in range(1000):
        try:
            snapshot = loads(damaged(whole, choose), "damaged.pickle")
            outcomes["read"] += 1
        except SnapshotError as refusal:
            assert len(str(refusal)) < 300
            outcomes["refused"] += 1
            continue
        for device in snapshot.devices[:3]:
            history(snapshot, device)
            with suppress(SnapshotError):
                snapshot_page(snapshot, device)
    assert outcomes["refused"] > 300 and outcomes["read"] > 20 and ran == []


def test_a_file_over_the_limit_is_refused_before_it_is_read_and_a_missing_one_is_said(tmp_path):
    file = tmp_path / "large.pickle"
    file.write_bytes(small_snapshot())
    with pytest.raises(SnapshotError, match="over the limit of 100"):
        load(file, largest_bytes=100)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nowhere.pickle")
