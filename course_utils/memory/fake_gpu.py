"""A GPU that isn't there: fake tensors on a pretended accelerator, with CUDA's choices of kernels.

Fake tensors have a device, a dtype and a shape and no data. torch runs a whole training step on
them: forward, backward and optimiser, without memory. Two other devices don't serve. A fake `cuda`
needs a torch built for CUDA: without one, single operators run on it (chapter 7's `autocast_rules`
uses that), but no model can be built. A fake `cpu` behaves as the CPU does: dropout keeps a float
mask there, 4 bytes an element, where CUDA keeps 1. So the device here is torch's placeholder for
other makers' accelerators, PrivateUse1. Where CUDA chooses differently, it is told to do the same:
attention's kernels here, autocast in `fake_autocast.py`.

All uses of torch's private names are in these two modules, and missing ones give one clear error.

PrivateUse1 is torch's accelerator from then on, before CUDA, and no backward pass on CUDA runs in
that process any more (pytorch issue 161129). So beside a real GPU another process does it: `apart`.
"""

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

import cloudpickle
import torch
from torch import Tensor
from torch.nn import functional as F

from course_utils.memory.fresh_process import in_a_fresh_process

DEVICE = "fakegpu"
HALF = (torch.float16, torch.bfloat16)
LARGEST_FLASH_HEAD = 256
_MODULE = SimpleNamespace(  # `torch.fakegpu`: what torch asks of an accelerator's module
    is_initialized=lambda: True,
    is_available=lambda: True,
    _is_in_bad_fork=lambda: False,
    current_device=lambda: 0,
    device_count=lambda: 1,
    device=lambda index: nullcontext(),
    synchronize=lambda device=None: None,
    manual_seed=lambda seed: None,
    manual_seed_all=lambda seed: None,
    get_rng_state=lambda device=None: torch.empty(16, dtype=torch.uint8, device="cpu"),
    set_rng_state=lambda state, device=None: None,
    get_amp_supported_dtype=lambda: [*HALF, torch.float32],
)
_kept_alive: list[Any] = []


class FakeGpuError(RuntimeError):
    """This torch can't pretend a GPU; the message says what is missing."""


def apart(work: Callable[[], Any]) -> Any:
    """Returns `work()`, which uses the fake GPU; in another process where there is CUDA.

    There both travel by value, what was written in a notebook too. (A fork of this process
    wouldn't do: after a backward pass on CUDA autograd refuses to run in one.) Without a CUDA GPU
    it runs here. Whether the garbage collector runs by itself is as here. Raises: what `work`
    raises.
    """
    if not torch.cuda.is_available():
        return work()
    by_value, main = cloudpickle.dumps(work), sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")  # a new process would run a script again
    try:
        return in_a_fresh_process(_called, by_value, gc.isenabled())
    finally:
        sys.modules["__main__"] = main


def _called(work: bytes, collects: bool) -> Any:
    if not collects:
        gc.disable()
    return cloudpickle.loads(work)()


@contextmanager
def fake_gpu() -> Iterator[torch.device]:
    """Inside, tensors made on the device this gives (by default all) are fake: nothing computes.

    Beside a real GPU, use it within `apart`.
    Raises: FakeGpuError where torch has not the private parts that this needs, or where another
    accelerator has taken PrivateUse1's place in this process.
    """
    _register()
    from course_utils.memory import fake_autocast

    with ExitStack() as stack:
        stack.enter_context(_mode(allow_non_fake_inputs=True))
        stack.enter_context(fake_autocast.weight_cache())
        for patch in _as_on_cuda():
            stack.enter_context(patch)
        stack.enter_context(_optimizers_as_without_a_default_device())
        # autograd starts its devices' threads once, maybe before there was this device
        stack.enter_context(torch.autograd.set_multithreading_enabled(False))
        yield stack.enter_context(torch.device(DEVICE))


def _mode(**kwargs: Any) -> Any:
    """A FakeTensorMode that makes `torch.tensor(1.0)` without a real copy on the device."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    class Mode(FakeTensorMode):
        avoid_device_init = True

    return Mode(**kwargs)


def _as_on_cuda() -> list[Any]:
    """Patches by which fake tensors get what CUDA's get: multi-tensor kernels, `module.to`."""
    from torch._subclasses.fake_tensor import FakeTensor
    from torch.optim import optimizer
    from torch.utils import _foreach_utils

    name = "_foreach_supported_types"
    patches = [
        mock.patch.object(room, name, [*getattr(room, name), FakeTensor])
        for room in (optimizer, _foreach_utils)
    ]
    return [
        *patches,
        mock.patch.object(torch.utils, "swap_tensors", _become),
        mock.patch.object(torch.nn.init, "_no_grad_trunc_normal_", _truncated_normal),
    ]


@contextmanager
def _optimizers_as_without_a_default_device() -> Iterator[None]:
    """Inside, what an optimizer's step makes without naming a device is the host's.

    A program on a GPU sets no default device, so Adam counts its steps on the host. The default
    device here would reach into the step: torch before 2.13 (and NAdam and RAdam still) would
    count on the fake GPU and then ask for the number.
    """
    from torch.optim import optimizer

    hosts: list[ExitStack] = []

    def enter(*_: Any) -> None:
        hosts.append(ExitStack())
        hosts[-1].enter_context(torch.device("cpu"))

    def leave(*_: Any) -> None:
        hosts.pop().close()

    before = optimizer.register_optimizer_step_pre_hook(enter)
    with before, optimizer.register_optimizer_step_post_hook(leave):
        try:
            yield
        finally:
            while hosts:  # a step that raised
                leave()


def _become(parameter: Tensor, converted: Tensor) -> None:
    """Does as `module.to(...)` to a fake parameter, whose weak references forbid a swap."""
    if converted.device != parameter.device:
        raise FakeGpuError(
            f"a fake parameter can't move from {parameter.device} to {converted.device}: build "
            "the model on the device that `build` is given"
        )
    parameter.data = converted.data


def _truncated_normal(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any = None
) -> Tensor:
    """`trunc_normal_` with one round of drawing again; torch goes on while a number lies outside.

    Later rounds take the memory that this one gave back.
    """
    with torch.no_grad():
        outside = (tensor.normal_(mean, std) < a) | (tensor > b)
        return tensor.copy_(torch.where(outside, torch.empty_like(tensor).normal_(), tensor))


def is_available() -> bool:
    """Whether `fake_gpu()` works with this torch."""
    try:
        apart(_register)
    except FakeGpuError:
        return False
    return True


@cache
def _register() -> None:
    """Once a process: the device's name, its module `torch.fakegpu`, and its own kernels."""
    try:
        from torch.utils import backend_registration

        _mode()
        _as_on_cuda()
        taken = torch._C._get_privateuse1_backend_name()
        if taken not in ("privateuseone", DEVICE):
            raise FakeGpuError(
                f"the accelerator {taken!r} has the place in this process that the fake GPU needs: "
                "predict in a process that doesn't load it"
            )
        backend_registration._setup_privateuseone_for_python_backend(DEVICE, backend_module=_MODULE)
        from course_utils.memory import fake_autocast

        attention = torch.library.Library("aten", "IMPL")
        attention.impl("scaled_dot_product_attention", _attention, "AutogradPrivateUse1")
        attention.impl("gather", _gather, "AutogradPrivateUse1")
        _kept_alive.extend([*fake_autocast.register(), attention])
    except FakeGpuError:
        raise
    except (ImportError, AttributeError, TypeError, RuntimeError) as error:
        raise FakeGpuError(
            f"torch {torch.__version__} has changed the private parts that a fake GPU needs "
            f"({error}): mend course_utils/memory/fake_gpu.py, or measure on a GPU"
        ) from error


def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Attention by the kernel that CUDA takes: flash for 16 bits, memory-efficient, or plain.

    Source: torch, aten/src/ATen/native/transformers/cuda/sdp_utils.cpp (`use_flash_attention`,
    `use_mem_efficient_attention`). cuDNN's, which Hopper prefers, keeps what flash keeps.
    """
    if attn_mask is None and _flash_takes(query, key, value):
        return _flash(query, key, value, dropout_p, is_causal, scale)
    aten: Any = torch.ops.aten
    if not enable_gqa and _efficient_takes(query, key, value):
        needs_grad = torch.is_grad_enabled() and any(t.requires_grad for t in (query, key, value))
        bias = _as_bias(attn_mask, query)
        return aten._scaled_dot_product_efficient_attention(
            query, key, value, bias, needs_grad, dropout_p, is_causal, scale=scale
        )[0]
    return aten._scaled_dot_product_attention_math(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )[0]


class _Gather(torch.autograd.Function):
    """`gather`, whose backward pass adds into the zeros it makes, as for tensors with data.

    For fake ones torch adds into a copy: one tensor of the input's size too many. What is kept is
    the same: the input and the index (tools/autograd/derivatives.yaml).
    """

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, dim: int, index: Tensor) -> Tensor:
        ctx.save_for_backward(tensor, index)
        ctx.dim = dim
        # what autograd keeps counts as made in the forward pass, with gradients
        with torch.enable_grad(), torch._C._AutoDispatchBelowAutograd():
            return torch.ops.aten.gather(tensor, dim, index)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        tensor, index = ctx.saved_tensors
        found = grads[0].new_zeros(tensor.shape).scatter_add_(ctx.dim, index, grads[0])
        return found, None, None


def _gather(tensor: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    if not (torch.is_grad_enabled() and tensor.requires_grad):
        with torch._C._AutoDispatchBelowAutograd():
            return torch.ops.aten.gather(tensor, dim, index)
    if sparse_grad:
        raise FakeGpuError("a sparse gradient of `gather` can't be followed: leave out sparse_grad")
    return _Gather.apply(tensor, dim, index)


def _flash_takes(query: Tensor, key: Tensor, value: Tensor) -> bool:
    size = query.shape[-1]
    fits = query.dim() == 4 and query.dtype in HALF and size <= LARGEST_FLASH_HEAD
    return fits and size == value.shape[-1] and torch.backends.cuda.flash_sdp_enabled()


def _efficient_takes(query: Tensor, key: Tensor, value: Tensor) -> bool:
    multiple = 8 if query.dtype in HALF else 4
    fits = query.dim() == 4 and query.dtype in (*HALF, torch.float32)
    aligned = all(t.shape[-1] % multiple == 0 for t in (query, key, value))
    return fits and aligned and torch.backends.cuda.mem_efficient_sdp_enabled()


def _flash(
    query: Tensor, key: Tensor, value: Tensor, dropout_p: float, causal: bool, scale: float | None
) -> Tensor:
    """Flash attention; heads are padded to a multiple of 8 elements and cut again."""
    size = query.shape[-1]
    padded = [F.pad(t, (0, -size % 8)) if size % 8 else t for t in (query, key, value)]
    scale = size**-0.5 if scale is None else scale
    found = torch.ops.aten._scaled_dot_product_flash_attention(
        *padded, dropout_p, causal, scale=scale
    )[0]
    return found[..., :size] if size % 8 else found


def _as_bias(mask: Tensor | None, query: Tensor) -> Tensor | None:
    """A mask as it is added to the scores: a boolean one as 0 or minus infinity."""
    if mask is None:
        return None
    if mask.dtype is torch.bool:
        bias = torch.zeros_like(mask, dtype=query.dtype)
        mask = bias.masked_fill_(mask.logical_not(), float("-inf"))
    return mask.expand(*query.shape[:2], *mask.shape[-2:])
