"""A file from a stranger: read as data, or refused in one sentence, quickly, with nothing run."""

import os
import pickle
import re
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from snapshots_and_traces.snapshot_viewer.page import snapshot_page
from snapshots_and_traces.snapshots import safe_pickle
from snapshots_and_traces.snapshots.loading import load, loads
from snapshots_and_traces.snapshots.safe_pickle import SnapshotError
from snapshots_and_traces.snapshots.snapshot import snapshot_of
from snapshots_and_traces.tests.support.snapshots import real, small_snapshot

pytestmark = pytest.mark.without_torch

MANY = 2**20
EIGHT_TB = struct.pack("<Q", 2**43)
NOT_WHOLE = "isn't a whole pickle file"
NO_SNAPSHOT = "it holds no `segments`"
TOO_MUCH = r"takes over 1\.0 GB of memory"


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
SETTINGS = b"}(\x8c\x08segments]\x8c\rdevice_traces]\x8c\x12allocator_settings}\x8c\x01a"
MALICIOUS = {  # what it is: what the refusal says, the file
    "os.system": ("posix.system", pickle.dumps(SYSTEM)),
    "eval": ("builtins.eval", pickle.dumps(EVAL)),
    "eval, protocol 0": ("__builtin__.eval", pickle.dumps(EVAL, protocol=0)),
    "nested": ("posix.system", pickle.dumps({"segments": [{"blocks": [SYSTEM]}]})),
    "a class": (r"pathlib\S*\.Path", pickle.dumps({"segments": [], "device_traces": Path})),
    "a name that steers a terminal": ("a function or", b"\x80\x04\x8c\x04\x1b[2J\x8c\x01a\x93."),
    "global by text": ("posix.system", b"\x80\x04" + CALLED + b"\x85R."),
    "inst": ("posix.system", b"\x80\x04(\x8c\x0dtouch was_runiposix\nsystem\n."),
    "obj": ("posix.system", b"\x80\x04(" + CALLED + b"o."),
    "newobj": ("posix.system", b"\x80\x04" + CALLED + b"\x85\x81."),
    "build": (NOT_WHOLE, b"\x80\x04}}\x8c\x08__dict__NsbN."),
    "persistent id": ("kept elsewhere", b"\x80\x04\x8c\x01aQ."),
    "persistent id by text": ("kept elsewhere", b"\x80\x04Pa\n."),
    "extension code": (NOT_WHOLE, b"\x80\x04\x82\xf0."),
    "out-of-band buffer": (NOT_WHOLE, b"\x80\x05\x97."),
    "bytes of eight terabytes": (TOO_MUCH, b"\x80\x04\x8e" + EIGHT_TB + b"a."),
    "text of eight terabytes": (TOO_MUCH, b"\x80\x04\x8d" + EIGHT_TB + b"a."),
    "a frame of eight terabytes": (TOO_MUCH, b"\x80\x04\x95" + EIGHT_TB + b"N."),
    "a number of two gigabytes": (TOO_MUCH, b"\x80\x04\x8b\xff\xff\xff\x7fa."),
    "a number in decimal": (NOT_WHOLE, b"\x80\x04I" + b"9" * 100_000 + b"\n."),
    "a memo of 2^32 places": (TOO_MUCH, b"\x80\x04Nr\xff\xff\xff\xff."),
    "nested lists": (NOT_WHOLE, b"\x80\x04" + b"]" * MANY + b"a" * MANY + b"."),
    "nested tuples": (NO_SNAPSHOT, b"\x80\x04N" + b"\x85" * MANY + b"."),
    "nested tuples as a key": ("ended the process", framed(b"}K\x01" + b"\x85" * MANY + b"Ns.")),
    "nested settings": (
        "plain data|ended", framed(SETTINGS + b"]" * MANY + b"a" * (MANY - 1) + b"su.")
    ),
    "a million lists": (NO_SNAPSHOT, framed(b"(" + b"]" * MANY + b"l.")),
    "a list a million times itself": (NO_SNAPSHOT, framed(b"]\x94(" + b"h\x00" * MANY + b"e.")),
    "numbers that collide as keys": (
        "takes over 5 s of a processor",
        framed(
            b"}("
            + b"".join(
                b"\x8a\x0a" + (n * (2**61 - 1)).to_bytes(10, "little") + b"N"
                for n in range(50_000)
            )
            + b"u."
        ),
    ),
    "a pickle after the end": (NO_SNAPSHOT, pickle.dumps([]) + pickle.dumps([])),
    "empty": (NOT_WHOLE, b""),
    "one byte": (NOT_WHOLE, b"\x80"),
    "no pickle": (NOT_WHOLE, b"PK\x03\x04 this is a zip file."),
}  # fmt: skip


@pytest.mark.parametrize("said, data", MALICIOUS.values(), ids=MALICIOUS)
def test_a_malicious_file_is_refused_in_a_sentence_and_nothing_runs(
    said, data, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "stranger.pickle"
    file.write_bytes(data)
    with pytest.raises(SnapshotError, match=said) as refusal:
        load(file)
    sentence = str(refusal.value)
    assert sentence.startswith("stranger.pickle is refused: ")
    assert sentence.isprintable() and len(sentence) < 400
    assert not (tmp_path / "was_run").exists()


def test_what_is_read_here_runs_nothing_either(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for kind, words in {"os.system": "posix.system", "persistent id": "kept elsewhere"}.items():
        with pytest.raises(SnapshotError, match=words):
            safe_pickle.read(MALICIOUS[kind][1])
    assert not (tmp_path / "was_run").exists()


def of_frames(frames, events=1):
    """A snapshot whose events each have one of these lists of frames."""
    event = {"action": "alloc", "addr": 512, "size": 512, "stream": 0}
    made = [{**event, "frames": frames[n % len(frames)]} for n in range(events)]
    return {"segments": [], "device_traces": [made]}


def test_frames_of_endless_text_or_of_one_slow_name_a_thousand_times_are_no_bomb(tmp_path):
    shared = "\U0001f600" * 1990
    text = [[{"name": "f", "filename": shared, "line": n} for n in range(9000)]]
    with pytest.raises(SnapshotError, match="more text than any program has"):
        snapshot_page(loads(pickle.dumps(of_frames(text)), "text"))
    slow = {"name": "torch::autograd::generated::" * 70, "filename": "??", "line": 0}
    stacks = [[{**slow, "line": n}] + [slow] * 1999 for n in range(100)]
    begun = time.process_time()
    snapshot_page(loads(pickle.dumps(of_frames(stacks, 100)), "slow"))
    assert time.process_time() - begun < 10, "half a second; 25 s where each is looked at"


@pytest.mark.parametrize("size", ["2_048", 512.9, True, None])
def test_a_size_that_is_no_whole_number_is_refused_and_not_made_one(size):
    content = of_frames([[]])
    content["device_traces"][0][0]["size"] = size
    with pytest.raises(SnapshotError, match="where an event has a number it has something else"):
        loads(pickle.dumps(content), "odd")


OPENED = """
import resource, sys
from snapshots_and_traces.snapshots.loading import load
try:
    load(sys.argv[1])
except ValueError as refusal:
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, refusal)
"""


@pytest.mark.thorough("packages/snapshots_and_traces")
@pytest.mark.parametrize("entry", [b"N", b"}K\x01Ns"], ids=["nothing", "a dict of one number"])
def test_a_large_bomb_is_refused_soon_and_in_a_gigabyte(entry, tmp_path):
    file = tmp_path / "bomb.pickle"
    file.write_bytes(b"\x80\x04](" + entry * (60_000_000 // len(entry)) + b"e.")
    begun = time.monotonic()
    done = subprocess.run([sys.executable, "-c", OPENED, file], capture_output=True, text=True)
    assert time.monotonic() - begun < 60, "2 s where nothing else runs"
    kilobytes, _, said = done.stdout.partition(" ")
    assert int(kilobytes) < 1_100_000 and re.search("no `segments`|GB of memory", said)


PLAIN = [
    None, True, False, [], {}, (), 0, -1, 255, 2**16, -(2**31), 2**63 - 1, 1.5, float("inf"), "",
    "ä€😀", "x" * 300, "x" * 70_000, [[[[1], 2], []], {}], (0, 1), (1, 2, 3), [(0,), ([],)],
    list(range(5000)), {f"key {n}": n for n in range(5000)}, {"a": {"b": {}}, "d": [[{}]]},
    {"k": "x" * 65_536, "after": ["y" * 70_000, 1]},
]  # fmt: skip


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_plain_data_is_read_as_pickle_reads_it(protocol):
    for value in PLAIN:
        assert safe_pickle.read(pickle.dumps(value, protocol)) == value


@real
def test_what_comes_back_from_the_other_process_is_what_would_be_read_here(file):
    content = pickle.loads(file.read_bytes())
    found, here = load(file), snapshot_of(content, file.stat().st_size, file.name)
    assert found.all_segments == here.all_segments and found.settings == here.settings
    assert [len(trace) for trace in found.traces] == [len(trace) for trace in here.traces]
    for one, other in zip(found.traces, here.traces, strict=True):
        assert [*one.events()] == [*other.events()]
        assert [*map(one.stacks.__getitem__, one.stack)] == [
            *map(here.stacks.__getitem__, other.stack)
        ]


DAMAGED = """
import os, pickle, random, sys
from contextlib import suppress
from snapshots_and_traces.snapshot_viewer.page import snapshot_page
from snapshots_and_traces.snapshots import loading, safe_pickle
from snapshots_and_traces.snapshots.lives import history
from snapshots_and_traces.snapshots.snapshot import snapshot_of
from snapshots_and_traces.tests.support.snapshots import damaged

CALLS = {"os.system", "os.exec", "subprocess.Popen", "socket.connect"}
loading.limit(10**9, 600)
choose, whole, ran = random.Random(2), sys.stdin.buffer.read(), []
read = refused = 0
sys.addaudithook(lambda event, _: ran.append(event) if event in CALLS else None)
for _ in range(1000):
    data = damaged(whole, choose)
    try:
        snapshot = snapshot_of(safe_pickle.read(data), len(data), "damaged")
        read += 1
    except (safe_pickle.SnapshotError, MemoryError) as refusal:
        assert len(str(refusal)) < 300
        refused += 1
        continue
    for device in snapshot.devices[:3]:
        history(snapshot, device)
        with suppress(safe_pickle.SnapshotError):
            snapshot_page(snapshot, device)
assert refused > 300 and read > 20 and ran == [], (refused, read, ran)
"""


def test_a_thousand_damaged_files_are_refused_or_read_and_viewed_and_never_more(tmp_path):
    command = [sys.executable, "-c", DAMAGED]
    done = subprocess.run(command, input=small_snapshot(), cwd=tmp_path, capture_output=True)
    assert done.returncode == 0 and os.listdir(tmp_path) == [], done.stderr.decode()[-2000:]


def test_a_file_over_the_limit_is_refused_before_it_is_read_and_a_missing_one_is_said(tmp_path):
    file = tmp_path / "large.pickle"
    file.write_bytes(small_snapshot())
    with pytest.raises(SnapshotError, match="over the limit of 100"):
        load(file, largest_bytes=100)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nowhere.pickle")
