"""What is matched by a shape learned from a file is what the grammar of plain data matches."""

import io
import pickle
import random
import re

import pytest

from course_utils.memory.snapshots import plain_forms, safe_pickle
from course_utils.memory.snapshots.learned_shapes import learned, shape_of
from course_utils.memory.snapshots.plain_forms import DICT, NESTED
from course_utils.memory.snapshots.safe_pickle import SnapshotError
from tests.support.snapshots import damaged, small_snapshot

pytestmark = pytest.mark.without_torch

KEYS = [f"key {number}" for number in range(400)]  # more than a reference of one byte reaches


def dicts(choose: random.Random) -> list[bytes]:
    """The bytes of 300 flat dicts of random numbers, references, pairs, as pickle writes them."""

    def value() -> object:
        number = choose.randrange(-(2 ** choose.randrange(1, 63)), 2 ** choose.randrange(1, 63))
        simple = (None, True, choose.choice(KEYS), number, abs(number), 0.5, [], (), (1,))
        return choose.choice((*simple, (number, 3), (1, 2, number)))

    made = [{choose.choice(KEYS): value() for _ in range(9)} for _ in range(300)]
    data = pickle.dumps([KEYS, made])
    starts = [found.start() for found in re.finditer(rb"\}\x94\(", data)]
    return [found[0] for at in starts if (found := DICT.match(data, at))]


@pytest.mark.parametrize("seed", range(8))
def test_what_a_learned_shape_accepts_the_grammar_accepts(seed):
    choose = random.Random(seed)
    codes = b"}](eusaQNhjKMJG\x85\x86\x87\x88\x89\x8a\x8c\x93\x94R."
    accepted = 0
    for text in dicts(choose):
        shape = re.compile(shape_of(text), re.DOTALL)
        assert shape.fullmatch(text)
        for _ in range(60):
            other = bytearray(text)
            for place in choose.choices(range(len(text)), k=choose.randrange(1, 9)):
                other[place] = choose.choice(codes)
            if shape.fullmatch(other):
                found = DICT.match(bytes(other))
                assert found and found.end() == len(other)
                accepted += 1
    assert accepted > 500


def test_a_segment_is_known_by_its_shape_whatever_the_number_of_its_blocks():
    made = [
        {"address": 2**40 + n, "blocks": [{"size": k, "frames": []} for k in range(n % 4)]}
        for n in range(40_000)
    ]
    data = pickle.dumps(made)
    shapes = [re.compile(shape, re.DOTALL) for shape in plain_forms.frequent(data)]
    starts = [found.start() for found in re.finditer(rb"\}\x94\(", data[-2000:])]
    texts = [found[0] for at in starts if (found := NESTED.match(data[-2000:], at))]
    assert {text.count(b"}\x94(") for text in texts} == {1, 2, 3, 4}
    assert all(any(shape.fullmatch(text) for shape in shapes) for text in texts)
    assert safe_pickle.read(data) == made


def test_a_shape_ends_where_its_dict_does():
    shape = re.compile(shape_of(b"}\x94(h\x01Nu"), re.DOTALL)
    assert shape.match(b"}\x94(h\x01Nu}") and not shape.match(b"}\x94(h\x01Nu(h\x02Nu")


@pytest.mark.parametrize("rest", [b"h\x02\x8c\x01au", b"h\x02X\x01\x00\x00\x00au", b"h\x02cos\n"])
def test_no_shape_is_learned_of_what_says_its_own_length(rest):
    assert shape_of(b"}\x94(h\x01N" + rest) == b""


def test_damaged_files_are_read_or_refused_the_same_with_learned_shapes(monkeypatch):
    monkeypatch.setattr("course_utils.memory.snapshots.learned_shapes.FEW", 0)
    choose, whole = random.Random(4), small_snapshot()
    body = b"".join(safe_pickle._instructions(io.BytesIO(whole), len(whole)))
    shapes = plain_forms.frequent(body)
    assert shapes and re.compile(b"|".join(shapes), re.DOTALL).search(body)
    monkeypatch.setattr(safe_pickle, "frequent", lambda body: [])
    general, special = safe_pickle.PUSHES, plain_forms.pushes(shapes)
    refused = 0
    for _ in range(1500):
        file = damaged(whole, choose)
        outcomes = []
        for pattern in (general, special):
            monkeypatch.setattr(safe_pickle, "PUSHES", pattern)
            try:
                outcomes.append(repr(safe_pickle.read(file)))
            except SnapshotError as refusal:
                outcomes.append(str(refusal))
                refused += pattern is special
        assert outcomes[0] == outcomes[1]
    assert 300 < refused < 1400


def test_a_large_file_is_read_as_pickle_reads_it_by_its_shapes():
    made = [{"a": 2**46 + n, "b": n % 300, "c": None, "d": [], "e": (0, n)} for n in range(60_000)]
    data = pickle.dumps(made)
    assert len(learned(data, DICT)) >= 2
    assert safe_pickle.read(data) == made
