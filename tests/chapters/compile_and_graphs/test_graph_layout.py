"""Nothing in a graph's picture is on top of anything else."""

import operator
import random
from itertools import combinations

import pytest

from course_utils.chapters.compile_and_graphs.graph_view import TALL, Layout
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


def overlap(a, b):
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]


@pytest.mark.parametrize("name", PROGRAMS)
def test_boxes_do_not_overlap_and_arrows_lead_past_boxes(name):
    program, names = PROGRAMS[name]
    layout = Layout(*trace(program, names.split()))
    boxes = {}
    for node in layout.graph:
        (x, y), half = layout.middle(node), layout.width(node) / 2
        boxes[node] = (x - half, x + half, y - TALL / 2, y + TALL / 2)
    assert not any(overlap(one, other) for one, other in combinations(boxes.values(), 2))
    for box in boxes.values():
        assert 0 <= box[0] < box[1] <= layout.wide and 0 <= box[2] < box[3] <= layout.tall
    for source, node in layout.graph.edges:
        for x, y in layout.line(source, node)[1:-1]:
            inside = [n for n, b in boxes.items() if b[0] < x < b[1] and b[2] < y < b[3]]
            assert set(inside) <= {source}
