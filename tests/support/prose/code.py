"""The numbers of a cell's code: what its constants make, without running anything of the course."""

import ast
import re
from collections.abc import Iterator
from typing import Any

_MAGIC = re.compile(r"^[ \t]*[%!].*$", re.M)
_WRITTEN = re.compile(r"[≈ ]*(\d[\d,]*(?:\.\d+)?)[ %×]*")
_HARMLESS = {"range": range, "len": len, "sum": sum, "min": min, "max": max, "float": float}
_PLAIN = (
    ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.Name, ast.Load, ast.Store,
    ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.GeneratorExp,
    ast.DictComp, ast.comprehension, ast.Starred,
)  # fmt: skip
MOST = 40


def parsed(source: str) -> ast.Module:
    """A cell's syntax tree, its magics taken for `pass`."""
    return ast.parse(_MAGIC.sub("pass", source))


def magics(source: str) -> str:
    """The lines that are IPython's: `%%ranks 4`."""
    return "\n".join(_MAGIC.findall(source))


def constants(tree: ast.AST, known: dict[str, Any]) -> Iterator[tuple[float, str | None]]:
    """Each number that is written in the code, or follows from what is, and the name it is given.

    `2**20` gives 1,048,576 and not 2 and 20; `[4**k for k in range(12)]` gives its twelve numbers.
    A list or a table gives how many entries it has, too.
    """
    yield from _constants(tree, known, None)


def _constants(
    node: ast.AST, known: dict[str, Any], name: str | None
) -> Iterator[tuple[float, str | None]]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if written := _WRITTEN.fullmatch(node.value):
            yield float(written[1].replace(",", "")), name
        return
    if isinstance(node, ast.JoinedStr):
        parts = [part for part in node.values if isinstance(part, ast.FormattedValue)]
        for part in parts:
            yield from _constants(part.value, known, name)
        return
    if isinstance(node, ast.expr) and (found := _value(node, known)) is not None:
        yield from ((value, name) for value in found)
        if isinstance(node, ast.Constant) or isinstance(getattr(node, "op", None), ast.Pow):
            return
    if len(entries := getattr(node, "elts", getattr(node, "keys", []))) > 2:
        yield float(len(entries)), name
    if isinstance(node, ast.Subscript) and _is_place(node.slice, known):
        yield from _constants(node.value, known, name)
        return
    for child, called in _children(node, name):
        yield from _constants(child, known, called)


def _is_place(index: ast.expr, known: dict[str, Any]) -> bool:
    """Whether an index only says which part is meant: `[0]`, `[-1]`, `[::2]`."""
    return isinstance(index, ast.Slice) or _value(index, known) in ([0], [1], [2], [-1])


def _children(node: ast.AST, name: str | None) -> Iterator[tuple[ast.AST, str | None]]:
    """The parts of a node, each with what it is called there: `heads=4`, `n_ranks = 4`."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        yield node.value, node.targets[0].id
    elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
        values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        names = [getattr(target, "id", None) for target in node.targets[0].elts]
        same = len(values) == len(names)
        yield from zip(values, names if same else [None] * len(values), strict=True)
    elif isinstance(node, ast.keyword):
        yield node.value, node.arg
    elif isinstance(node, ast.FunctionDef):
        named = node.args.args[len(node.args.args) - len(node.args.defaults) :]
        for argument, default in zip(named, node.args.defaults, strict=True):
            yield default, argument.arg
        yield from ((child, None) for child in node.body)
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "round":
        yield node.args[0], name
    elif isinstance(node, ast.Call):
        called = getattr(node.func, "id", getattr(node.func, "attr", name))
        yield node.func, name
        yield from ((argument, called) for argument in node.args)
        yield from ((argument, None) for argument in node.keywords)
    else:
        yield from ((child, name) for child in ast.iter_child_nodes(node))


def assigned(tree: ast.AST, known: dict[str, Any]) -> dict[str, Any]:
    """The names that the code gives to plain numbers, or to lists and tables of them."""
    found: dict[str, Any] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target, value in _pairs(node):
                result = _evaluated(value, known | found)
                if result is not None:
                    found[target] = result
    return found


def _pairs(node: ast.Assign) -> Iterator[tuple[str, ast.expr]]:
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, its in zip(target.elts, value.elts, strict=False):
            if isinstance(one, ast.Name):
                yield one.id, its


def _value(node: ast.expr, known: dict[str, Any]) -> list[float] | None:
    result = _evaluated(node, known)
    return None if result is None else list(_flat(result))[: 2 * MOST]


def _flat(result: Any) -> Iterator[float]:
    if isinstance(result, (int, float)) and not isinstance(result, bool):
        yield float(result)
    elif isinstance(result, dict):
        yield from _flat([*result, *result.values()])
    elif isinstance(result, range) and len(result) > MOST:
        yield from _flat([result.start, result.stop])
    elif isinstance(result, (list, tuple, set, range)):
        for one in result:
            yield from _flat(one)


def _evaluated(node: ast.expr, known: dict[str, Any]) -> Any:
    """What an expression of plain numbers is, or None for one that isn't made of them alone."""
    for part in ast.walk(node):
        call = isinstance(part, ast.Call) and getattr(part.func, "id", "") in _HARMLESS
        if not (call or isinstance(part, _PLAIN)):
            return None
    try:
        code = compile(ast.Expression(node), "<prose>", "eval")
        result = eval(code, {"__builtins__": {}} | _HARMLESS | known)
    except Exception:
        return None
    number = isinstance(result, (int, float, list, tuple, set, dict, range))
    return result if number and not isinstance(result, bool) else None
