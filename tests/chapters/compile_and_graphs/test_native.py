"""C++ text as a Python function: right numbers, compiled once, and errors that say what to do."""

import multiprocessing
import os
import shutil
import sys

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


@pytest.fixture
def calls(root, monkeypatch):
    """The commands that a compiler is given, which only passes them on."""
    kept, wrapper = root / "calls", root / "wrapper"
    wrapper.write_text(f'#!/bin/sh\necho "$@" >> {kept}\nexec {cxx()} "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("CXX", str(wrapper))
    return lambda: [line for line in kept.read_text().splitlines() if "text.cpp" in line]


def numbers(count=1000):
    return torch.randn(2, count, generator=torch.manual_seed(4))


@needs_compiler
@pytest.mark.parametrize("count", [0, 1, 15, 1000])
def test_the_loop_gives_what_eager_torch_gives_to_the_last_bit(root, count):
    x, y = numbers(count)
    out = torch.full_like(x, float("nan"))
    assert cpp_function(LOOP)(x, y, out=out) is out
    assert torch.equal(out, x * y + 2.0)


@needs_compiler
def test_a_sum_keeps_the_order_of_its_text(root):
    source = """extern "C" void total(long n, const float* x, float* out) {
        float sum = 0;
        for (long i = 0; i < n; i++) sum += x[i];
        for (long i = 0; i < n; i++) out[i] = sum;
    }"""
    x, _ = numbers()
    in_order = torch.zeros(())
    for one in x:
        in_order += one
    assert cpp_function(source, "total")(x, out=torch.empty_like(x)).unique() == in_order


@needs_compiler
def test_the_same_text_is_compiled_once(calls):
    first, again = cpp_function(LOOP), cpp_function(LOOP)
    x, y = numbers()
    assert torch.equal(first(x, y, out=x.clone()), again(x, y, out=x.clone()))
    assert len(calls()) == 1
    cpp_function(LOOP.replace("2.0f", "3.0f"))
    assert len(calls()) == 2


@needs_compiler
def test_a_processor_whose_flag_the_compiler_does_not_know_gets_its_loop_too(root, monkeypatch):
    wrapper = root / "wrapper"
    refuse = 'case "$*" in *=native*) echo "unknown argument" >&2; exit 1;; esac'
    wrapper.write_text(f'#!/bin/sh\n{refuse}\nexec {cxx()} "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("CXX", str(wrapper))
    x, y = numbers()
    assert torch.equal(cpp_function(LOOP)(x, y, out=x.clone()), x * y + 2.0)


@needs_compiler
def test_text_that_is_no_cpp_is_refused_with_its_line(root):
    with pytest.raises(ValueError, match=r"refuses line 3: .*wrong.*\n +3 \|  +out\[i\] = wrong"):
        cpp_function(LOOP.replace("x[i]", "wrong"))
    assert not list(root.rglob("*.so"))


@needs_compiler
def test_a_function_that_the_linker_cannot_show_is_asked_for(root):
    with pytest.raises(ValueError, match='write extern "C" before'):
        cpp_function(LOOP.replace('extern "C" ', ""))


@pytest.mark.parametrize(
    "source",
    [
        "",
        LOOP.replace("fused", "other"),
        LOOP.replace("long n, ", ""),
        LOOP.replace("const float* y", "const double* y"),
        LOOP.replace("const float* y", "float y"),
    ],
)
def test_a_function_of_another_form_is_refused_before_it_is_compiled(root, source):
    with pytest.raises(ValueError, match="needs a function of this form: extern"):
        cpp_function(source)


@needs_compiler
@pytest.mark.parametrize(
    "change, wrong, said",
    [
        (lambda x: x.double(), TypeError, "x is float64 on cpu: float32 on cpu is wanted"),
        (lambda x: x.to("meta"), TypeError, "x is float32 on meta"),
        (lambda x: x.tolist(), TypeError, "x is a list: a tensor is wanted"),
        (lambda x: x.repeat(2)[::2], ValueError, "x isn't contiguous"),
        (lambda x: x[:-1], ValueError, r"x is of shape \[999\], and out \[1000\]"),
    ],
)
def test_tensors_that_the_loop_cannot_read_are_refused(root, change, wrong, said):
    x, y = numbers()
    with pytest.raises(wrong, match=said):
        cpp_function(LOOP)(change(x), y, out=torch.empty_like(x))


@needs_compiler
def test_too_few_tensors_are_refused_before_the_loop_reads_what_is_not_there(root):
    x, _ = numbers()
    with pytest.raises(TypeError, match="fused reads x, y: 1 tensors were given, and out"):
        cpp_function(LOOP)(x, out=torch.empty_like(x))


@pytest.mark.parametrize("name", ["/nowhere/c++", "", "false"])
def test_where_no_compiler_runs_there_is_none_and_the_error_says_what_to_do(
    root, monkeypatch, name
):
    monkeypatch.setenv("CXX", name)
    assert cxx() is None
    with pytest.raises(RuntimeError, match=r"No C\+\+ compiler: .* let CXX name one"):
        cpp_function(LOOP)


@needs_compiler
@pytest.mark.parametrize("name", [None, "/nowhere/c++", "false", "c++"])
def test_torch_finds_the_same_compiler(monkeypatch, name):
    from torch._inductor import config, cpp_builder, exc

    usual = "clang++" if sys.platform == "darwin" else "g++"
    monkeypatch.setenv("CXX", name or usual)
    cpp_builder.cpp_compiler_search.cache_clear()
    try:
        with config.patch({"cpp.cxx": (None, os.environ["CXX"])}):
            found = shutil.which(cpp_builder.get_cpp_compiler())
    except exc.InvalidCxxCompiler:
        found = None
    finally:
        cpp_builder.cpp_compiler_search.cache_clear()
    if name is None:
        monkeypatch.delenv("CXX")
    assert cxx() == found


@needs_compiler
def test_where_build_cannot_be_written_it_compiles_elsewhere(root):
    (root / "build").write_text("a file, where a folder should be")
    x, y = numbers()
    assert torch.equal(cpp_function(LOOP)(x, y, out=x.clone()), x * y + 2.0)


def compile_and_run(root, barrier, told):
    files.ROOT = root
    x, y = numbers()
    barrier.wait(60)
    told.put(torch.equal(cpp_function(LOOP)(x, y, out=x.clone()), x * y + 2.0))


@needs_compiler
def test_two_kernels_may_compile_the_same_at_the_same_moment(root):
    context = multiprocessing.get_context("spawn")
    barrier, told = context.Barrier(2), context.Queue()
    both = [
        context.Process(target=compile_and_run, args=(root, barrier, told), daemon=True)
        for _ in range(2)
    ]
    for process in both:
        process.start()
    assert [told.get(timeout=120) for _ in both] == [True, True]
    for process in both:
        process.join(60)
    kept = list((root / "build" / "compile").iterdir())
    assert [path.suffix for path in kept] == [".so"]
