"""C++ text as a Python function: right numbers, compiled once, and errors that say what to do."""

import pytest
import torch

from course_utils.chapters.compile_and_graphs import cpp_function, cxx
from course_utils.core import files

needs_compiler = pytest.mark.skipif(cxx() is None, reason="no C++ compiler here")
LOOP = """extern "C" void fused(long n, const float* x, const float* y, float* out) {
    for (long i = 0; i < n; i++)
        out[i] = x[i] * y[i] + 2.0f;
}
"""


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A project of its own, so that nothing is compiled yet."""
    monkeypatch.setattr(files, "ROOT", tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def fused(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "ROOT", tmp_path_factory.mktemp("root"))
        return cpp_function(LOOP)


def compiler(root, monkeypatch, before):
    """A compiler that runs a line of shell before it does its work."""
    wrapper = root / "wrapper"
    wrapper.write_text(f'#!/bin/sh\n{before}\nexec {cxx()} "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("CXX", str(wrapper))


def is_right(function, count=1000):
    x, y = torch.randn(2, count, generator=torch.manual_seed(4))
    out = torch.full_like(x, float("nan"))
    return function(x, y, out=out) is out and torch.equal(out, x * y + 2.0)


@needs_compiler
@pytest.mark.parametrize("count", [0, 1, 15, 1000])
def test_the_loop_gives_what_eager_torch_gives_to_the_last_bit(fused, count):
    assert is_right(fused, count)


@needs_compiler
def test_the_same_text_is_compiled_once(root, monkeypatch):
    compiler(root, monkeypatch, f'echo "$@" >> {root / "calls"}')
    assert is_right(cpp_function(LOOP)) and is_right(cpp_function(LOOP))
    assert (root / "calls").read_text().count("text.cpp") == 1
    cpp_function(LOOP.replace("2.0f", "3.0f"))
    assert (root / "calls").read_text().count("text.cpp") == 2


@needs_compiler
def test_without_the_flag_for_this_processor_or_a_build_folder_there_is_a_loop_too(
    root, monkeypatch
):
    compiler(
        root, monkeypatch, 'case "$*" in *=native*) echo "unknown argument" >&2; exit 1;; esac'
    )
    (root / "build").write_text("a file, where a folder should be")
    assert is_right(cpp_function(LOOP))


@needs_compiler
@pytest.mark.parametrize(
    "old, new, said",
    [
        ("x[i]", "wrong", r"refuses line 3: .*wrong.*\n +3 \|  +out\[i\] = wrong"),
        ('extern "C" ', "", 'write extern "C" before'),
        ("fused", "other", "needs a function of this form: extern"),
        ("long n, ", "", "needs a function of this form: extern"),
        ("const float* y", "const double* y", "needs a function of this form: extern"),
        ("const float* y", "float y", "needs a function of this form: extern"),
    ],
)
def test_text_that_is_no_cpp_or_another_function_is_refused_with_its_line(root, old, new, said):
    with pytest.raises(ValueError, match=said):
        cpp_function(LOOP.replace(old, new))


@needs_compiler
@pytest.mark.parametrize(
    "change, wrong, said",
    [
        (lambda x: [x.double()], TypeError, "x is float64 on cpu: float32 on cpu is wanted"),
        (lambda x: [x.to("meta")], TypeError, "x is float32 on meta"),
        (lambda x: [x.tolist()], TypeError, "x is a list: a tensor is wanted"),
        (lambda x: [x.repeat(2)[::2]], ValueError, "x isn't contiguous"),
        (lambda x: [x[:-1]], ValueError, r"x is of shape \[999\], and out \[1000\]"),
        (lambda x: [], TypeError, "fused reads x, y: 1 tensors were given, and out"),
    ],
)
def test_tensors_that_the_loop_cannot_read_are_refused(fused, change, wrong, said):
    x = torch.ones(1000)
    with pytest.raises(wrong, match=said):
        fused(*change(x), x, out=torch.empty_like(x))


@pytest.mark.parametrize("name", ["/nowhere/c++", "", "false"])
def test_where_no_compiler_runs_there_is_none_and_the_error_says_what_to_do(
    root, monkeypatch, name
):
    monkeypatch.setenv("CXX", name)
    assert cxx() is None
    with pytest.raises(RuntimeError, match=r"No C\+\+ compiler: .* let CXX name one"):
        cpp_function(LOOP)
