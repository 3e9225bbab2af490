"""Predicts the GPU memory of a training step, without a GPU.

The real step runs on a fake GPU (`fake_gpu`), its storages are followed from birth to death
(`memory.count`), and what it asks for goes through the course's allocator (`what_if.run`). So the
order of requests, the optimiser's temporaries and the fragmentation are those of the real program.

Not predicted: the CUDA context (300 to 700 MB, outside the allocator, so outside torch's numbers
too), and what a kernel takes for itself while it runs (cuDNN's workspaces, a sort's buffers); of
those only cuBLAS's workspaces, which stay, are counted.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from course_utils.memory import counting, fake_gpu
from course_utils.memory.counting import Moment
from snapshots_and_traces.allocator.settings import Settings
from snapshots_and_traces.replay.what_if import Outcome, Program, Step, run

Build = Callable[[torch.device], tuple[torch.nn.Module, torch.optim.Optimizer, Callable[[], Any]]]
MATRIX_PRODUCTS = ("mm", "addmm", "bmm", "baddbmm", "addmv", "mv", "dot")


class CannotPredict(RuntimeError):
    """The step does what only a real device can; the message says what and what to do."""


@dataclass(frozen=True)
class Prediction:
    """The GPU memory of a training step. Bytes, as `torch.cuda` counts them.

    `program` is what it asks of the allocator, to be run again with other settings; the arrays of
    `outcome` and the list `moments` (live bytes by kind) say how things stand after each of its
    steps. `workspace` is what cuBLAS holds at the peak.
    """

    program: Program
    outcome: Outcome
    moments: list[Moment]
    workspace: int

    @property
    def peak_allocated(self) -> int:
        """Predicts torch.cuda.max_memory_allocated."""
        return self.outcome.peak_allocated

    @property
    def peak_reserved(self) -> int:
        """Predicts torch.cuda.max_memory_reserved."""
        return self.outcome.peak_reserved

    @property
    def moment(self) -> Moment:
        """The live bytes by kind when the most is allocated, with its phase and operator."""
        return self.moments[int(self.outcome.allocated.argmax())]

    @property
    def parts(self) -> dict[str, int]:
        """`peak_allocated` by kind, with cuBLAS's workspaces and the allocator's rounding."""
        named = {**self.moment.n_bytes, "workspace": self.workspace}
        return {**named, "rounding": self.peak_allocated - sum(named.values())}


def cublas_workspace(capability: tuple[int, int]) -> int:
    """Bytes that cuBLAS keeps for each thread that multiplies, by the GPU's compute capability.

    Source: torch, aten/src/ATen/cuda/CublasHandlePool.cpp, `parseChosenWorkspaceSize`: 32 MiB on
    Hopper and Blackwell, before them 2 x 4 MiB + 8 x 16 KiB (the variable CUBLAS_WORKSPACE_CONFIG
    changes it).
    """
    return 32 * 2**20 if capability[0] in (9, 10, 12) else 2 * 4096 * 1024 + 8 * 16 * 1024


def predict_bytes(
    build: Build,
    steps: int = 3,
    capability: tuple[int, int] = (9, 0),
    settings: Settings | None = None,
) -> Prediction:
    """Runs `steps` training steps on a fake GPU of that compute capability and adds up.

    `build(device)` returns (model, optimizer, step); `step()` does one training step. Whatever it
    makes is on `device` unless it says otherwise. `settings` are the allocator's, torch's own
    unless given. Raises: CannotPredict where the step needs a tensor's value or a real GPU;
    TypeError for a `build` that returns something else; ValueError for fewer than 1 step;
    fake_gpu.FakeGpuError where this torch can't pretend.
    """
    if steps < 1:
        raise ValueError(f"at least 1 step is run, not {steps}")

    def requests() -> tuple[Program, list[Moment]]:
        counted, built = _count(build, steps)
        return _program(counted, built, cublas_workspace(capability))

    program, moments = fake_gpu.apart(requests)
    outcome = run(program, settings)
    peak = int(outcome.allocated.argmax())
    workspaces = [s.size for s in program.steps[: peak + 1] if s.key < 0]
    return Prediction(program, outcome, moments, sum(workspaces))


def _count(build: Build, steps: int) -> tuple[counting.count, int]:
    """The storages of the run, and the number of the last event of the building."""
    with fake_gpu.fake_gpu() as device, counting.count(device=device.type) as counted:
        try:
            model, optimizer, step = _parts(build(device), device)
            counted.watch(model, optimizer)
            built = max((max(s.born, s.died or 0) for s in counted.storages), default=0)
            for _ in range(steps):
                step()
        except (RuntimeError, AssertionError) as error:
            raise _explained(error) from error
    return counted, built


def _parts(built: Any, device: torch.device) -> Any:
    kinds: dict[str, Any] = {
        "a model": torch.nn.Module, "an optimizer": torch.optim.Optimizer, "a function": Callable,
    }  # fmt: skip
    wanted = "build returns (model, optimizer, step)"
    if not isinstance(built, tuple) or len(built) != len(kinds):
        raise TypeError(f"{wanted}, not {built!r:.60}")
    for part, (name, kind) in zip(built, kinds.items(), strict=True):
        if not isinstance(part, kind):
            raise TypeError(f"{wanted}; {name} was wanted, not {part!r:.60}")
    elsewhere = {str(p.device) for p in built[0].parameters() if p.device.type != device.type}
    if elsewhere:
        raise CannotPredict(
            f"the model's parameters are on {', '.join(sorted(elsewhere))}: build it on the device "
            "that `build` is given"
        )
    return built


def _explained(error: Exception) -> Exception:
    """A clear error for what fake tensors can't do; any other error as it is."""
    name, text = type(error).__name__, str(error)
    values = ("DataDependentOutputException", "DynamicOutputShapeException")
    if name in values or ".numpy() is not supported" in text:
        return CannotPredict(
            f"the step asks for a tensor's value ({text}), and fake tensors have none: leave out "
            ".item(), printing, `if` on a tensor, boolean indexing and GradScaler"
        )
    if "cuda" in text.lower() and ("not compiled" in text or "not linked" in text):
        return CannotPredict(
            f"the step calls CUDA itself ({text}): use the device that `build` is given"
        )
    return error


def _program(counted: counting.count, built: int, workspace: int) -> tuple[Program, list[Moment]]:
    """The storages' requests to an allocator, and the moment after each.

    cuBLAS takes a workspace at the first matrix product of each thread: one in the forward pass,
    one in the backward pass, which runs on autograd's own thread. Their keys are below 0.
    """
    events = {}
    for key, storage in enumerate(counted.storages):
        events[storage.born] = Step("alloc", key, storage.n_bytes), storage
        if storage.died:
            events[storage.died] = Step("free", key), storage
    steps: list[Step] = []
    moments: list[Moment] = []
    threads: set[str] = set()
    before = 0
    for moment in counted.moments[1:]:
        step, storage = events[moment.index]
        if storage.n_bytes == 0:
            continue
        steps.append(step)
        moments.append(moment)
        if moment.index <= built:
            before = len(steps)
        elif _multiplies(storage.op) and storage.phase not in threads and step.action == "alloc":
            threads.add(storage.phase)
            steps.append(Step("alloc", -len(threads), workspace))
            moments.append(moment)
    return Program(tuple(steps), before, "a predicted training run"), moments


def _multiplies(op: str) -> bool:
    return op.removeprefix("aten.").partition(".")[0] in MATRIX_PRODUCTS
