"""C++ text as a Python function: right numbers, and errors that say what to do."""

import pytest
import torch

from course_utils.chapters.compile_and_graphs import cpp_function, cxx

needs_compiler = pytest.mark.skipif(cxx() is None, reason="no C++ compiler here")
LOOP = """extern "C" void fused(long n, const float* x, const float* y, float* out) {
    for (long i = 0; i < n; i++)
        out[i] = x[i] * y[i] + 2.0f;
}
"""


@pytest.fixture(scope="module")
def fused():
    return cpp_function(LOOP)


def is_right(function, count=1000):
    x, y = torch.randn(2, count, generator=torch.manual_seed(4))
    out = torch.full_like(x, float("nan"))
    return function(x, y, out=out) is out and torch.equal(out, x * y + 2.0)


@needs_compiler
@pytest.mark.parametrize("count", [0, 1, 15, 1000])
def test_the_loop_gives_what_eager_torch_gives_to_the_last_bit(fused, count):
    assert is_right(fused, count)


@needs_compiler
def test_without_the_flag_for_this_cpu_there_is_a_loop_too(tmp_path, monkeypatch):
    wrapper = tmp_path / "wrapper"
    refuse = 'case "$*" in *=native*) echo "unknown argument" >&2; exit 1;; esac'
    wrapper.write_text(f'#!/bin/sh\n{refuse}\nexec {cxx()} "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("CXX", str(wrapper))
    assert is_right(cpp_function(LOOP))


@needs_compiler
@pytest.mark.parametrize(
    "old, new, said",
    [
        ("x[i]", "wrong", r"refuses line 3: .*wrong"),
        ('extern "C" ', "", "needs a function of this form: extern"),
        ("long n, ", "", "needs a function of this form: extern"),
        ("const float* y", "const double* y", "needs a function of this form: extern"),
        ("const float* y", "float y", "needs a function of this form: extern"),
    ],
)
def test_text_that_is_no_cpp_or_another_function_is_refused(old, new, said):
    with pytest.raises(ValueError, match=said):
        cpp_function(LOOP.replace(old, new))


@needs_compiler
@pytest.mark.parametrize(
    "change",
    [
        lambda x: [x.double()],
        lambda x: [x.to("meta")],
        lambda x: [x.repeat(2)[::2]],
        lambda x: [x[:-1]],
        lambda x: [],
    ],
)
def test_tensors_that_the_loop_cannot_read_are_refused(fused, change):
    x = torch.ones(1000)
    with pytest.raises(ValueError, match=r"It (needs contiguous float32|reads 2) tensors"):
        fused(*change(x), x, out=torch.empty_like(x))


@pytest.mark.parametrize("name", ["/nowhere/c++", "", "false"])
def test_where_no_compiler_runs_there_is_none_and_the_error_says_what_to_do(monkeypatch, name):
    monkeypatch.setenv("CXX", name)
    assert cxx() is None
    with pytest.raises(RuntimeError, match=r"No C\+\+ compiler runs here: .* let CXX name one"):
        cpp_function(LOOP)
