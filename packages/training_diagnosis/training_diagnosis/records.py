"""Typed records from a watched run to the command, and from there to other programs."""

import os
import sys
from collections.abc import Callable
from typing import Any

import msgspec

Line = tuple[str, int]  # a file and a line in it
LEAST_SEEN = 8  # samples of a line, every 2 ms
NOWHERE: Line = ("", 0)


def in_words(file: str, line: int) -> str:
    """A place as its reader knows it: `train.py:12`, in a notebook `In[3], line 12`."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    cell = shell.compile.format_code_name(file) if shell and file else None
    return f"{cell[1]}, line {line}" if cell else f"{os.path.basename(file)}:{line}"


class Mark(msgspec.Struct, array_like=True):
    """Something the run did: begin and end in seconds, which object, and the user's line.

    `kind`: next (a loader's batch), iter (a loader's iterator was made), forward (of an outermost
    module), backward, step (of an optimizer), save (torch.save), collective, gc, compile.
    `flag` of a forward: 1 with gradients, +2 in training mode. Of a gc: the generation.
    """

    kind: str
    begin: float
    end: float
    key: str = ""
    file: str = ""
    line: int = 0
    flag: int = 0

    @property
    def place(self) -> Line:
        return self.file, self.line


class Warned(msgspec.Struct, array_like=True):
    """A warning that Python or torch gave, with the line it was given for."""

    text: str
    file: str
    line: int


class Loader(msgspec.Struct):
    """A DataLoader's arguments, and the line that made it."""

    workers: int
    persistent: bool
    file: str = ""
    line: int = 0


class Optimizer(msgspec.Struct):
    """An optimizer's class and how it updates; bytes of its parameters and of its state."""

    name: str
    fused: bool
    can_fuse: bool
    bytes: int
    state_bytes: int


class Sample(msgspec.Struct, array_like=True):
    """How often the main thread was seen in this region of a step, at this line of the user's."""

    region: str
    file: str
    line: int
    count: int


class Traced(msgspec.Struct):
    """A cause of a GPU's idle or slow time in a trace: its share of the traced time, in words, and
    where it was.
    """

    cause: str  # as `snapshots_and_traces` names it, or "no tensor cores"
    share: float
    words: str
    where: str = ""
    file: str = ""
    line: int = 0  # of the function


class Look(msgspec.Struct):
    """Findings of the closer look at some steps; -1 where it did not look."""

    samples: list[Sample] = []
    float64_share: float = -1.0  # of the bytes that operators wrote
    operators: int = 0  # of one step
    small_operators: int = 0  # of them, those on a few KiB, without the optimizer's
    small_line: Line = NOWHERE  # with most of these
    start_seconds: float = 0.0  # that an operator on one number took
    per_sample_share: float = 0.0  # operators that ran once for each sample of the batch
    per_sample: Line = NOWHERE
    per_sample_gain: float = 0.0  # seconds a step that one call for the whole batch would save
    padded_share: float = 0.0  # positions at the end of a sequence that hold the same id
    padded_everywhere: float = 0.0  # of them, those in columns where every row has it
    unused_gradients: int = 0  # parameters (numbers) with a gradient and no optimizer
    unused_parameters: int = 0  # tensors of them
    trained_parameters: int = 0  # numbers that optimizers update
    unused_forwards: float = 0.0  # forwards a step with a graph that no backward reached
    unused_forward: Line = NOWHERE
    kept: str = ""  # name of what holds tensors of earlier steps
    kept_line: Line = NOWHERE
    kept_bytes: float = 0.0  # that it grows by in a step
    traced: list[Traced] = []  # on a GPU

    def line(
        self, region: str, leave_out: Callable[[Line], bool] = lambda line: False
    ) -> tuple[Line, float]:
        """The reader's line that was seen most in a region, and its share of all samples there.

        NOWHERE if it was seen less than LEAST_SEEN times: chance, not a cause.
        """
        counts = {
            (one.file, one.line): one.count for one in self.samples
            if one.region == region and one.file
        }  # fmt: skip
        lines = (one for one in counts if not leave_out(one))
        line = max(lines, key=lambda one: counts[one], default=NOWHERE)
        if counts.get(line, 0) < LEAST_SEEN:
            return NOWHERE, 0.0
        return line, counts[line] / sum(counts.values())


class Seen(msgspec.Struct):
    """One pass over the script: its marks, facts about its process, and how it ended."""

    change: str = ""
    marks: list[Mark] = []
    ended: str = ""  # stopped, finished, error, no time
    error: str = ""
    exit_code: int = 0
    loaders: dict[str, Loader] = {}
    optimizers: dict[str, Optimizer] = {}
    warned: list[Warned] = []
    resident: list[tuple[float, float]] = []  # after a step: time, bytes of the process
    on_gpu: list[float] = []  # after a step: bytes allocated
    peak_bytes: float = 0.0
    peak_on_gpu: float = 0.0
    hook_seconds: float = 0.0  # of the marks, by their number and the cost of one
    look: Look | None = None
    facts: dict[str, Any] = {}
    applied: int = 0  # how often the change took effect
    ranks: list["Rank"] = []  # of torchrun's, this one included


class Rank(msgspec.Struct):
    """The times of one rank in a pass: seconds of a step and of its parts; those in collectives
    that nothing hides; how it ended.
    """

    rank: int
    seconds: float = 0.0
    parts: dict[str, float] = {}
    communicating: float = 0.0
    lines: dict[str, Line] = {}  # by the region of a step, where the closer look saw it most
    error: str = ""
    at: float = 0.0  # when it ended, by the machine's clock
    status: int = 0

    @property
    def own(self) -> float:
        """Seconds a step without collectives."""
        return self.seconds - self.communicating


class Gain(msgspec.Struct):
    """The gain of a change: seconds a step without and with it, and whether it was measured."""

    change: str
    before: float
    after: float
    measured: bool
    noise: float = 0.0  # relative difference of the unchanged runs

    @property
    def factor(self) -> float:
        return self.before / self.after if self.after > 0 else 1.0


class Finding(msgspec.Struct):
    """A cause: its rule, the line, what was seen, what to change, the gain, the chapter."""

    rule: str
    file: str
    line: int
    seen: str
    advice: str
    chapter: str
    gain: Gain | None = None
    tried: list[Gain] = []
    note: str = ""
    memory: bool = False  # it costs memory, whatever it costs in time


class Report(msgspec.Struct):
    """All that `diagnose` says of a script."""

    script: str
    arguments: list[str]
    verdict: str
    steps: int
    step_seconds: float
    step_low: float  # quartiles
    step_high: float
    parts: dict[str, float]  # seconds of a step
    first_step_seconds: float
    epoch_extra_seconds: float
    memory: dict[str, float]  # bytes
    growth_bytes: float  # a step
    findings: list[Finding]
    nothing_gained: list[Gain]
    overhead: dict[str, float]  # of a step: the marks; the closer look
    machine: dict[str, str]
    notes: list[str]
    step_times: list[float] = []
    ranks: list[Rank] = []
    memory_times: list[float] = []  # bytes after each step: of the GPU, else of the process


def schema() -> dict[str, Any]:
    """The JSON schema of a report."""
    return msgspec.json.schema(Report)
