"""The page's own tracer, and programs for it."""

from tests.support.page_cells import cells_of

PAGE: dict = {}
exec(cells_of("04")["tracer"], PAGE)
Value, trace = PAGE["Value"], PAGE["trace"]


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
