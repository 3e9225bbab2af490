"""A program that a reader types: an expression of x, y and z for a tracer, and nothing else."""

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

NAMES = ("x", "y", "z")
OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
ALLOWED = "x, y, z, numbers, + - * / and .sum()"
MOST = 30  # operators, which a picture still has room for
LONGEST = 400  # characters


def typed_program(text: str) -> tuple[Callable[..., Any], list[str]]:
    """A function of the names that an expression uses, and these names.

    Only arithmetic is worked out: no names but x, y and z, no calls but `.sum()`.
    Raises: ValueError with a sentence on what can't be in it.
    """
    if len(text) > LONGEST:
        raise ValueError(f"That is longer than {LONGEST} characters.")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        raise ValueError(f"{text!r} is no whole expression. Try x / x.sum().") from None
    names = [name for name in NAMES if name in _names(tree)]
    if not names:
        raise ValueError("There is no x, y or z in it.")
    if sum(isinstance(node, ast.BinOp | ast.Call) for node in ast.walk(tree)) > MOST:
        raise ValueError(f"There is room for {MOST} operators in the picture.")
    return lambda *values: _worked_out(tree, dict(zip(names, values, strict=True))), names


def _names(tree: ast.AST) -> set[str]:
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if strangers := sorted(found.difference(NAMES)):
        raise ValueError(f"{strangers[0]!r} isn't known here: write with {ALLOWED}.")
    return found


def _worked_out(node: ast.expr, values: Mapping[str, Any]) -> Any:
    match node:
        case ast.Name(id=name):
            return values[name]
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
            return -_worked_out(node.operand, values)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in OPERATORS:
            return OPERATORS[type(sign)](_worked_out(left, values), _worked_out(right, values))
        case ast.Call(func=ast.Attribute(value=of, attr="sum"), args=[], keywords=[]):
            return _worked_out(of, values).sum()
    raise ValueError(f"{ast.unparse(node)!r} can't be traced: write with {ALLOWED}.")
