"""Small programs as lists of operators: their passes over memory, and the loops that they take."""

import random

Ops = list[tuple[str, list[str]]]  # a tensor, and what it is made of
Kinds = list[tuple[str, str, list[str]]]  # the same, with "pointwise" or "reduction" between
P, R = "pointwise", "reduction"

PROGRAMS: dict[str, tuple[Ops, list[str]]] = {
    "one operator": ([("a", ["x", "y"])], ["a"]),
    "x * x": ([("a", ["x", "x"])], ["a"]),
    "a chain": ([("a", ["x"]), ("b", ["a"]), ("c", ["b"]), ("d", ["c"])], ["d"]),
    "an input used twice": ([("a", ["x"]), ("b", ["a", "x"])], ["b"]),
    "a dead operator": ([("a", ["x"]), ("b", ["x"]), ("c", ["a"])], ["c"]),
    "two dead operators in a row": ([("a", ["x"]), ("b", ["y"]), ("c", ["b"])], ["a"]),
    "an input that only a dead operator needs": ([("a", ["x"]), ("b", ["a", "y"])], ["a"]),
    "a step between that the caller wants": ([("a", ["x"]), ("b", ["a"])], ["b", "a"]),
    "two programs in one": ([("a", ["x"]), ("b", ["y"])], ["a", "b"]),
    "a square": ([("a", ["x"]), ("b", ["a"]), ("c", ["a"]), ("d", ["b", "c"])], ["d"]),
}
NORMALISED: Kinds = [("m", R, ["x"]), ("d", P, ["x", "m"]), ("q", P, ["d"]), ("v", R, ["q"])]
SCHEDULES: dict[str, Kinds] = {
    "nothing": [],
    "a chain": [("a", P, ["x"]), ("b", P, ["a"]), ("c", P, ["b", "y"])],
    "a mean": [("m", R, ["x"])],
    "x / x.sum()": [("s", R, ["x"]), ("y", P, ["x", "s"])],
    "the sum of a square": [("q", P, ["x"]), ("s", R, ["q"])],
    "softmax": [
        *[("m", R, ["x"]), ("d", P, ["x", "m"]), ("e", P, ["d"])],
        *[("s", R, ["e"]), ("y", P, ["e", "s"])],
    ],
    "a variance": NORMALISED,
    "layer norm": [*NORMALISED, ("r", P, ["v"]), ("y", P, ["d", "r"]), ("z", P, ["y", "w", "b"])],
    "two reductions of one tensor": [("a", R, ["x"]), ("b", R, ["x"]), ("y", P, ["a", "x", "b"])],
    "a reduction of a reduction": [("a", R, ["x"]), ("b", R, ["a"]), ("y", P, ["b"])],
    "one that waits, and one that needn't": [("s", R, ["x"]), ("a", P, ["s"]), ("b", P, ["x"])],
    "an old and a new one": [
        *[("s", R, ["x"]), ("a", P, ["s"]), ("b", P, ["a", "s"])],
        *[("t", R, ["b"]), ("c", P, ["s", "t", "a"])],
    ],
}


def passes(ops: Ops, results: list[str]) -> tuple[int, int]:
    """How often memory is gone through: operator by operator, and fused into one loop.

    An operator reads each of its inputs once, however often it uses it, and writes one tensor. The
    loop reads each input that a result depends on, and writes the results.
    """
    made, needed, left = dict(ops), set[str](), list(results)
    while left:
        name = left.pop()
        if name not in needed:
            needed.add(name)
            left.extend(made.get(name, []))
    return sum(1 + len(set(of)) for _, of in ops), len(needed - set(made)) + len(results)


def loop_numbers(ops: Kinds) -> dict[str, int]:
    """The first loop in which each operator can stand, all having the same elements.

    A reduction's result is there when its loop has ended: who uses it stands in a later one. Found
    by moving each behind what it waits for, as often as the longest chain may need.
    """
    kind = {name: kind for name, kind, _ in ops}
    found = dict.fromkeys(kind, 0)
    for _ in ops:
        for name, _, of in ops:
            for one in of:
                if one in kind:
                    found[name] = max(found[name], found[one] + (kind[one] == R))
    return found


def random_programs() -> list[tuple[Ops, list[str]]]:
    """Programs of two to eight operators, with one or two results that the caller wants."""
    graphs = [_graph(count) for count in (2, 3, 5, 8) * 10]
    names = [[name for name, _ in ops] for ops in graphs]
    return [
        (ops, random.sample(n, random.choice((1, 2)))) for ops, n in zip(graphs, names, strict=True)
    ]


def random_schedules() -> list[Kinds]:
    """Programs of two to ten operators, of which a third are reductions."""
    graphs = [_graph(count) for count in (2, 4, 7, 10) * 10]
    return [[(name, random.choice((P, P, R)), of) for name, of in ops] for ops in graphs]


def _graph(count: int) -> Ops:
    """Operators that use what was there before them; their names say nothing of their order."""
    names, ready = random.sample("abcdefghijkl", count), ["x", "y", "z"][: random.randint(1, 3)]
    found = []
    for name in names:
        found.append((name, random.choices(ready[-4:], k=random.randint(1, 3))))
        ready.append(name)
    return found
