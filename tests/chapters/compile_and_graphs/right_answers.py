"""Right answers to chapter 04's exercises, in other ways than the worked solutions."""

import numpy as np
import torch


def by_arithmetic(x):
    y = torch.tanh(x)
    y = y + 0.5 * (y.sum() <= 0)
    return (y / y.abs().amax()).relu().sum()


def by_torch_cond(x):
    y = torch.tanh(x)
    y = torch.cond(y.sum() > 0, lambda y: y.clone(), lambda y: y + 0.5, (y,))
    positive = y.clamp(min=0).sum()
    return positive / y.abs().max()


def _shifted(y):
    return torch.where(y.sum() > 0, y, y + 0.5)


def with_a_helper(x):
    y = _shifted(torch.tanh(x))
    mask = y > 0
    return (y * mask).sum(dtype=torch.float64) / torch.linalg.vector_norm(y, float("inf"))


@torch.compile(backend="eager")
def compiled_already(x):
    y = _shifted(x.tanh())
    return torch.where(y > 0, y, 0).sum() / y.abs().max()


def from_the_results(ops, results):
    made, eager = dict(ops), 0
    for _, inputs in ops:
        eager += len(set(inputs)) + 1

    def read(name):
        if name not in made:
            return {name}
        return set().union(*map(read, made[name]))

    return eager / (len(set().union(*map(read, results))) + len(results))


def dead_ones_taken_out(ops, results):
    alive = list(ops)
    while True:
        used = set(results).union(*(inputs for _, inputs in alive))
        if all(name in used for name, _ in alive):
            break
        alive = [op for op in alive if op[0] in used]
    read = used - {name for name, _ in alive}
    eager = sum(1 + len(dict.fromkeys(inputs)) for _, inputs in ops)
    return eager / (len(read) + len(results))


def by_recursion(ops):
    made = {name: (kind, inputs) for name, kind, inputs in ops}

    def ready(name):
        return number(name) + (made[name][0] == "reduction") if name in made else 0

    def number(name):
        return max(map(ready, made[name][1]))

    return {name: number(name) for name in made}


def loop_by_loop(ops):
    left, done, found, current = list(ops), set(), {}, 0
    names = {name for name, _, _ in ops}
    while left:
        ended = set()
        for op in list(left):
            name, kind, inputs = op
            if all(one not in names or one in done for one in inputs):
                found[name] = current
                left.remove(op)
                (ended if kind == "reduction" else done).add(name)
        done |= ended
        current += 1
    return found


def with_the_first_apart(step, texts):
    texts = iter(texts)
    for text in texts:
        means = [step(text, "step 0", 1.0, [])]
        for count, text in enumerate(texts, start=2):
            means.append(step(text, "", torch.tensor(1 / count), [means[-1]]))
        return means
    return []


def in_one_tensor(step, texts):
    means = torch.empty(len(texts))
    for k, text in enumerate(texts):
        means[k] = step(text, f"step {min(k, 1)}", 1 / (k + 1), means[k - 1 : k])
    return means


def by_numbers(step, texts):
    last = 0.0
    for k, text in enumerate(texts):
        label = "later" if k else "step 0"
        last = step(means=[last], weight=1 / (k + 1), label=label, text=text).item()
        yield last


def with_lengths_that_may_vary(step, texts):
    means = []
    for k, text in enumerate(texts):
        torch._dynamo.mark_dynamic(text, 0)
        means.append(step(text, "later" if means else "step 0", 1 / (k + 1), means[-1:]))
    return np.array(means)


RIGHT = {
    "compile.one_graph": [by_arithmetic, by_torch_cond, with_a_helper, compiled_already],
    "compile.fused_speedup": [from_the_results, dead_ones_taken_out],
    "compile.loops": [by_recursion, loop_by_loop],
    "compile.steady_loop": [
        with_the_first_apart,
        in_one_tensor,
        by_numbers,
        with_lengths_that_may_vary,
    ],
}
