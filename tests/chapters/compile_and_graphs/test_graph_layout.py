"""A graph's picture in pixels: nothing on top of anything else."""

import operator
import random
from itertools import combinations, pairwise

import pytest

from course_utils.chapters.compile_and_graphs.graph_layout import TALL, WIDTH, Layout, width
from tests.chapters.compile_and_graphs import tracing
from tests.chapters.compile_and_graphs.tracing import trace

SIGNS = [operator.add, operator.sub, operator.mul, operator.truediv, lambda a, b: a.sum()]


def drawn_at_random(seed):
    """A program of up to 20 operators, some dead, with sums and numbers in it."""
    draw = random.Random(seed)

    def program(*inputs):
        values = list(inputs)
        for _ in range(draw.randint(1, 20)):
            one, other = draw.choice(values[-6:]), draw.choice([*values, 2, 0.5, 0.044715])
            values.append(draw.choice(SIGNS)(one, other))
        return values[-1]

    return program, "p q r"[: 2 * draw.randint(1, 3)]


PROGRAMS = {
    "dead": (tracing.dead_square, "x y"),
    "optimizer": (tracing.sgd, "p g m"),
    "two sums": (tracing.softmax_like, "x"),
    "normalised": (tracing.normalised, "x"),
    "chain of 20": (tracing.chain, "x"),
    "an input": (lambda x: x, "x"),
    **{f"at random {seed}": drawn_at_random(seed) for seed in range(26)},
}


def sides(corner, wide, tall):
    return corner[0], corner[0] + wide, corner[1], corner[1] + tall


def overlap(a, b):
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]


@pytest.mark.parametrize("name", PROGRAMS)
def test_boxes_and_frames_do_not_overlap_and_arrows_lead_past_boxes(name):
    program, names = PROGRAMS[name]
    layout = Layout(*trace(program, names.split()))
    boxes = []
    for item in layout.column.items():
        (x, y), wide = layout.middle(item), width(item[0])
        boxes.append(sides((x - wide / 2, y - TALL / 2), wide, TALL))
    frames = [sides(*frame) for _, *frame in layout.frames()]
    for some in (boxes, frames):
        assert not any(overlap(one, other) for one, other in combinations(some, 2))
    bottom = layout.tops[-1]
    assert all(0 <= b[0] < b[1] <= WIDTH and 0 <= b[2] < b[3] <= bottom for b in boxes)

    for _, _, path in layout.arrows():
        for piece in path.to_polygons(closed_only=False):
            for (x0, y0), (x1, y1) in pairwise(piece):
                for share in (0, 0.25, 0.5, 0.75, 1):
                    x, y = x0 + (x1 - x0) * share, y0 + (y1 - y0) * share
                    assert 0 <= x <= WIDTH and 0 <= y <= bottom
                    assert not any(b[0] + 0.01 < x < b[1] - 0.01 and b[2] < y < b[3] for b in boxes)
