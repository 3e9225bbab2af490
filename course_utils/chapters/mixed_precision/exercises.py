"""Checkers for chapter 7, "Mixed precision"."""

import math
import random
from collections.abc import Callable
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn

from course_utils.lesson.answers import close, compare, shown
from course_utils.lesson.exercises import Wrong, exercise


@exercise(
    "mixed.static_scaling",
    todo="write scaled_step(loss, optimizer, scale), which returns whether it stepped.",
    hints=(
        "optimizer.param_groups holds the parameters; a parameter's .grad may be None.",
        "torch.isfinite(grad).all() for every gradient first, then divide, then step.",
    ),
)
def check_scaled_step(scaled_step: Callable[..., Any]) -> str:
    """Good steps, an infinity or a NaN in one gradient of several, scales that can't work."""
    slopes = [torch.randn(shape).clamp(-2, 2) + 3 for shape in ((5,), (2, 5), (5,))]
    for bad in (0.0, -4.0, math.inf, -math.inf, math.nan):
        _require_refused(scaled_step, slopes[0], bad)
    weights, idle = [nn.Parameter(torch.zeros_like(s)) for s in slopes], nn.Parameter(torch.ones(2))
    groups: list[dict[str, Any]] = [{"params": [idle, weights[0]]}, {"params": weights[1:]}]
    optimizer = torch.optim.SGD(groups, lr=0.5, momentum=0.5)
    speeds = [torch.zeros_like(s) for s in slopes]
    for place, spoil in enumerate((None, 0, None, 2, 1, None)):
        scale = 2.0 ** random.randint(3, 12) if place != 2 else 0.25
        optimizer.zero_grad()
        loss = sum((w * s).sum() for w, s in zip(weights, slopes, strict=True))
        assert isinstance(loss, Tensor)
        arrived: list[float] = []
        loss.register_hook(lambda grad, arrived=arrived: arrived.append(grad.item()))
        before = [w.detach().clone() for w in weights]
        hook = _spoil(weights, spoil)
        stepped = scaled_step(loss, optimizer, scale)
        hook()
        if arrived != [scale]:
            raise Wrong(
                f"backward should run once, of the loss times {scale:g}; the loss got gradients "
                f"{arrived}"
            )
        if bool(stepped) is not (spoil is None) or stepped is None:
            what = "finite" if spoil is None else "not all finite"
            raise Wrong(f"the gradients were {what}, and scaled_step returned {shown(stepped)}")
        if spoil is None:
            speeds = [0.5 * v + s for v, s in zip(speeds, slopes, strict=True)]
        for w, old, speed in zip(weights, before, speeds, strict=True):
            _check_moved(spoil is None, old - w.detach(), 0.5 * speed, scale)
    return "three parameters in two groups, infinities and NaN in one of them, and bad scales"


def _require_refused(scaled_step: Callable[..., Any], slope: Tensor, bad: float) -> None:
    weight = nn.Parameter(torch.zeros(5))
    try:
        scaled_step((weight * slope).sum(), torch.optim.SGD([weight], lr=0.5), bad)
    except ValueError:
        if weight.count_nonzero():
            raise Wrong(f"a scale of {bad} was refused after the step: look at it first") from None
        return
    raise Wrong(f"a scale of {bad} was taken; no step can come of it: raise a ValueError")


def _spoil(weights: list[nn.Parameter], which: int | None) -> Callable[[], None]:
    """Makes one number of one gradient infinite or NaN, as an overflow in the backward would."""
    if which is None:
        return lambda: None
    bad = torch.tensor([1, 1, math.nan if which == 1 else math.inf, 1, 1])
    return weights[which].register_hook(lambda grad: grad * bad).remove


def _check_moved(good: bool, moved: Tensor, step: Tensor, scale: float) -> None:
    want = step if good else torch.zeros_like(step)
    what = "a step" if good else "a step to be skipped"
    compare(moved, want, f"{what}, scale {scale:g}: how far weights moved", 1e-3, 1e-4)


@exercise(
    "mixed.clipping",
    todo="write clipped_step(loss, parameters, optimizer, scaler, max_norm).",
    hints=(
        "Clipping compares with max_norm: what must the gradients be divided by before?",
        "scale and backward, unscale_, clip_grad_norm_, scaler.step, scaler.update.",
    ),
)
def check_clipping(clipped_step: Callable[..., Any]) -> str:
    """Watches what `clip_grad_norm_` sees, and where the weights end, with and without scaling."""
    for share in (random.uniform(0.1, 0.9), random.uniform(1.1, 2), random.uniform(0.1, 0.9)):
        weight, slope = nn.Parameter(torch.zeros(4)), torch.randn(4).clamp(-2, 2) + 3
        scale, max_norm = 2.0 ** random.randint(4, 14), share * slope.norm().item()
        optimizer = torch.optim.SGD([weight], lr=1.0)
        scaler = torch.amp.GradScaler("cpu", init_scale=scale, growth_interval=2)
        norm = slope.norm().item()
        for step, spoil in enumerate((1.0, math.inf, 1.0)):
            before = weight.detach().clone()
            optimizer.zero_grad()
            at_clip: list[float] = []
            with mock.patch.object(nn.utils, "clip_grad_norm_", _watched(weight, at_clip)):
                loss = (weight * slope).sum() * spoil
                clipped_step(loss, [weight], optimizer, scaler, max_norm)
            if not at_clip:
                raise Wrong("torch.nn.utils.clip_grad_norm_ was never called")
            want = slope * min(1.0, max_norm / norm) if spoil == 1.0 else torch.zeros(4)
            _check_clipped(step, at_clip, norm, scale, spoil, before - weight.detach(), want)
        if scaler.get_scale() == scale:
            raise Wrong("the scale stood still after an infinity: scaler.update() is missing")
    return "three scales, three limits: the norms that clipping sees, and the weights after"


def _watched(weight: nn.Parameter, norms: list[float]) -> Callable[..., Any]:
    """torch's `clip_grad_norm_`, which also notes the norm of the weight's gradient in `norms`."""
    clip = nn.utils.clip_grad_norm_

    def clip_and_note(*args: Any, **kwargs: Any) -> Any:
        norms.append(math.nan if weight.grad is None else weight.grad.norm().item())
        return clip(*args, **kwargs)

    return clip_and_note


def _check_clipped(
    step: int, seen: list[float], norm: float, scale: float, spoil: float, moved: Tensor, want: Any
) -> None:
    if spoil == 1.0 and not close(seen[-1], norm, rel_tol=1e-3):
        times = seen[-1] / norm
        why = ": it was never unscaled" if 0.2 * scale < times < 5 * scale else ""
        raise Wrong(
            f"clipping saw gradients of norm {seen[-1]:.4g}, and theirs is {norm:.4g}{why} "
            f"(the scale is {scale:g})"
        )
    if not torch.allclose(moved, want, rtol=1e-2, atol=1e-5):
        what = "an infinity: no step" if spoil != 1.0 else f"a step of norm {want.norm():.4g}"
        raise Wrong(f"step {step + 1} should be {what}; the weights moved by {moved.norm():.4g}")
