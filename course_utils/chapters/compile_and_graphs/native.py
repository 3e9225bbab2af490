"""A Python function of C++ text: one loop over floats, compiled and loaded."""

import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch

FLAGS = ("-O3", "-ffp-contract=off", "-shared", "-fPIC")  # no fast-math: floats as eager torch's
FORM = re.compile(r'extern "C" void (\w+)\(long n((?:, (?:const )?float ?\* ?\w+)+)\)')


def cxx() -> str | None:
    """The C++ compiler that torch's Inductor would use here, or None if it can't be run.

    It is `$CXX`, or else `clang++` on macOS and `g++` elsewhere, as in torch/_inductor/config.py.
    """
    usual = "clang++" if sys.platform == "darwin" else "g++"
    found = shutil.which(os.environ.get("CXX", usual))
    return found if found and not _run(found, "--version").returncode else None


def cpp_function(source: str) -> Callable[..., torch.Tensor]:
    """Compiles C++ text and returns its function for Python.

    The text has `extern "C" void fused(long n, const float *x, ..., float *out)`. The function is
    called as `run(x, ..., out=out)` and returns `out`; all are contiguous FP32 tensors of one shape
    on the CPU, and `n` is the number of elements of each.
    Raises: RuntimeError without a compiler; ValueError with the compiler's first error, or if the
    text has no such function. `run` raises ValueError for other tensors.
    """
    found, compiler = FORM.search(source), cxx()
    if found is None:
        form = 'extern "C" void fused(long n, const float *x, ..., float *out)'
        raise ValueError(f"The text needs a function of this form: {form}.")
    if compiler is None:
        raise RuntimeError("No C++ compiler runs here: install g++, or let CXX name one.")
    with tempfile.TemporaryDirectory() as folder:
        text, library = Path(folder, "text.cpp"), Path(folder, "library.so")
        text.write_text(source, encoding="utf-8")
        for flags in ([*FLAGS, "-march=native"], FLAGS):  # not every compiler knows it
            done = _run(compiler, *flags, str(text), "-o", str(library))
            if not done.returncode:
                break
        else:
            error = re.search(r":(\d+):\d+: (?:fatal )?error: (.*)", done.stderr)
            said = f"line {error[1]}: {error[2]}" if error else f"the text: {done.stderr[-300:]}"
            raise ValueError(f"The compiler refuses {said}")
        function = getattr(ctypes.CDLL(str(library)), found[1])
    count = found[2].count("*")
    function.argtypes, function.restype = [ctypes.c_long, *[ctypes.c_void_p] * count], None

    def run(*tensors: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        given = (*tensors, out)
        if len(given) != count:
            raise ValueError(f"It reads {count - 1} tensors: {len(tensors)} were given, and out.")
        for one in given:
            fits = one.dtype == torch.float32 and one.device.type == "cpu" and one.is_contiguous()
            if not fits or one.shape != out.shape:
                raise ValueError("It needs contiguous float32 tensors of one shape on the CPU.")
        function(out.numel(), *(one.data_ptr() for one in given))
        return out

    return run


def _run(*command: str) -> "subprocess.CompletedProcess[str]":
    """Runs a command with messages in English."""
    english = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(
        command, check=False, capture_output=True, text=True, errors="replace", env=english
    )
