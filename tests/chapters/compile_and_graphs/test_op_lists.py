"""Passes and loops of small programs, against counts by hand and the rule of each operator."""

import pytest

from course_utils.chapters.compile_and_graphs.fusion import fuse
from course_utils.chapters.compile_and_graphs.op_lists import (
    PROGRAMS,
    SCHEDULES,
    loop_numbers,
    passes,
    random_programs,
    random_schedules,
)
from tests.chapters.compile_and_graphs.tracing import Value

BY_HAND = {
    "one operator": (3, 3),
    "x * x": (2, 2),
    "a chain": (8, 2),
    "an input used twice": (5, 2),
    "a dead operator": (6, 2),
    "two dead operators in a row": (6, 2),
    "an input that only a dead operator needs": (5, 2),
    "a step between that the caller wants": (4, 3),
    "two programs in one": (4, 4),
    "a square": (9, 2),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_passes_are_those_counted_by_hand(name):
    assert passes(*PROGRAMS[name]) == BY_HAND[name]


def test_fused_a_program_never_takes_more_passes():
    for program in random_programs():
        eager, fused = passes(*program)
        assert eager >= fused >= 2


def test_softmax_takes_three_loops_and_a_chain_one():
    assert loop_numbers(SCHEDULES["softmax"]) == {"m": 0, "d": 1, "e": 1, "s": 1, "y": 2}
    assert set(loop_numbers(SCHEDULES["a chain"]).values()) == {0}
    assert loop_numbers(SCHEDULES["layer norm"])["z"] == 2


def test_no_operator_could_stand_in_an_earlier_loop():
    for ops in [*SCHEDULES.values(), *random_schedules()]:
        found, kinds = loop_numbers(ops), {name: kind for name, kind, _ in ops}
        for name, _, inputs in ops:
            made = [one for one in inputs if one in kinds]
            waits = [found[one] + (kinds[one] == "reduction") for one in made]
            assert found[name] == max(waits, default=0)


def test_random_programs_differ_and_their_operators_use_only_what_was_there():
    assert random_programs() != random_programs()
    for ops in random_schedules():
        ready = {"x", "y", "z"}
        for name, _, inputs in ops:
            assert set(inputs) <= ready and name not in ready
            ready.add(name)


def traced(ops):
    """The same as Values of the page's tracer: a pointwise operator adds up what it is made of."""
    Value.tape, values = [], {}
    for name, kind, of in ops:
        operands = [values.get(one) or values.setdefault(one, Value(one)) for one in of]
        operand = operands[0] if len(set(of)) == 1 and kind == "reduction" else None
        operand = operand or Value("+", *operands)
        values[name] = operand.sum() if kind == "reduction" else operand
    return Value.tape, values


def test_the_widgets_fuser_puts_each_value_into_the_same_loop():
    for ops in [SCHEDULES["softmax"], SCHEDULES["layer norm"], *random_schedules()]:
        tape, values = traced(ops)
        wanted, found = loop_numbers(ops), {}
        for name in wanted:
            live = fuse(tape, values[name]).loops
            found |= {other: live[values[other]] for other in wanted if values[other] in live}
        assert found == wanted


def test_the_widgets_fuser_counts_the_same_passes_for_one_result():
    for ops, results in random_programs():
        tape, values = traced([(name, "pointwise", of) for name, of in ops])
        found = fuse(tape, values[results[0]])
        assert (found.passes_eager, found.passes_fused) == passes(ops, results[:1])
