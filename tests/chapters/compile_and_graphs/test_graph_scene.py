"""A graph's picture in pixels: nothing on top of anything else, and every loop in its own frame."""

import random
from itertools import combinations

import pytest
from matplotlib.textpath import TextPath

from course_utils.chapters.compile_and_graphs.graph_nodes import label
from course_utils.chapters.compile_and_graphs.graph_places import TALL, WIDTH
from course_utils.chapters.compile_and_graphs.graph_scene import Scene
from tests.chapters.compile_and_graphs import tracing
from tests.chapters.compile_and_graphs.tracing import trace

PIXELS_A_POINT = 100 / 72


def horner(x):
    total = 1.5
    for k in range(10):
        total = total * x + 0.0005 * k
    return total


def tangled(x, y, z):
    a, b, c = x - y, x * z, y / z
    d, e, f = a * b, b + c, a - c
    _ = f * 3 + x
    return (d * e) / (f + z) + (a / e).sum() * x


def drawn_at_random(seed):
    """A program of up to 20 operators, some dead, with sums and numbers in it."""
    draw = random.Random(seed)

    def program(*inputs):
        values = list(inputs)
        for _ in range(draw.randint(1, 20)):
            one = draw.choice(values[-6:])
            other = draw.choice([*values, draw.choice([2, 0.5, 0.044715])])
            sign = draw.choice("+-*/sr")
            made = {
                "+": lambda a, b: a + b,
                "-": lambda a, b: a - b,
                "*": lambda a, b: a * b,
                "/": lambda a, b: a / b,
                "r": lambda a, b: b - a,
                "s": lambda a, b: a.sum(),
            }[sign](one, other)
            values.append(made)
        return values[-1]

    return program, "p q r"[: 2 * draw.randint(1, 3)]


PROGRAMS = {
    "dead": (tracing.dead_square, "x y"),
    "optimizer": (lambda p, g, m: tracing.sgd(p, g, m), "p g m"),
    "two sums": (tracing.softmax_like, "x"),
    "normalised": (tracing.normalised, "x"),
    "chain of 20": (tracing.chain, "x"),
    "square": (lambda x: x * x, "x"),
    "an input": (lambda x: x, "x"),
    "unused": (lambda x, y, z: (x * 3, x + y)[1], "x y z"),
    "sum alone": (lambda x: x.sum() * 2 + 1, "x"),
    "horner": (horner, "x"),
    "tangled": (tangled, "x y z"),
    **{f"at random {seed}": drawn_at_random(seed) for seed in (*range(24), 212, 272)},
}


@pytest.fixture(params=PROGRAMS)
def scene(request):
    program, names = PROGRAMS[request.param]
    return Scene(*trace(program, names.split()))


def sides(box):
    return box.x - box.width / 2, box.x + box.width / 2, box.y - TALL / 2, box.y + TALL / 2


def is_in(point, left, right, top, bottom):
    slack = 0.01  # of a pixel: arrows end at edges
    return left + slack < point[0] < right - slack and top < point[1] < bottom


def overlap(a, b):
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]


def test_no_two_boxes_overlap_and_none_leaves_the_picture(scene):
    for one, other in combinations(map(sides, scene.boxes), 2):
        assert not overlap(one, other)
    for left, right, top, bottom in map(sides, scene.boxes):
        assert 0 <= left < right <= WIDTH and 0 <= top < bottom <= scene.places.tops[-1]


def test_no_arrow_runs_through_a_box_or_out_of_the_picture(scene):
    for stroke in scene.strokes():
        for (x0, y0), (x1, y1) in zip(stroke.points, stroke.points[1:], strict=False):
            for share in (0, 0.25, 0.5, 0.75, 1):
                point = x0 + (x1 - x0) * share, y0 + (y1 - y0) * share
                assert 0 <= point[0] <= WIDTH and 0 <= point[1] <= scene.places.tops[-1]
                assert not any(is_in(point, *sides(box)) for box in scene.boxes)


def test_every_arrow_leads_from_what_a_node_is_made_of_to_the_node(scene):
    heads = sorted(stroke.points[-1][0] for stroke in scene.strokes() if stroke.has_head)
    wanted = [
        box.x - box.width / 2
        for box, (node, _) in zip(scene.boxes, scene.graph.column.items(), strict=True)
        for _ in scene.graph.made_of.get(node, ())
    ]
    assert heads == sorted(wanted)


def test_a_loops_frames_hold_its_operators_and_nothing_elses(scene):
    inside = {}
    for frame in scene.frames:
        edges = frame.left, frame.right, frame.top, frame.bottom
        held = [
            node
            for box, node in zip(scene.boxes, scene.graph.column, strict=True)
            if overlap(sides(box), edges)
        ]
        inside.setdefault(frame.label.removeprefix("… "), set()).update(held)
    assert inside == {f"loop {n}": set(group) for n, group in enumerate(scene.loops, 1)}


def test_frames_do_not_overlap(scene):
    edges = [(f.left, f.right, f.top, f.bottom) for f in scene.frames]
    assert not any(overlap(one, other) for one, other in combinations(edges, 2))


def test_every_label_fits_into_its_box(scene):
    for box in scene.boxes:
        assert TextPath((0, 0), box.label, size=12).get_extents().width * PIXELS_A_POINT < box.width


def test_a_number_stands_in_the_box_of_its_operator_on_its_own_side():
    tape, _ = trace(lambda x: (x - 2, 2 - x, 0.044715 * x, x / 1e-8, x.sum()), ["x"])
    shown = [label(value) for value in tape if value.of]
    assert shown == ["− 2", "2 −", "0.0447 ×", "/ 1e-08", "sum"]


def test_arrows_into_one_column_of_a_plain_program_do_not_cross():
    for program, names in (PROGRAMS["optimizer"], PROGRAMS["two sums"], PROGRAMS["square"]):
        lines = [
            (s.points[-2], s.points[0]) for s in Scene(*trace(program, names.split())).strokes()
        ]
        for ((x0, y0), (_, y1)), ((x2, y2), (_, y3)) in combinations(lines, 2):
            assert x0 != x2 or (y0 - y2) * (y1 - y3) >= 0


def test_inputs_of_a_plain_program_stand_in_the_order_of_its_parameters():
    for name in ("dead", "optimizer", "unused", "tangled"):
        program, names = PROGRAMS[name]
        shown = [box for box in Scene(*trace(program, names.split())).boxes if box.kind == "input"]
        assert [b.label for b in sorted(shown, key=lambda box: box.y)] == names.split()


def test_the_left_operand_of_a_difference_comes_in_above():
    scene = Scene(*trace(lambda x, y: y - x, ["x", "y"]))
    named = {box.y: box.label for box in scene.boxes if box.kind == "input"}
    ways = [s.points for s in scene.strokes() if s.points[0][1] in named]
    assert [named[way[0][1]] for way in sorted(ways, key=lambda way: way[-1][1])] == ["y", "x"]
