"""Right answers to chapter 7's exercises, in other ways than the worked solutions."""

import math

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


RIGHT = {"mixed.static_scaling": [scales_by_the_gradient]}
