"""Running what the reader wrote, in the rank's own namespace, and describing what went wrong."""

import ast
import io
import sys
from collections.abc import Callable
from typing import Any

from course_utils.ranks.engine import place

Namespace = dict[str, Any]
Failure = dict[str, Any]
RANKS_OWN = {"rank", "world_size", "local_rank", "device"}  # whatever the notebook calls so
BROKEN = ("gloo", "nccl", "connection closed by peer", "connection reset", "process group")


def run_cell(source: str, filename: str, names: Namespace) -> None:
    """Runs a cell; the value of a last expression is shown, as a notebook shows it."""
    place.remember(filename, source)
    tree = ast.parse(source, filename)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, filename, "exec", dont_inherit=True), names)
    if isinstance(last, ast.Expr):
        shown = compile(ast.Expression(last.value), filename, "eval", dont_inherit=True)
        value = eval(shown, names)
        if value is not None:
            names["_"] = value
            sys.displayhook(value)


def call(payload: bytes, names: Namespace) -> bytes:
    """Calls a function of the notebook with its arguments; its result, packed."""
    sources, function, args, kwargs = unpack(payload)
    for filename, source in sources.items():
        place.remember(filename, source)
    home = sys.modules.get(getattr(function, "__module__", None) or "")
    known = getattr(function, "__globals__", {})
    if known is not getattr(home, "__dict__", None):  # a module's function has all its names
        own = {k for k in RANKS_OWN if not callable(known.get(k))}  # a page's device() stays
        known |= {k: v for k, v in names.items() if k in own or k not in known}
    return pack(function(*args, **kwargs))


def pack(value: Any) -> bytes:
    """Any value as bytes: functions of a notebook by their code, tensors by their numbers."""
    import cloudpickle
    import torch

    file = io.BytesIO()
    torch.save(value, file, pickle_module=cloudpickle)
    return file.getvalue()


def unpack(content: bytes) -> Any:
    """What `pack` packed, tensors on the CPU. Only for lines that know the key."""
    import torch

    return torch.load(io.BytesIO(content), map_location="cpu", weights_only=False)


def attempt(work: Callable[[], Any]) -> tuple[Any, Failure]:
    """What `work` gives, or what went wrong in words: `kind` is "python", "group" or "stop"."""
    try:
        return work(), {}
    except KeyboardInterrupt as error:
        return None, _failure("stop", error)
    except BaseException as error:
        return None, _failure("group" if _is_the_groups(error) else "python", error)


def _failure(kind: str, error: BaseException) -> Failure:
    where = place.of_traceback(error.__traceback__)
    if isinstance(error, SyntaxError) and where["line"] is None:
        where |= {"line": error.lineno, "text": (error.text or "").strip()}
    return {"kind": kind, "name": type(error).__name__, "message": _message(error), **where}


def _message(error: BaseException) -> str:
    """What the error says, and the notes that were added to it."""
    try:
        return "\n".join([str(error), *getattr(error, "__notes__", ())])
    except Exception:
        return "(its message can't be written)"


def _is_the_groups(error: BaseException) -> bool:
    """Whether the process group itself failed: another rank's doing, as a rule."""
    dist = sys.modules.get("torch.distributed")
    kinds = (dist.DistError,) if dist else ()
    if isinstance(error, kinds):
        return True
    text = _message(error).lower()
    return isinstance(error, RuntimeError) and any(word in text for word in BROKEN)
