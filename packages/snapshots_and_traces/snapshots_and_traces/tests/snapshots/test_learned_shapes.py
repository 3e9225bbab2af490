"""What is matched by a shape learned from a file is what the grammar of plain data matches."""

import pickle
import random
import re

import pytest

from snapshots_and_traces.snapshots.learned_shapes import shape_of
from snapshots_and_traces.snapshots.plain_forms import DICT

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


@pytest.mark.parametrize("seed", range(3))
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
