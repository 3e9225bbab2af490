"""Running what the reader wrote, in the rank's own namespace, and describing what went wrong."""

import ast
import asyncio
import inspect
import io
import pickle
import sys
import types
from collections.abc import Callable
from typing import Any

from msgspec.structs import asdict

from notebook_ranks.cells import chain, place, stand_ins
from notebook_ranks.messages import Failure

Namespace = dict[str, Any]
RANKS_OWN = {"rank", "world_size", "local_rank", "device"}  # whatever the notebook calls so
CLOUDPICKLES = ("cloudpickle.cloudpickle", "_make_function")  # what a function is unpickled by
_loop: asyncio.AbstractEventLoop | None = None
BROKEN = ("gloo", "nccl", "connection closed by peer", "connection reset", "process group")


def run_cell(source: str, filename: str, names: Namespace) -> None:
    """Runs a cell; the value of a last expression is shown, as a notebook shows it.

    A program that ends itself with status 0 has succeeded.
    """
    tree = ast.parse(source, filename)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    try:
        _run(compiled(tree, filename), names)
        if isinstance(last, ast.Expr):
            value = _run(compiled(ast.Expression(last.value), filename, "eval"), names)
            if value is not None:
                names["_"] = value
                sys.displayhook(value)
    except SystemExit as error:
        if error.code not in (None, 0):
            raise
    except Exception as error:
        stand_ins.explain(error, names)
        raise


def compiled(source: Any, filename: str, mode: str = "exec") -> types.CodeType:
    """Code of a cell, in which `await` may stand anywhere. Raises: SyntaxError."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    return compile(source, filename, mode, flags, dont_inherit=True)


def _run(code: types.CodeType, names: Namespace) -> Any:
    found = eval(code, names)
    if not code.co_flags & inspect.CO_COROUTINE:
        return found
    global _loop
    _loop = _loop or asyncio.new_event_loop()  # one for all cells: what they hold is bound to it
    task = _loop.create_task(found)
    try:
        return _loop.run_until_complete(task)
    except KeyboardInterrupt as error:  # the cell mustn't go on when another one awaits
        task.cancel()
        try:
            _loop.run_until_complete(task)
        except asyncio.CancelledError as end:
            raise error.with_traceback(end.__traceback__) from None  # which knows the line
        raise


def call(payload: bytes, names: Namespace) -> bytes:
    """Calls a function of the notebook with its arguments; its result, packed."""
    made: list[Namespace] = []
    sources, function, args, kwargs = unpack(payload, made)
    for filename, (source, called) in sources.items():
        place.remember(filename, source, called)
    for own in made:
        mine = {k for k in RANKS_OWN if not callable(own.get(k))}  # a page's device() stays
        own |= {k: v for k, v in names.items() if k in mine or k not in own}
    return pack(function(*args, **kwargs))


def pack(value: Any) -> bytes:
    """Any value as bytes: functions of a notebook by their code, tensors by their numbers."""
    import cloudpickle
    import torch

    file = io.BytesIO()
    torch.save(value, file, pickle_module=cloudpickle)
    return file.getvalue()


def unpack(content: bytes, made: list[Namespace] | None = None) -> Any:
    """Unpacks what `pack` packed, with tensors on the CPU. Only for lines that know the key.

    `made` is given the globals of each function that came with its code.
    """
    import torch

    class Unpickler(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            found = super().find_class(module, name)
            if made is None or (module, name) != CLOUDPICKLES:
                return found

            def make(code: types.CodeType, known: Namespace, *more: Any) -> Any:
                made.append(known)
                return found(code, known, *more)

            return make

    as_pickle = types.SimpleNamespace(__name__="pickle", Unpickler=Unpickler)
    file = io.BytesIO(content)
    return torch.load(file, map_location="cpu", weights_only=False, pickle_module=as_pickle)


def attempt(work: Callable[[], Any], filename: str = "") -> tuple[Any, Failure | None]:
    """Returns the result of `work`, or its failure.

    `filename` is that of the cell that runs, "" where none does.
    """
    try:
        return work(), None
    except KeyboardInterrupt as error:
        return None, _failure("stop", error, filename)
    except BaseException as error:
        kind = "group" if _is_the_groups(error) else "python"
        return None, _failure(kind, error, filename)


def _failure(kind: str, error: BaseException, filename: str) -> Failure:
    where = place.of_traceback(error.__traceback__)
    if isinstance(error, SyntaxError) and where.line is None:
        where.line, where.text = error.lineno, (error.text or "").strip()
    return Failure(
        kind=kind, name=type(error).__name__, message=_message(error),
        trace=chain.lines(error, filename), earlier=_earlier(where.cell or filename, filename),
        **asdict(where),
    )  # fmt: skip


def _earlier(cell: str, filename: str) -> str:
    """The name of an error's cell, where that isn't the one that runs."""
    label = place.label(cell)
    return label if cell != filename and label.startswith(("In [", "ranks cell")) else ""


def _message(error: BaseException) -> str:
    """The text of the error, and the notes that were added to it."""
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
