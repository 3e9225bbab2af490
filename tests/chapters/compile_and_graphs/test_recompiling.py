"""What the exercise says of recompiling is what the installed torch does."""

import torch
from torch._dynamo.testing import CompileCounter

from course_utils.chapters.compile_and_graphs.fresh_compiles import fresh, quietly
from course_utils.chapters.compile_and_graphs.recompiling import cases, compiling
from course_utils.lesson.exercises import grade
from tests.chapters.compile_and_graphs import wrong_answers


def by_torchs_counter(case):
    counter, found = CompileCounter(), []
    compiled = torch.compile(fresh(case.function), backend=counter)
    for number, arguments in enumerate(case.calls):
        before = counter.frame_count
        compiled(*arguments)
        found += [number] * (counter.frame_count > before)
    return found


def test_the_calls_that_are_said_to_compile_are_those_that_do():
    with quietly():
        for case in cases():
            assert case.want == compiling(case) == by_torchs_counter(case), str(case)


def test_the_words_for_a_function_are_its_code():
    shown = [case for case in cases() if case.calls and "print" not in case.code]
    for case in shown:
        names = case.function.__code__.co_varnames[: case.function.__code__.co_argcount]
        for arguments in case.calls:
            said = eval(case.code, {"torch": torch}, dict(zip(names, arguments, strict=True)))
            torch.testing.assert_close(said, case.function(*arguments))


def test_every_list_of_calls_and_every_size_is_drawn_anew():
    assert len({str(case) for _ in range(5) for case in cases()}) > 20


def test_a_wrong_answer_is_told_the_calls_and_why_those_compile():
    message = grade("compile.compiling_calls", wrong_answers.by_shape).message
    assert message.startswith("x * 2, called with float32[") and "want [0, 1, 5]" in message
    assert "a size that may vary" in message


def test_a_torch_that_compiles_otherwise_is_believed(monkeypatch):
    monkeypatch.setattr(torch._dynamo.config, "automatic_dynamic_shapes", False)
    with quietly():
        varied = next(case for case in cases() if case.want == [0, 1, 5])
        assert compiling(varied) == [0, 1, 2, 3, 5]
