"""The nodes of a traced program's graph: which are drawn, what they say, in which columns."""

from collections.abc import Sequence

from course_utils.chapters.compile_and_graphs.fusion import Fusion, Value, is_number
from course_utils.chapters.compile_and_graphs.graph_layout import Graph, Node
from course_utils.figures.told import number

SIGNS = {"*": "×", "-": "−"}
EITHER_WAY = ("+", "*")  # operators whose operands may change places
RESULT = "result"  # the node that the program's result goes to


def label(value: Node) -> str:
    """An operator with the numbers that it takes, as `− 2` or `2 −`; an input by its name."""
    if value == RESULT:
        return RESULT
    if not value.of:
        return number(float(value.op)) if is_number(value) else value.op
    sign = SIGNS.get(value.op, value.op)
    texts = [label(one) if is_number(one) else "" for one in value.of]
    parts = [sign, *texts] if len(texts) == 1 else [texts[0], sign, *texts[1:]]
    return " ".join(filter(None, parts))


def loop_groups(fusion: Fusion) -> list[list[Value]]:
    """The operators of each loop that runs over elements, in the tape's order."""
    groups: dict[int, list[Value]] = {}
    for value in fusion.live:
        if value.of:
            groups.setdefault(fusion.loops[value], []).append(value)
    return [
        group
        for _, group in sorted(groups.items())
        if any(not fusion.full.isdisjoint([value, *value.of]) for value in group)
    ]


def graph_of(tape: Sequence[Value], result: Value, fusion: Fusion) -> Graph:
    """Inputs in the first column, then operators: a loop's columns hold no other loop's.

    Numbers are no nodes, but for one that is the result. What is dead stands low.
    """
    shown = [v for v in tape if v.of or v is result or not is_number(v)]
    made_of: dict[Node, list[Value]] = {}
    column: dict[Node, int] = {value: 0 for value in shown if not value.of}
    operators = sorted((v for v in fusion.live if v.of), key=lambda value: fusion.loops[value])
    start, loop = 1, 0
    for value in operators:
        if fusion.loops[value] > loop:
            start, loop = max(column.values()) + 1, fusion.loops[value]
        made_of[value] = [one for one in value.of if one in column]
        column[value] = max([start, *(column[one] + 1 for one in made_of[value])])
    made_of[RESULT], column[RESULT] = [result], max(column.values()) + 1
    for value in fusion.dead:
        made_of[value] = [one for one in value.of if one in column]
        column[value] = max([1, *(column[one] + 1 for one in made_of[value])])
    unused = [value for value in shown if not value.of and value not in fusion.live]
    either_way = [value for value in made_of if getattr(value, "op", "") in EITHER_WAY]
    return Graph(column, made_of, frozenset([*unused, *fusion.dead]), frozenset(either_way))
