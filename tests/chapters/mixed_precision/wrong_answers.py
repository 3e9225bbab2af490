"""Wrong answers to chapter 7's exercises, each as a student might write it."""

import math
from itertools import pairwise

import torch


def _gradients(optimizer):
    return [p.grad for g in optimizer.param_groups for p in g["params"] if p.grad is not None]


def _check(scale):
    if not 0 < scale < math.inf:
        raise ValueError(scale)


def never_unscales(loss, optimizer, scale):
    _check(scale)
    (loss * scale).backward()
    if not all(g.isfinite().all() for g in _gradients(optimizer)):
        return False
    optimizer.step()
    return True


def never_skips(loss, optimizer, scale):
    _check(scale)
    (loss * scale).backward()
    for g in _gradients(optimizer):
        g /= scale
    optimizer.step()
    return True


def scales_nothing(loss, optimizer, scale):
    _check(scale)
    loss.backward()
    if not all(g.isfinite().all() for g in _gradients(optimizer)):
        return False
    optimizer.step()
    return True


def takes_any_scale(loss, optimizer, scale):
    (loss * scale).backward()
    gradients = _gradients(optimizer)
    if not all(g.isfinite().all() for g in gradients):
        return False
    for g in gradients:
        g /= scale
    optimizer.step()
    return True


def overlooks_nan(loss, optimizer, scale):
    _check(scale)
    (loss * scale).backward()
    if any(g.isinf().any() for g in _gradients(optimizer)):
        return False
    for g in _gradients(optimizer):
        g /= scale
    optimizer.step()
    return True


def looks_at_the_last_only(loss, optimizer, scale):
    _check(scale)
    (loss * scale).backward()
    if not _gradients(optimizer)[-1].isfinite().all():
        return False
    for g in _gradients(optimizer):
        g /= scale
    optimizer.step()
    return True


def steps_with_the_rest(loss, optimizer, scale):
    _check(scale)
    (loss * scale).backward()
    good = True
    for group in optimizer.param_groups:
        for p in group["params"]:
            if p.grad is not None and not p.grad.isfinite().all():
                good, p.grad = False, None
    for g in _gradients(optimizer):
        g /= scale
    optimizer.step()
    return good


def looks_at_the_scale_too_late(loss, optimizer, scale):
    (loss * scale).backward()
    for g in _gradients(optimizer):
        g.nan_to_num_(1.0, 1.0, 1.0)
    optimizer.step()
    _check(scale)
    return True


def clips_the_scaled(loss, parameters, optimizer, scaler, max_norm):
    scaler.scale(loss).backward()
    torch.nn.utils.clip_grad_norm_(parameters, max_norm)
    scaler.step(optimizer)
    scaler.update()


def clips_after_the_step(loss, parameters, optimizer, scaler, max_norm):
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    torch.nn.utils.clip_grad_norm_(parameters, max_norm)


def steps_itself(loss, parameters, optimizer, scaler, max_norm):
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(parameters, max_norm)
    optimizer.step()
    scaler.update()


def never_updates(loss, parameters, optimizer, scaler, max_norm):
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(parameters, max_norm)
    scaler.step(optimizer)


def never_clips(loss, parameters, optimizer, scaler, max_norm):
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()


def makes_nan(loss, parameters, optimizer, scaler, max_norm):
    never_clips(loss * math.nan, parameters, optimizer, scaler, max_norm)
    torch.nn.utils.clip_grad_norm_(parameters, max_norm)


def plain_sgd(weights, gradients, lost, lr, weight_decay):
    for w, g in zip(weights, gradients, strict=True):
        w -= lr * (g + weight_decay * w)


def new_tensors(weights, gradients, lost, lr, weight_decay):
    for i, (w, g, rest) in enumerate(zip(weights, gradients, lost, strict=True)):
        change = rest - lr * (g + weight_decay * w)
        weights[i] = (w + change).float()
        lost[i] = change - (weights[i] - w)


def replaces_the_weights(weights, gradients, lost, lr, weight_decay):
    for i, (w, g, rest) in enumerate(zip(weights, gradients, lost, strict=True)):
        change = rest - lr * (g + weight_decay * w)
        weights[i] = w + change
        lost[i] = change - (weights[i] - w)


def wrong_sign(weights, gradients, lost, lr, weight_decay):
    for w, g, rest in zip(weights, gradients, lost, strict=True):
        change = rest - lr * (g + weight_decay * w)
        new = w + change
        rest.copy_((new - w) - change)
        w.copy_(new)


def forgets_decay(weights, gradients, lost, lr, weight_decay):
    for w, g, rest in zip(weights, gradients, lost, strict=True):
        change = rest - lr * g
        new = w + change
        rest.copy_(change - (new - w))
        w.copy_(new)


def fills_with_nan(weights, gradients, lost, lr, weight_decay):
    for w in weights:
        w.fill_(math.nan)


def loses_what_was_lost(weights, gradients, lost, lr, weight_decay):
    for w, g, rest in zip(weights, gradients, lost, strict=True):
        change = -lr * (g + weight_decay * w)
        new = w + change
        rest.copy_(change - (new - w))
        w.copy_(new)


def _parts(widths):
    matrices = sum(a * b for a, b in pairwise(widths))
    return matrices, matrices + sum(widths[1:])


def amp_halves_everything(widths, batch, recipe):
    parameters = _parts(widths)[1]
    size = 2 if recipe.autocast else recipe.weights.itemsize
    return parameters * 4 * size + batch * sum(widths[:-1]) * size


def forgets_the_activations(widths, batch, recipe):
    return _parts(widths)[1] * recipe.bytes_per_parameter


def both_sides_of_relu(widths, batch, recipe):
    matrices, parameters = _parts(widths)
    inner = 2 if recipe.autocast else recipe.weights.itemsize
    total = parameters * recipe.bytes_per_parameter + batch * widths[0] * recipe.weights.itemsize
    copies = 2 * matrices + 2 * batch * widths[0] if recipe.autocast else 0
    return total + copies + 2 * batch * sum(widths[1:-1]) * inner


def forgets_the_inputs_copy(widths, batch, recipe):
    matrices, parameters = _parts(widths)
    inner = 2 if recipe.autocast else recipe.weights.itemsize
    total = parameters * recipe.bytes_per_parameter + batch * widths[0] * recipe.weights.itemsize
    copies = 2 * (matrices - widths[0] * widths[1]) if recipe.autocast else 0
    return total + copies + batch * sum(widths[1:-1]) * inner


def forgets_the_copies(widths, batch, recipe):
    parameters = _parts(widths)[1]
    inner = 2 if recipe.autocast else recipe.weights.itemsize
    total = parameters * recipe.bytes_per_parameter + batch * widths[0] * recipe.weights.itemsize
    return total + batch * sum(widths[1:-1]) * inner


def nan_bytes(widths, batch, recipe):
    return math.nan


def forgets_the_biases(widths, batch, recipe):
    matrices, parameters = _parts(widths)
    without = both_sides_of_relu(widths, batch, recipe)
    inner = 2 if recipe.autocast else recipe.weights.itemsize
    without -= (
        batch * sum(widths[1:-1]) * inner + (parameters - matrices) * recipe.bytes_per_parameter
    )
    return without - 2 * widths[0] * widths[1] * bool(recipe.autocast)


WRONG = {
    "mixed.static_scaling": [
        never_unscales,
        never_skips,
        scales_nothing,
        takes_any_scale,
        overlooks_nan,
        looks_at_the_last_only,
        steps_with_the_rest,
        looks_at_the_scale_too_late,
    ],
    "mixed.clipping": [
        clips_the_scaled,
        clips_after_the_step,
        steps_itself,
        never_updates,
        never_clips,
        makes_nan,
    ],
    "mixed.kahan_update": [
        plain_sgd,
        new_tensors,
        replaces_the_weights,
        wrong_sign,
        forgets_decay,
        fills_with_nan,
        loses_what_was_lost,
    ],
    "mixed.mlp_bytes": [
        amp_halves_everything,
        forgets_the_activations,
        both_sides_of_relu,
        forgets_the_inputs_copy,
        forgets_the_copies,
        nan_bytes,
        forgets_the_biases,
    ],
}
