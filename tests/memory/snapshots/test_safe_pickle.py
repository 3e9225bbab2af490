"""A file from a stranger: read as data, or refused in one sentence, quickly, with nothing run."""

import copyreg
import os
import pickle
import random
import struct
import sys
import time
import tracemalloc
from pathlib import Path

import pytest

from course_utils.core import files
from course_utils.memory.snapshots import safe_pickle, snapshot
from course_utils.memory.snapshots.repeated_lists import with_lists_once
from course_utils.memory.snapshots.safe_pickle import SnapshotError
from course_utils.memory.snapshots.snapshot import load
from tests.support.snapshots import damaged, small_snapshot

pytestmark = pytest.mark.without_torch

REAL = files.ROOT.parent / "shared" / "snapshots"
TRACE = 2**20


class Runs:
    """What runs a command where a pickle of it is loaded."""

    def __init__(self, *call: object) -> None:
        self.call = call

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return self.call[0], self.call[1:]


def framed(body: bytes) -> bytes:
    return b"\x80\x04\x95" + struct.pack("<Q", len(body)) + body


def deep(n: int, inner: bytes, wrap: bytes) -> bytes:
    return b"\x80\x04" + inner + wrap * n + b"."


MALICIOUS = {
    "os.system": pickle.dumps(Runs(os.system, "touch was_run")),
    "eval": pickle.dumps(Runs(eval, "open('was_run', 'w')")),
    "eval, protocol 2": pickle.dumps(Runs(eval, "open('was_run', 'w')"), protocol=2),
    "eval, protocol 0": pickle.dumps(Runs(eval, "open('was_run', 'w')"), protocol=0),
    "nested": pickle.dumps({"segments": [{"blocks": [Runs(os.system, "touch was_run")]}]}),
    "a class": pickle.dumps({"segments": [], "device_traces": Path}),
    "global by text": b"\x80\x04cposix\nsystem\n\x8c\x0dtouch was_run\x85R.",
    "inst": b"\x80\x04(\x8c\x0dtouch was_runiposix\nsystem\n.",
    "obj": b"\x80\x04(cposix\nsystem\n\x8c\x0dtouch was_runo.",
    "newobj": b"\x80\x04cposix\nsystem\n\x8c\x0dtouch was_run\x85\x81.",
    "build": b"\x80\x04}}\x8c\x08__dict__NsbN.",
    "persistent id": b"\x80\x04\x8c\x01aQ.",
    "persistent id by text": b"\x80\x04Pa\n.",
    "extension code": b"\x80\x04\x82\xf0.",
    "extension code of four bytes": b"\x80\x04\x84\xf0\x00\x00\x00.",
    "out-of-band buffer": b"\x80\x05\x97.",
    "set": pickle.dumps({1, 2}),
    "bytes": pickle.dumps(b"abc"),
    "a bytearray of eight terabytes": b"\x80\x05\x96" + struct.pack("<Q", 2**43) + b"a.",
    "bytes of eight terabytes": b"\x80\x04\x8e" + struct.pack("<Q", 2**43) + b"a.",
    "text of eight terabytes": b"\x80\x04\x8d" + struct.pack("<Q", 2**43) + b"a.",
    "text of eight terabytes, framed": framed(b"\x8d" + struct.pack("<Q", 2**43) + b"a."),
    "text of four gigabytes": framed(b"X" + struct.pack("<I", 2**32 - 1) + b"a."),
    "a frame of eight terabytes": b"\x80\x04\x95" + struct.pack("<Q", 2**43) + b"N.",
    "a number of two gigabytes": b"\x80\x04\x8b" + struct.pack("<i", 2**31 - 1) + b"a.",
    "a number of negative length": b"\x80\x04\x8b" + struct.pack("<i", -5) + b"a.",
    "a number in decimal": b"\x80\x04I" + b"9" * 100_000 + b"\n.",
    "a memo of 2^32 places": b"\x80\x04Nr\xff\xff\xff\xff.",
    "a memo of 10^18 places": b"\x80\x04Np1000000000000000000\n.",
    "nested lists": deep(TRACE, b"]" * (TRACE + 1), b"a"),
    "nested lists, opened": b"\x80\x04" + b"](" * TRACE + b".",
    "nested tuples": deep(TRACE, b"N", b"\x85"),
    "nested tuples as a key": framed(b"}" + b"K\x01" + b"\x85" * TRACE + b"Ns."),
    "nested tuples as a key, by the memo": framed(
        b"}\x94](" + b"K\x01" + b"\x85\x94h\x01" * 50_000 + b"eNs."
    ),
    "open brackets alone": b"\x80\x04" + b"(" * TRACE + b".",
    "a million lists": framed(b"(" + b"]" * TRACE + b"l."),
    "a list a million times itself": framed(b"]\x94(" + b"h\x00" * TRACE + b"e."),
    "doubling lists": framed(
        b"]\x94" + b"".join(b"]\x94(h%ch%ce" % (n, n) for n in range(40)) + b"."
    ),
    "numbers that collide as keys": framed(
        b"}(" + b"".join(b"\x8a\x0a" + (n * (2**61 - 1)).to_bytes(10, "little") + b"N"
                          for n in range(50_000)) + b"u."
    ),
    "numbers as keys, after text": framed(b"}\x94(\x8c\x01aN" + b"K\x01N" * 50_000 + b"u."),
    "numbers as keys, shifted by one": framed(
        b"}\x94(\x8c\x01a\x8c\x01bK\x01" + b"\x8c\x01aK\x02" * 50_000 + b"u."
    ),
    "numbers as keys, behind long text": framed(
        b"}\x94(\x8c\x01a" + b"X\x01\x00\x00\x00b" * 2 + b"\x8c\x01cK\x02" * 50_000 + b"u."
    ),
    "numbers as keys, one by one": framed(b"}\x94" + b"K\x01Ns" * 50_000 + b"."),
    "numbers as keys, by a bracket left open": framed(b"}]\x94(" + b"K\x01N" * 50_000 + b"u."),
    "a dict filled again by the memo": framed(b"}\x94h\x00(" + b"K\x01N" * 50_000 + b"u."),
    "a pickle after the end": pickle.dumps([]) + pickle.dumps([]),
    "empty": b"",
    "one byte": b"\x80",
    "no pickle": b"PK\x03\x04 this is a zip file.",
    "zeros": bytes(10_000),
    "text": b"segments: none.",
}  # fmt: skip


@pytest.mark.parametrize("kind", MALICIOUS)
def test_a_malicious_file_is_refused_in_a_sentence_and_nothing_runs(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "stranger.pickle"
    file.write_bytes(MALICIOUS[kind])
    ran = watch_for_calls()
    tracemalloc.start()
    start = time.process_time()
    try:
        with pytest.raises(SnapshotError) as refusal:
            load(file)
        seconds, (_, peak) = time.process_time() - start, tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert is_sentence(str(refusal.value))
    assert not (tmp_path / "was_run").exists() and ran == []
    assert peak < 40 * len(MALICIOUS[kind]) + 2**20
    assert seconds < 20


def is_sentence(text: str) -> bool:
    return text.startswith("stranger.pickle is refused: ") and "\n" not in text and len(text) < 400


CALLS = {"os.system", "os.exec", "subprocess.Popen", "exec", "pickle.find_class", "socket.connect"}


watched: list[list[str]] = []


def watch_for_calls() -> list[str]:
    """What Python's audit hooks report from here on, of what a pickle could do."""
    if not watched:
        sys.addaudithook(lambda event, _: watched[-1].append(event) if event in CALLS else None)
    watched.append([])
    return watched[-1]


@pytest.mark.parametrize("kind, named", [
    ("os.system", "posix.system"), ("eval", "builtins.eval"), ("nested", "posix.system"),
    ("global by text", "posix.system"), ("set", "EMPTY_SET"), ("persistent id", "BINPERSID"),
])  # fmt: skip
def test_a_refusal_names_what_the_file_asked_for(kind, named):
    with pytest.raises(SnapshotError, match=named):
        safe_pickle.read(MALICIOUS[kind])


@pytest.mark.parametrize("kind", [k for k in MALICIOUS if "as key" in k or "as a key" in k])
def test_nothing_but_text_becomes_a_key(kind):
    with pytest.raises(SnapshotError, match="where plain data has none"):
        safe_pickle.read(MALICIOUS[kind])


@pytest.mark.parametrize("kind", ["a frame of eight terabytes", "text of eight terabytes"])
def test_a_part_that_claims_more_than_the_file_has_is_called_cut_off(kind):
    with pytest.raises(SnapshotError, match="cut off: a part claims more bytes"):
        safe_pickle.read(MALICIOUS[kind])


def test_a_cached_extension_code_stays_out(monkeypatch):
    copyreg.add_extension("os", "getcwd", 240)
    try:
        pickle.loads(b"\x80\x04\x82\xf0.")  # the plain unpickler now has it in a cache
        with pytest.raises(SnapshotError, match="EXT1"):
            safe_pickle.read(b"\x80\x04\x82\xf0.")
    finally:
        copyreg.remove_extension("os", "getcwd", 240)


def test_a_second_lock_refuses_what_the_check_would_let_through(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(safe_pickle, "with_lists_once", b"".join)
    monkeypatch.setattr(safe_pickle, "_check", lambda body: None)
    for kind, words in {"os.system": "posix.system", "persistent id": "kept elsewhere"}.items():
        with pytest.raises(SnapshotError, match=words):
            safe_pickle.read(MALICIOUS[kind])


PLAIN = [
    None, True, False, [], {}, (), 0, -1, 255, 2**16, -(2**31), 2**63 - 1, 1.5, float("inf"), "",
    "ä€😀", "x" * 300, "x" * 70_000, [[]], [[[[1], 2], []], {}], {"a": {}},
    {"a": [{"b": ["c"]}]},
    {"a": {"b": {"c": 1}}, "d": [[{}]]}, (0, 1), (1, 2, 3), [("a", "b"), (0,), ([],)],
    list(range(5000)), {f"key {n}": n for n in range(5000)},
    [{"a": [1, {"b": n}]} for n in range(9)], [[{"a": "x" * 300, "b": [[], [[]], {"c": []}]}]],
    [{"x": "y" * n, "z": [(0, n)]} for n in range(0, 600, 7)],
    {"one": ["é" * 200, {"two": "x" * 400}]}, {"k": "x" * 65_536, "after": ["y" * 70_000, 1]},
]  # fmt: skip


@pytest.mark.parametrize("protocol", [4, 5])
@pytest.mark.parametrize("value", PLAIN, ids=lambda v: repr(v)[:30])
def test_plain_data_is_read_as_pickle_reads_it(value, protocol):
    assert safe_pickle.read(pickle.dumps(value, protocol)) == value


FRAMES = [{"name": f"function {n}", "filename": "a.py", "line": n} for n in range(400)]


def events_with_lists_of_their_own(count: int, depth: int = 60) -> list[dict[str, object]]:
    """As torch writes them: the frames are shared, their lists are not."""
    return [
        {"addr": 2**46 + n, "frames": FRAMES[n % 300 : n % 300 + depth], "more": [n % 7, 2.5]}
        for n in range(count)
    ]


def test_lists_of_references_that_repeat_are_read_as_they_are_and_kept_once():
    made = events_with_lists_of_their_own(2000)
    found = safe_pickle.read(pickle.dumps(made))
    assert found == made
    assert len({id(event["frames"]) for event in found}) < 900  # of 2,000; 300 differ
    assert len({id(event["more"]) for event in found}) == 2000


def test_call_stacks_take_little_more_memory_than_one_of_each_kind():
    made = events_with_lists_of_their_own(20_000)
    data = pickle.dumps(made)
    tracemalloc.start()
    try:
        safe_pickle.read(data)
        _, ours = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        pickle.loads(data)
        _, plain = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert ours < 0.8 * (plain - before) + 2 * len(data)


def test_a_file_of_long_call_stacks_is_read_in_less_memory_than_it_has_bytes(tmp_path):
    file, made = tmp_path / "deep.pickle", events_with_lists_of_their_own(10_000, depth=300)
    file.write_bytes(pickle.dumps(made))
    tracemalloc.start()
    try:
        with file.open("rb") as opened:
            found = safe_pickle.read_file(opened)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < file.stat().st_size and found == made


@pytest.mark.parametrize(
    "inside", [b"]\x94(h\x01h\x01", b"(h\x01h\x01e.", b"]\x94(h\x01h\x01e"[:8]]
)
def test_a_number_that_looks_like_such_a_list_stays_a_number(inside):
    number = struct.unpack(">d", inside[:8].ljust(8, b"e"))[0]
    made = [["x", "y"], *[[number, None, "x", "x", [0]] for _ in range(9)]]
    assert repr(safe_pickle.read(pickle.dumps(made))) == repr(made)


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

    for _ in range(1500):
        made = value(5)
        assert safe_pickle.read(pickle.dumps(made)) == made


@pytest.mark.parametrize(
    "file", sorted(REAL.glob("*.pickle")) or [None], ids=lambda p: p and p.stem
)
def test_real_snapshots_are_read_as_pickle_reads_them(file):
    if file is None:
        pytest.skip("the folder ../shared/snapshots isn't here")
    data = file.read_bytes()
    assert safe_pickle.read(data) == pickle.loads(data)


def test_thousands_of_damaged_files_are_read_or_refused_and_never_more(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    choose, whole = random.Random(2), small_snapshot()
    outcomes = {"read": 0, "refused": 0}
    ran = watch_for_calls()
    for _ in range(4000):
        try:
            content = safe_pickle.read(damaged(whole, choose))
            snapshot._snapshot("damaged", content, len(whole))
            outcomes["read"] += 1
        except SnapshotError as refusal:
            assert len(str(refusal)) < 300
            outcomes["refused"] += 1
    assert outcomes["refused"] > 1500 and outcomes["read"] > 100 and ran == []


def test_a_file_over_the_limit_is_refused_before_it_is_read(tmp_path):
    file = tmp_path / "large.pickle"
    file.write_bytes(small_snapshot())
    with pytest.raises(SnapshotError, match="over the limit of 100"):
        load(file, largest_bytes=100)


def test_a_missing_file_is_an_ordinary_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nowhere.pickle")


def test_references_that_look_like_beginnings_of_lists_take_no_time():
    unended = b"]\x94(" + b"j]\x94(j" * 30_000
    began = time.perf_counter()
    assert with_lists_once([unended]) == unended
    assert time.perf_counter() - began < 2


@pytest.mark.parametrize("seed", range(5))
def test_lists_that_repeat_are_the_same_wherever_they_end(seed):
    draw = random.Random(seed)
    words = [f"word {n}" for n in range(300)]
    pool = [draw.choices(words, k=draw.randint(2, 40)) for _ in range(20)]
    made = [
        words,
        *([list(draw.choice(pool)) for _ in range(draw.randint(1, 3))] for _ in range(500)),
    ]
    assert safe_pickle.read(pickle.dumps(made)) == made


@pytest.mark.parametrize("payload", [b"\x65\x68\x01\x00", b"\x01\x65\x6a\x02", b"\x01\x02\x65\x75"])
def test_a_reference_that_looks_like_the_end_of_its_list_is_none(payload):
    """Each list of 20 has in it, at another place, a reference with e and h, j or u."""
    references = [b"j" + bytes([n, 1, 0, 0]) for n in range(20)]
    lists = [b"".join([*references[:n], b"j", payload, *references[n:]]) for n in range(15)]
    body = b"".join(b"]\x94(" + references + b"eh\x01" for references in lists * 50)
    shorter = with_lists_once([body])
    assert shorter.count(b"]\x94(") == len(lists) and len(shorter) < len(body) / 5


def test_a_list_is_known_again_across_the_pieces_in_which_a_file_is_taken(monkeypatch):
    made = events_with_lists_of_their_own(500)
    whole = with_lists_once([pickle.dumps(made)])
    monkeypatch.setattr("course_utils.memory.snapshots.repeated_lists.PIECE", 1000)
    assert with_lists_once([pickle.dumps(made)]) == whole
    assert safe_pickle.read(pickle.dumps(made)) == made


@pytest.mark.parametrize("after", [0, 300, 2.5, "text", "long " * 99, None, {}, [], (), {"a": 1}])
def test_a_list_that_repeats_may_stand_before_anything(after):
    words = [f"word {n}" for n in range(300)]
    made = [words, *([words[n % 7 : 50], after] for n in range(90)), *([words[:9], after] * 9)]
    made += [{"frames": words[n % 7 : 50], "after": after} for n in range(90)]
    found = safe_pickle.read(pickle.dumps([made, words[1:50], after, words[1:50]]))
    assert found == [made, words[1:50], after, words[1:50]]
