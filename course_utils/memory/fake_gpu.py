"""A GPU that isn't there: fake tensors on a pretended accelerator, with CUDA's choices of kernels.

Fake tensors have a device, a dtype and a shape and no data. torch runs a whole training step on
them: forward, backward and optimiser, without memory. A fake `cuda` needs a torch built for CUDA,
and a fake `cpu` takes the CPU's ways (dropout keeps a float mask there, 4 bytes where CUDA keeps
1); so the device here is torch's place for other makers' accelerators, PrivateUse1. Where CUDA
would take a way of its own, it is taught that way: attention's kernels in `fake_kernels.py`,
autocast in `fake_autocast.py`.

All that torch calls private is in these three rooms, and missing parts give one clear error.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import cache
from typing import Any
from unittest import mock

import torch
from torch import Tensor

from course_utils.memory import fake_kernels
from course_utils.memory.fake_kernels import HALF, FakeGpuError

DEVICE = "fakegpu"
_kept_alive: list[Any] = []


@contextmanager
def fake_gpu() -> Iterator[torch.device]:
    """Inside, tensors made on the device this gives (by default all) are fake: nothing computes.

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

    hooks = (
        optimizer.register_optimizer_step_pre_hook(enter),
        optimizer.register_optimizer_step_post_hook(leave),
    )
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
        while hosts:  # a step that raised
            leave()


def _become(parameter: Tensor, converted: Tensor) -> None:
    """What `module.to(...)` does to a fake parameter, whose weak references forbid a swap."""
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
        _register()
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
        backend_registration._setup_privateuseone_for_python_backend(
            DEVICE, backend_module=_Module()
        )
        from course_utils.memory import fake_autocast

        own = torch.library.Library("aten", "IMPL")
        own.impl("scaled_dot_product_attention", fake_kernels.attention, "AutogradPrivateUse1")
        own.impl("gather", fake_kernels.gather, "AutogradPrivateUse1")
        _kept_alive.extend([*fake_autocast.register(), own])
    except FakeGpuError:
        raise
    except (ImportError, AttributeError, TypeError, RuntimeError) as error:
        raise FakeGpuError(
            f"torch {torch.__version__} has changed the private parts that a fake GPU needs "
            f"({error}): mend course_utils/memory/fake_gpu.py, or measure on a GPU"
        ) from error


class _Module:
    """`torch.fakegpu`: what torch asks of an accelerator's module, for one that does nothing."""

    def is_initialized(self) -> bool:
        return True

    def is_available(self) -> bool:
        return True

    def _is_in_bad_fork(self) -> bool:
        return False

    def current_device(self) -> int:
        return 0

    def device_count(self) -> int:
        return 1

    def device(self, index: int) -> Any:
        return nullcontext()

    def synchronize(self, device: Any = None) -> None:
        """Nothing runs."""

    def manual_seed(self, seed: int) -> None:
        """Nothing is random."""

    def manual_seed_all(self, seed: int) -> None:
        """Nothing is random."""

    def get_rng_state(self, device: Any = None) -> Tensor:
        return torch.empty(16, dtype=torch.uint8, device="cpu")

    def set_rng_state(self, state: Tensor, device: Any = None) -> None:
        """Nothing is random."""

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [*HALF, torch.float32]
