"""A Python function of C++ text: one loop over floats, compiled here and kept below `build/`."""

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import torch

from course_utils.core import files
from course_utils.core.machine import this_machine

FLAGS = ("-O3", "-ffp-contract=off", "-shared", "-fPIC")  # no fast-math: floats as eager torch's
NATIVE = ("-march=native", "-mcpu=native")  # this processor's vectors, as compilers call that
FIRST_ERROR = re.compile(r":(\d+):\d+: (?:fatal )?error: (.*)")


def cxx() -> str | None:
    """The C++ compiler that torch's inductor would use here, or None where that doesn't run.

    It is `$CXX`, or else `clang++` on macOS and `g++` elsewhere, as in torch/_inductor/config.py;
    torch tries no other. Torch reads `$CXX` once, when inductor is imported; this reads it anew.
    """
    usual = "clang++" if sys.platform == "darwin" else "g++"
    found = shutil.which(os.environ.get("CXX", usual))
    return found if found and _version(found) else None


def cpp_function(source: str, symbol: str = "fused") -> Callable[..., torch.Tensor]:
    """Compiles C++ text, once for all kernels of this machine, and gives its function to Python.

    The text has `extern "C" void fused(long n, const float* x, ..., float* out)`. What comes back
    is called `run(x, ..., out=out)` and returns `out`; all are contiguous FP32 tensors of one shape
    on the processor, and `n` is how many numbers each of them has.
    Raises: RuntimeError without a compiler; ValueError with the first line that it refuses, or
    where the text has no such function.
    """
    names = _parameters(source, symbol)
    library = _built(source)
    try:
        function = getattr(ctypes.CDLL(str(library)), symbol)
    except AttributeError:
        raise ValueError(f'{symbol} isn\'t exported: write extern "C" before its void.') from None
    function.argtypes = [ctypes.c_long, *[ctypes.c_void_p] * len(names)]
    function.restype = None

    def run(*tensors: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        if len(tensors) != len(names) - 1:
            wanted = ", ".join(names[:-1])
            raise TypeError(f"{symbol} reads {wanted}: {len(tensors)} tensors were given, and out.")
        for name, tensor in zip(names, (*tensors, out), strict=True):
            _check(name, tensor, out)
        function(out.numel(), *(tensor.data_ptr() for tensor in (*tensors, out)))
        return out

    return run


def _parameters(source: str, symbol: str) -> list[str]:
    """The names of the function's pointers, from its text: a call with too few would crash."""
    found = re.search(rf"\bvoid\s+{re.escape(symbol)}\s*\(([^)]*)\)", source)
    first, *pointers = found[1].split(",") if found else [""]
    are_floats = all(re.search(r"\bfloat\b[^*]*\*", one) for one in pointers)
    if not re.fullmatch(r"\s*long\s+\w+\s*", first) or not pointers or not are_floats:
        form = f'extern "C" void {symbol}(long n, const float* x, ..., float* out)'
        raise ValueError(f"The text needs a function of this form: {form}.")
    return [one.replace("*", " ").split()[-1] for one in pointers]


def _check(name: str, tensor: object, out: torch.Tensor) -> None:
    """Raises: TypeError for what isn't FP32 on the processor, ValueError for another shape."""
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{name} is a {type(tensor).__name__}: a tensor is wanted.")
    if tensor.dtype != torch.float32 or tensor.device.type != "cpu":
        is_now = f"{str(tensor.dtype).removeprefix('torch.')} on {tensor.device}"
        raise TypeError(f"{name} is {is_now}: float32 on cpu is wanted.")
    if not tensor.is_contiguous():
        raise ValueError(f"{name} isn't contiguous: its numbers don't lie in a row. .contiguous()")
    if tensor.shape != out.shape:
        shapes = f"{list(tensor.shape)}, and out {list(out.shape)}"
        raise ValueError(f"{name} is of shape {shapes}: all must be of one.")


def _built(source: str) -> Path:
    """The shared library of a text, compiled where no kernel did it before."""
    compiler = cxx()
    if compiler is None:
        asked = os.environ.get("CXX")
        why = f"CXX names {asked!r}, which doesn't run" if asked else "none was found"
        raise RuntimeError(f"No C++ compiler: {why}. Install g++, or let CXX name one.")
    made_of = (source, _version(compiler), *FLAGS, *NATIVE, this_machine().processor)
    name = hashlib.sha256("\0".join(made_of).encode()).hexdigest()[:20]
    library = _folder() / f"{name}.so"
    if not library.exists():
        files.write_whole(library, _compile(compiler, source))
    return library


def _compile(compiler: str, source: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        text, library = Path(folder) / "text.cpp", Path(folder) / "library.so"
        text.write_text(source, encoding="utf-8")
        flags = [*FLAGS, *_native(compiler)]
        done = _run(compiler, *flags, str(text), "-o", str(library))
        if done.returncode:
            raise ValueError(_complaint(source, done.stderr))
        return library.read_bytes()


def _complaint(source: str, said: str) -> str:
    """The compiler's first error, and the line of the text that it is about."""
    found = FIRST_ERROR.search(said)
    if not found:
        return f"The compiler refuses the text: {(said.strip().splitlines() or ['no reason'])[-1]}"
    number = int(found[1])
    line = [*source.splitlines(), *[""] * number][number - 1]
    return f"The compiler refuses line {number}: {found[2]}\n{number:4} | {line}"


def _folder() -> Path:
    """`build/compile` of the project; where that can't be written, one that goes with Python."""
    folder = files.ROOT / "build" / "compile"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(_own_folder().name)
    return folder if os.access(folder, os.W_OK | os.X_OK) else Path(_own_folder().name)


@cache
def _own_folder() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="course-compile-")


@cache
def _version(compiler: str) -> str:
    """What it says of itself; empty where it doesn't run (macOS has a stub in its place)."""
    try:
        return _run(compiler, "--version", check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


@cache
def _native(compiler: str) -> list[str]:
    """The flag for this very processor that the compiler knows, if any."""
    for flag in NATIVE:
        if not _run(compiler, flag, "-fsyntax-only", "-x", "c++", os.devnull).returncode:
            return [flag]
    return []


def _run(*command: str, check: bool = False) -> "subprocess.CompletedProcess[str]":
    """In English, so that its errors are found."""
    english = {**os.environ, "LC_ALL": "C"}
    return subprocess.run(
        command, check=check, capture_output=True, text=True, errors="replace", env=english
    )
