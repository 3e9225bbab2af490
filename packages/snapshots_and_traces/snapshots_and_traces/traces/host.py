"""What the host's threads did: what stands inside what, and in whose code a moment lies."""

import re
from functools import cached_property

import numpy as np

from snapshots_and_traces.traces.trace import STEP, Kind, Trace

FRAME = re.compile(r".+\.py\(\d+\): ")  # as with_stack=True names a function: file(line): name
NOT_YOURS = re.compile(r"torch/|<|.*(site-packages|dist-packages|/lib/python\d)")
NEAR = 200  # events: an operator and what it calls are fewer
AUTOGRAD = re.compile(r"autograd::engine::")


class Host:
    """The host's events as a tree: for each, the innermost one around it on its thread."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        host = trace.device < 0
        self.frames = host & trace.named(FRAME) & (trace.kind == Kind.OTHER)
        self.which = np.flatnonzero((host & (trace.kind != Kind.OTHER)) | self.frames)

    @cached_property
    def process(self) -> np.ndarray:
        """For each thread the number of its process, in the order in which these appear."""
        numbers: dict[str, int] = {}
        each = [numbers.setdefault(name, len(numbers)) for name, _ in self.trace.threads]
        return np.array(each, int)

    def main(self, thread: int = -1) -> int:
        """The thread of the steps in a thread's process; without steps, the one with most
        operators; -1 without either. Without a thread, of the process with most of these.
        """
        trace = self.trace
        mine = (self.process == self.process[thread]) if thread >= 0 else self.process >= 0
        for which in (self.steps, trace.kind == Kind.OPERATOR):
            counts = np.bincount(trace.thread[which], minlength=len(mine)) * mine
            if counts.any():
                return int(counts.argmax())
        return -1

    def launcher(self, device: int) -> int:
        """The thread that launched most of what ran on a device, or -1."""
        trace = self.trace
        ran = trace.on(device, Kind.KERNEL, Kind.COPY) & (trace.launch >= 0)
        return int(np.bincount(trace.thread[trace.launch[ran]]).argmax()) if ran.any() else -1

    @cached_property
    def steps(self) -> np.ndarray:
        """Whether each event is a ProfilerStep."""
        trace = self.trace
        kinds = np.isin(trace.kind, (Kind.ANNOTATION, Kind.OPERATOR))
        return np.asarray(kinds & (trace.device < 0) & trace.named(STEP))

    def asked(self, thread: int) -> list[int]:
        """Whose doing explains that a thread was late: its own, the steps' thread's, autograd's."""
        mine = [one for one in self._backward if self.process[one] == self.process[thread]]
        return [thread, self.main(thread), *mine] if thread >= 0 else [thread]

    @cached_property
    def _backward(self) -> list[int]:
        """The threads that autograd's engine runs the backward pass on."""
        trace = self.trace
        mine = trace.named(AUTOGRAD) & (trace.kind == Kind.OPERATOR)
        return [int(one) for one in np.unique(trace.thread[mine])]

    @cached_property
    def order(self) -> np.ndarray:
        """The places of the host's events by thread, time and depth."""
        trace, which = self.trace, self.which
        depth = trace.kind[which] == Kind.RUNTIME  # of two with the same times, a call is inside
        keys = depth, -trace.end[which], trace.start[which], trace.thread[which]
        return which[np.lexsort(keys)]

    @cached_property
    def parent(self) -> np.ndarray:
        """For each event, the place of the innermost one around its begin on its thread, or -1."""
        trace, order = self.trace, self.order
        found = np.full(len(trace.start), -1)
        starts, ends = trace.start[order].tolist(), trace.end[order].tolist()
        threads, inner = trace.thread[order].tolist(), [-1] * len(order)
        around: list[int] = []
        last = -1
        for i, thread in enumerate(threads):
            if thread != last:
                around, last = [], thread
            while around and starts[i] >= ends[around[-1]]:
                around.pop()
            if around:
                inner[i] = around[-1]
            around.append(i)
        inside = np.array(inner, np.int64)
        found[order] = np.where(inside >= 0, order[inside], -1) if len(order) else inside
        return found

    def around(self, place: int) -> list[int]:
        """An event and all around it, the innermost first."""
        found = []
        while place >= 0:
            found.append(place)
            place = int(self.parent[place])
        return found

    def of_thread(self, thread: int) -> np.ndarray:
        """The places of a thread's events, in order of time and depth."""
        first, last = np.searchsorted(self._threads, [thread, thread + 1])
        return np.asarray(self.order[first:last])

    @cached_property
    def _threads(self) -> np.ndarray:
        return np.asarray(self.trace.thread[self.order])

    def at(self, thread: int, moment: float) -> list[int]:
        """What a thread was in at a moment, the innermost first."""
        trace = self.trace
        mine = self.of_thread(thread)
        place = int(np.searchsorted(trace.start[mine], moment, side="right")) - 1
        if place < 0:
            return []
        return [one for one in self.around(int(mine[place])) if trace.end[one] > moment]

    def before(self, thread: int, moment: float) -> int:
        """The operator of a thread that ended last before a moment, the outermost; or -1."""
        trace, mine = self.trace, self.of_thread(thread)
        last = int(np.searchsorted(trace.start[mine], moment, side="right"))
        near = mine[max(last - NEAR, 0) : last]
        ended = near[(trace.kind[near] == Kind.OPERATOR) & (trace.end[near] <= moment)]
        order = np.lexsort((trace.start[ended], -trace.end[ended]))
        return int(ended[order[0]]) if len(ended) else -1

    def place(self, around: list[int], rather: re.Pattern[str] | None = None) -> str:
        """Where in the reader's code a moment is, as far as the file says; "" where it doesn't.

        The innermost function outside of libraries; without stacks the outermost of those that
        `rather` fits, or the outermost operator; else the innermost annotation that isn't a step.
        """
        names = [(one, self.trace.names[self.trace.name[one]]) for one in around]
        frames = [name for one, name in names if self.frames[one]]
        if yours := [name for name in frames if not NOT_YOURS.match(name)] or frames:
            return yours[0]
        if found := [name for _, name in names if rather and rather.match(name)]:
            return found[-1]
        kinds = self.trace.kind
        operators = [name for one, name in names if kinds[one] == Kind.OPERATOR]
        if operators:
            return operators[-1]
        notes = [name for one, name in names if kinds[one] == Kind.ANNOTATION]
        return next((name for name in notes if not STEP.match(name)), "")
