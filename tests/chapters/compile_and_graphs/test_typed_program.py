"""What a reader types is worked out as in Python, or refused in a sentence; nothing else runs."""

import pytest
import torch

from course_utils.chapters.compile_and_graphs.graph_view import typed_program


@pytest.mark.parametrize(
    "text, names",
    [
        ("x * y + 2", "x y"),
        ("z - x / (y * 3 - 0.5)", "x y z"),
        ("(y * -2 + 1e-3).sum() * y", "y"),
        ("  2 * 3 * x\n", "x"),
    ],
)
def test_it_means_what_it_means_in_python(text, names):
    tensors = dict(zip("xyz", torch.randn(3, 5), strict=True))
    program, used = typed_program(text)
    assert used == names.split()
    assert torch.equal(program(*(tensors[name] for name in used)), eval(text.strip(), tensors))


@pytest.mark.parametrize(
    "text, said",
    [
        ("", "is no whole expression"),
        ("2 + 3", "There is no x, y or z in it"),
        ("x + w", "'w' isn't known here: write with x, y, z, numbers"),
        ("__import__('os').remove(x)", "'__import__' isn't known here"),
        ("x ** 2", r"'x \*\* 2' can't be traced"),
        ("-x", "'-x' can't be traced"),
        ("x.sum(0)", r"'x.sum\(0\)' can't be traced"),
        ("x.__class__", "'x.__class__' can't be traced"),
        ("x + True", "'True' can't be traced"),
        ("x if x else y", "can't be traced"),
        ("x" + " + x" * 31, "room for 30 operators"),
        ("x + " + "(" * 500, "is no whole expression"),
    ],
)
def test_what_cannot_be_traced_is_refused_in_a_sentence(text, said):
    with pytest.raises(ValueError, match=said):
        program, names = typed_program(text)
        program(*torch.ones(len(names), 2))
