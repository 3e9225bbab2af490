"""The tracer of the page, for tests: operators on values that aren't there yet."""

from typing import ClassVar


class Value:
    tape: ClassVar[list] = []

    def __init__(self, op, *of):
        self.op, self.of = op, of
        Value.tape.append(self)

    def sum(self):
        return Value("sum", self)


def _operator(sign, turned):
    def apply(self, other):
        other = other if isinstance(other, Value) else Value(str(other))
        return Value(sign, other, self) if turned else Value(sign, self, other)

    return apply


for sign, name in {"+": "add", "-": "sub", "*": "mul", "/": "truediv"}.items():
    setattr(Value, f"__{name}__", _operator(sign, turned=False))
    setattr(Value, f"__r{name}__", _operator(sign, turned=True))


def trace(program, names):
    Value.tape = []
    result = program(*[Value(name) for name in names])
    return Value.tape, result


def dead_square(x, y):
    _ = x * x
    return x * y + 2


def sgd(p, g, m, lr=0.1, mu=0.9, wd=0.01):
    return p - lr * (m * mu + g + wd * p)


def normalised(x):
    centred = x - x.sum() / 1000
    return centred / (centred * centred).sum()


def softmax_like(x):
    e = x - x.sum()
    return e / e.sum()


def chain(x):
    for _ in range(10):
        x = x * 2 + 1
    return x
