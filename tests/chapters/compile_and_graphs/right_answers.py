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
    "compile.steady_loop": [
        with_the_first_apart,
        in_one_tensor,
        by_numbers,
        with_lengths_that_may_vary,
    ],
}
