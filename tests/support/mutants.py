"""Wrong answers by machine: a worked solution with one thing in one line changed.

mutmut, cosmic-ray and mutatest change modules on disk and run a whole test suite on each; here a
cell of a notebook is changed and graded by its checker, in milliseconds. Neither drops statements
and exchanges arguments as a learner might, so it is done here, on Python's own syntax trees.
`strict=` is left alone: it changes no answer.
"""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff

OPERATORS: dict[type, tuple[type, ...]] = {
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div, ast.Add), ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult, ast.Div), ast.Mod: (ast.FloorDiv,), ast.Pow: (ast.Mult,),
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.Lt), ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,), ast.And: (ast.Or,), ast.Or: (ast.And,),
}  # fmt: skip
COMMUTE = (ast.Add, ast.Mult)
NAMES = {
    "sum": "max", "max": "min", "min": "max", "ceil": "floor", "all": "any", "any": "all",
    "round": "trunc", "where": "add", "append": "remove", "mean": "sum", "log2": "log",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A changed solution: its code, and the line that differs, before and after."""

    code: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.before.strip()} → {self.after}"


def mutants(function: str) -> list[Mutant]:
    """Every mutant of the code of a function, each once, in the order of its lines."""
    tree = ast.parse(function)
    plain = ast.unparse(tree)
    codes = {ast.unparse(ast.fix_missing_locations(changed)) for changed in _changed(tree)}
    found = [_mutant(plain, code) for code in codes - {plain}]
    lines = plain.splitlines()
    return sorted(found, key=lambda m: (lines.index(m.before), m.after))


def _mutant(plain: str, code: str) -> Mutant:
    diff = list(unified_diff(plain.splitlines(), code.splitlines(), lineterm="", n=0))[2:]
    before, after = ([line[1:] for line in diff if line[0] == sign] for sign in "-+")
    return Mutant(code, before[0], " ".join(line.strip() for line in after))


def _changed(tree: ast.Module) -> Iterator[ast.Module]:
    """The tree with one node replaced, once for each way to replace it."""
    for number, parent in enumerate(ast.walk(tree)):
        if isinstance(parent, ast.keyword) and parent.arg == "strict":
            continue
        for field, value in ast.iter_fields(parent):
            for place, node in enumerate(value if isinstance(value, list) else [value]):
                for new in _replacements(node, field):
                    changed = copy.deepcopy(tree)
                    _put(list(ast.walk(changed))[number], field, place, copy.deepcopy(new))
                    yield changed


def _put(parent: ast.AST, field: str, place: int, new: ast.AST) -> None:
    held = getattr(parent, field)
    if isinstance(held, list):
        held[place] = new
    else:
        setattr(parent, field, new)


def _replacements(node: object, field: str) -> Iterator[ast.AST]:
    """What may stand in this node's place."""
    if type(node) in OPERATORS:
        yield from (other() for other in OPERATORS[type(node)])
    elif isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef):
        yield from _statements(node)
    elif isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        yield from _expressions(node, field)


def _statements(node: ast.stmt) -> Iterator[ast.stmt]:
    yield ast.Pass()
    if isinstance(node, ast.AugAssign):
        yield ast.Assign([node.target], node.value)
    if isinstance(node, ast.Break):
        yield ast.Continue()
    if isinstance(node, ast.If | ast.For | ast.With):  # what is inside, always and once
        yield ast.If(ast.Constant(True), node.body, [])


def _expressions(node: ast.expr, field: str) -> Iterator[ast.expr]:
    if field in ("test", "ifs"):
        yield ast.UnaryOp(ast.Not(), node)
    if isinstance(node, ast.Constant):
        yield from _constants(node.value)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.BinOp):
        yield from (node.left, node.right)
        if not isinstance(node.op, COMMUTE):
            yield ast.BinOp(node.right, node.op, node.left)
    elif isinstance(node, ast.BoolOp):
        yield from node.values
    elif isinstance(node, ast.Call):
        yield from _calls(node)
    elif isinstance(node, ast.Tuple) and len(node.elts) > 1:
        yield ast.Tuple(node.elts[1:] + node.elts[:1], ast.Load())
    elif isinstance(node, ast.IfExp):
        yield from (node.body, node.orelse)
    elif isinstance(node, ast.Slice):
        yield ast.Slice(None, node.upper)
        yield ast.Slice(node.lower, None)


def _constants(value: object) -> Iterator[ast.Constant]:
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        yield from (ast.Constant(value + 1), ast.Constant(value - 1))
    elif isinstance(value, float):
        yield from (ast.Constant(2 * value or 0.5), ast.Constant(value / 2))


def _calls(node: ast.Call) -> Iterator[ast.expr]:
    """Another function, the arguments exchanged, one left out, or no call at all."""
    args, keywords = node.args, node.keywords
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    if name in NAMES:
        other = copy.deepcopy(node.func)
        setattr(other, "id" if isinstance(other, ast.Name) else "attr", NAMES[name])
        yield ast.Call(other, args, keywords)
    if name == "range":
        for place, arg in enumerate(args):
            if isinstance(arg, ast.Constant | ast.UnaryOp):  # which is changed by itself
                continue
            for operator in (ast.Add(), ast.Sub()):
                moved = ast.BinOp(arg, operator, ast.Constant(1))
                yield ast.Call(node.func, [*args[:place], moved, *args[place + 1 :]], keywords)
    for place in range(len(args) - 1) if name not in ("max", "min") else ():
        swapped = [*args[:place], args[place + 1], args[place], *args[place + 2 :]]
        yield ast.Call(node.func, swapped, keywords)
    for keyword in keywords:
        if keyword.arg != "strict":
            yield ast.Call(node.func, args, [one for one in keywords if one is not keyword])
    if len(args) == 1:
        yield args[0]
    if isinstance(node.func, ast.Attribute):
        yield node.func.value
