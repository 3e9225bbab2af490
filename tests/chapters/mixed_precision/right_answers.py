"""Right answers to chapter 7's exercises, in other ways than the worked solutions."""

import math
from itertools import pairwise

import numpy as np
import torch


def scales_by_the_gradient(loss, optimizer, scale):
    if not (math.isfinite(scale) and scale > 0):
        raise ValueError("no such scale")
    loss.backward(torch.tensor(scale))
    parameters = [p for g in optimizer.param_groups for p in g["params"] if p.grad is not None]
    for p in parameters:
        p.grad = p.grad / scale
    good = torch.stack([p.grad.abs().max() for p in parameters]).isfinite().all()
    if good:
        optimizer.step()
    return good


def answers_with_numpy(loss, optimizer, scale):
    return np.bool_(bool(scales_by_the_gradient(loss, optimizer, scale)))


def gives_the_norm(loss, parameters, optimizer, scaler, max_norm):
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_(parameters, max_norm=max_norm, norm_type=2.0)
    scaler.step(optimizer)
    scaler.update()
    return norm


def lost_with_the_other_sign(weights, gradients, lost, lr, weight_decay):
    for w, g, rest in zip(weights, gradients, lost, strict=True):
        wanted = lr * (g + weight_decay * w) + rest
        before = w.clone()
        w -= wanted
        rest.copy_(wanted - (before - w))


def lost_in_new_tensors(weights, gradients, lost, lr, weight_decay):
    for i, w in enumerate(weights):
        change = lost[i] - lr * gradients[i].add_(w, alpha=weight_decay)
        new = w + change
        lost[i] = change - (new - w)
        w[:] = new


def bytes_of_numpy(widths, batch, recipe):
    sizes = np.array(widths)
    matrices = sizes[:-1] * sizes[1:]
    half = bool(recipe.autocast)
    inner = 2 if half else recipe.weights.itemsize
    total = (matrices.sum() + sizes[1:].sum()) * recipe.bytes_per_parameter
    total += batch * (sizes[0] * recipe.weights.itemsize + sizes[1:-1].sum() * inner)
    return total + half * 2 * (matrices[1:].sum() + batch * sizes[0]) + 8 * len(matrices)


def bytes_as_a_tensor(widths, batch, recipe):
    """Without the optimizer's counters, which are within the 1%."""
    matrices = sum(a * b for a, b in pairwise(widths))
    total = torch.tensor((matrices + sum(widths[1:])) * recipe.bytes_per_parameter)
    total += batch * widths[0] * recipe.weights.itemsize
    if recipe.autocast:
        total += 2 * (matrices - widths[0] * widths[1]) + 2 * batch * widths[0]
    return total + batch * sum(widths[1:-1]) * (2 if recipe.autocast else recipe.weights.itemsize)


RIGHT = {
    "mixed.static_scaling": [scales_by_the_gradient, answers_with_numpy],
    "mixed.clipping": [gives_the_norm],
    "mixed.kahan_update": [lost_with_the_other_sign, lost_in_new_tensors],
    "mixed.mlp_bytes": [bytes_of_numpy, bytes_as_a_tensor],
}
