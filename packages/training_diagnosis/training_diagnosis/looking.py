"""Looks closer at some steps of a run of its own, whose times are not used.

A thread samples the reader's line every 2 ms; one step runs under a dispatch mode that sees each
operator; another follows each loss's graph to the forwards that it came from.
"""

import gc
import linecache
import os
import re
import statistics
import sys
import threading
import time
from collections import Counter, deque
from typing import Any

from training_diagnosis.changes import padding, tensors, unused
from training_diagnosis.records import NOWHERE, Line, Look, Sample
from training_diagnosis.tracing import Tracer
from training_diagnosis.watching import FINDING_ROOTS, Watch, parameters

HERE = os.path.dirname(__file__)
EVERY = 0.002  # seconds between samples
SWITCH = 0.0005  # seconds after which Python code gives way to the sampling thread
GRAPH_STEP, OPERATOR_STEP, KEPT_FROM = FINDING_ROOTS + 1, FINDING_ROOTS + 2, FINDING_ROOTS + 3
KEPT_STEPS = 12  # in which the tensors that are alive are counted
NODES = 200_000  # of a graph that are followed
LEAST_REPEATS = 8  # of the same operators on the same parameters, to be a loop over samples
LONGEST_LOOP = 400  # operators in one turn of it
STARTING_SECONDS = 0.3  # that it is measured for
KEPT_LEAST = 1024  # bytes a step
SMALL_BYTES = 16 * 1024  # that a core reads in about the time that starting an operator takes
HOLDERS = (list, dict, tuple, deque)


class Looker:
    """Attaches to an installed watch; `look()` is what it found, after the last step."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.found = watch, Look()
        self.samples: Counter[tuple[str, Line]] = Counter()
        self._main = threading.get_ident()
        self._sampling = threading.Thread(target=self._sample, daemon=True)
        self._stop, self._switching = threading.Event(), sys.getswitchinterval()
        self._step = 0
        self._forwards: list[tuple[Any, Line]] = []
        self._reached: set[Any] = set()
        self._mode: Any = None
        self._arguments: list[Any] = []
        self._root: Any = None
        self._alive: list[tuple[int, float]] = []
        self._first_ids: set[int] = set()
        self._padding: list[tuple[float, float]] = []
        self._tracer = Tracer(watch.torch, KEPT_FROM + KEPT_STEPS) if watch.gpu else None
        watch.least = self._tracer.end if self._tracer else KEPT_FROM + KEPT_STEPS
        watch.after_step.append(self._after_step)
        watch.at_forward.append(self._at_forward)
        watch.after_forward.append(self._after_forward)
        watch.at_backward.append(self._at_backward)
        watch.at_end.append(self._kept_by)  # while the reader's variables are there

    # -- hooks

    def _after_step(self, step: int) -> None:
        if step == self._step:  # another optimizer of the same step
            return
        self._step = step
        if step == FINDING_ROOTS:
            self._sampling.start()
            self._unused_gradients()
        if step == GRAPH_STEP:
            self._unused_forwards()
        if step == OPERATOR_STEP - 1 and not self.watch.facts["compile"]:
            self._mode = _operators(self.watch)
            self._mode.__enter__()
        if step == OPERATOR_STEP and self._mode is not None:
            self._end_mode()
            self._read_operators()
        if KEPT_FROM <= step < KEPT_FROM + KEPT_STEPS:
            self._keep(step)
        if self._tracer:
            self._tracer.after_step(step)

    def _at_forward(self, module: Any, args: Any) -> None:
        if not FINDING_ROOTS <= self._step <= KEPT_FROM:
            return
        for one in tensors(args):
            if pads := padding(one):
                self._padding.append((pads[2], 1 - pads[1] / pads[0]))
        if self._step == OPERATOR_STEP - 1 and any(True for _ in module.parameters()):
            if module is not self._root:
                self._root, self._arguments = module, []
            self._arguments.append(args)

    def _after_forward(self, module: Any, output: Any) -> None:
        if self._step == GRAPH_STEP - 1 and (nodes := _nodes(output)):
            self._forwards.append((nodes, self.watch.places.line(sys._getframe(2))))

    def _at_backward(self, loss: Any) -> None:
        ahead = _nodes(loss) if self._step == GRAPH_STEP - 1 else []
        while ahead and len(self._reached) < NODES:
            node = ahead.pop()
            if node is not None and node not in self._reached:
                self._reached.add(node)
                ahead += [following for following, _ in node.next_functions]

    # -- what it reads

    def _sample(self) -> None:
        sys.setswitchinterval(SWITCH)  # else Python code is seen where it gives way, every 5 ms
        while not self._stop.wait(EVERY):
            frame = sys._current_frames().get(self._main)
            if frame is not None:
                ours = frame.f_code.co_filename.startswith(HERE)
                region = "diagnose" if ours else self.watch.region
                self.samples[region, self.watch.places.line(frame)] += 1

    def _unused_gradients(self) -> None:
        found = unused(self.watch)
        self.found.unused_parameters = len(found)
        self.found.unused_gradients = sum(p.numel() for p in found)
        trained = parameters(self.watch.optimizers.values())
        self.found.trained_parameters = sum(p.numel() for p in trained)

    def _unused_forwards(self) -> None:
        lost = [line for nodes, line in self._forwards if not self._reached.intersection(nodes)]
        self.found.unused_forwards = float(len(lost))
        self.found.unused_forward = lost[0] if lost else NOWHERE
        self._forwards, self._reached = [], set()

    def _read_operators(self) -> None:
        log = self._mode
        whole = sum(log.bytes.values()) or 1.0
        self.found.float64_share = log.bytes["torch.float64"] / whole
        self.found.operators, self.found.small_operators = log.count, log.small.total()
        written = {at: n for (where, at), n in log.small.items() if where != "backward"}
        self.found.small_line = max(written, key=lambda at: written[at], default=NOWHERE)
        length, turns, at = loop(log.calls)
        if turns >= LEAST_REPEATS and turns == self.watch.batch_size:
            self.found.per_sample_share = length * turns / max(len(log.calls), 1)
            self.found.per_sample = log.lines[at]

    def _keep(self, step: int) -> None:
        """Notes the bytes of the Python tensors that are alive after a step."""
        alive = self._live()
        storages = [
            x.untyped_storage() for x in alive
            if x.layout == self.watch.torch.strided and x.device.type != "meta"
        ]  # fmt: skip
        self._first_ids = self._first_ids or {id(x) for x in alive}
        sizes = {one.data_ptr(): one.nbytes() for one in storages}
        self._alive.append((step, float(sum(sizes.values()))))

    def _live(self) -> list[Any]:
        torch = self.watch.torch
        kinds = (torch.Tensor, torch.nn.Parameter)
        return [x for x in gc.get_objects() if type(x) in kinds]

    def _kept_by(self) -> None:
        """The holder of the added tensors, if all late steps have more than early ones."""
        sizes = [size for _, size in self._alive]
        third = len(sizes) // 3
        if third < 2 or max(sizes[:third]) >= min(sizes[-third:]):
            return
        steps = self._alive[-1][0] - self._alive[third - 1][0]
        per_step = (statistics.median(sizes[-third:]) - statistics.median(sizes[:third])) / steps
        if per_step < KEPT_LEAST:
            return
        self.found.kept_bytes = per_step
        come = [x for x in self._live() if id(x) not in self._first_ids][:2000]
        holding = [h for x in come for h in gc.get_referrers(x) if isinstance(h, HOLDERS)]
        things = {id(holder): holder for holder in holding}
        for which, count in Counter(map(id, holding)).most_common(5):
            name, line = self._named(things[which])
            if name and count >= 3:
                self.found.kept, self.found.kept_line = name, line
                return

    def _named(self, thing: Any) -> tuple[str, Line]:
        """A container's name in the reader's code, and the line that adds to it."""
        frame = sys._current_frames().get(self._main)
        while frame is not None:
            file = frame.f_code.co_filename
            if self.watch.places.is_theirs(file):
                for names in (frame.f_locals, frame.f_globals):
                    for name, value in list(names.items()):
                        if value is thing:
                            return name, (file, _adds_to(file, name))
                        for field, inside in vars(value).items() if _has_dict(value) else ():
                            if inside is thing:
                                return f"{name}.{field}", (file, _adds_to(file, field))
            frame = frame.f_back
        return "", NOWHERE

    def _batch_once(self) -> None:
        """Seconds that one call for the whole batch saves, forward and backward of the module."""
        torch, calls = self.watch.torch, self._arguments
        if not self.found.per_sample_share or len(calls) < LEAST_REPEATS:
            return
        inputs = [call[0].detach() for call in calls if len(call) == 1]
        if len(inputs) != len(calls):
            return
        whole = torch.cat(inputs)

        def run(batches: list[Any]) -> float:
            begin = time.perf_counter()
            sum(self._root(x).float().square().mean() for x in batches).backward()
            return time.perf_counter() - begin

        try:
            times = [(run(inputs), run([whole])) for _ in range(4)][1:]
        except Exception:
            return  # the module takes no batch: the gain stays unknown
        slow, fast = (statistics.median(one) for one in zip(*times, strict=True))
        self.found.per_sample_gain = max(slow - fast, 0.0)

    def _start_seconds(self) -> float:
        """Seconds that an operator on a single number takes here, forward and backward.

        A link of the chain is three operators: a sine, and its cosine and product backward. The
        mean of many: what other programs take from a step, they take from these too.
        """
        x, links, begin = self.watch.torch.zeros((), requires_grad=True), 0, time.perf_counter()
        while time.perf_counter() - begin < STARTING_SECONDS:
            y = x
            for _ in range(50):
                y = y.sin()
            y.backward()
            links += 50
        return (time.perf_counter() - begin) / (3 * links)

    def stop(self) -> None:
        """Ends the sampling; the dispatch mode and the trace too, where the run ended in them."""
        self._stop.set()
        sys.setswitchinterval(self._switching)
        self._end_mode()
        if self._tracer:
            self._tracer.stop()

    def _end_mode(self) -> None:
        if self._mode is not None and self._mode.on:
            self._mode.__exit__(None, None, None)
            self._mode.on = False

    def look(self) -> Look:
        """All that was found; after the last step, in the process that ran it."""
        self.stop()
        self._batch_once()
        self.found.start_seconds = self._start_seconds()
        if self._tracer:
            self.found.traced = self._tracer.read(self.watch.main)
        if self._padding:
            self.found.padded_share = statistics.mean(share for share, _ in self._padding)
            self.found.padded_everywhere = statistics.mean(cut for _, cut in self._padding)
        self.found.samples = [
            Sample(region, *line, count) for (region, line), count in self.samples.items()
        ]
        return self.found


def _operators(watch: Watch) -> Any:
    """A dispatch mode that notes each operator: what it wrote, and on which parameters."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Operators(TorchDispatchMode):
        def __init__(self) -> None:
            super().__init__()
            self.bytes: Counter[str] = Counter()
            self.calls: list[tuple[Any, ...]] = []
            self.lines: list[Line] = []
            self.small: Counter[tuple[str, Line]] = Counter()  # by region and the reader's line
            self.count, self.on = 0, True
            self.parameters = {
                p.data_ptr() for m in watch.roots.values() for p in m.parameters()
            }  # fmt: skip

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            out = func(*args, **(kwargs or {}))
            self.count += watch.region != "data"
            for x in tensors(out):
                self.bytes[str(x.dtype)] += x.numel() * x.element_size()
            line = watch.places.line(sys._getframe(1))
            touched = sum(x.numel() * x.element_size() for x in tensors((args, out)))
            if touched <= SMALL_BYTES and watch.region not in ("data", "optimizer"):
                self.small[watch.region, line] += 1
            if watch.region in ("forward", "outside"):
                used = [x.data_ptr() for x in tensors(args) if x.layout == torch.strided]
                self.calls.append((func, *(p for p in used if p in self.parameters)))
                self.lines.append(line)
            return out

    return Operators()


def loop(calls: list[Any]) -> tuple[int, int, int]:
    """The longest stretch of calls that repeats itself: operators in a turn, turns, where.

    A turn must use a parameter: the layers of a model use others each, the samples of a batch
    the same.
    """
    best = (0, 0, 0)
    for length in range(1, min(LONGEST_LOOP, len(calls) // 2) + 1):
        run = 0
        for i in range(length, len(calls) + 1):
            if i < len(calls) and calls[i] == calls[i - length]:
                run += 1
                continue
            turns = run // length + 1
            at = i - run - length
            if (
                turns > 2
                and length * turns > best[0] * best[1]
                and any(len(call) > 1 for call in calls[at : at + length])
            ):
                best = length, turns, at
            run = 0
    return best


def _nodes(outputs: Any) -> list[Any]:
    """The graph's nodes that made these."""
    return [x.grad_fn for x in tensors(outputs) if x.grad_fn is not None]


def _has_dict(value: Any) -> bool:
    return hasattr(value, "__dict__") and not isinstance(value, type(sys) | type)


def _adds_to(file: str, name: str) -> int:
    """The first line that adds to what has this name; 0 where none does."""
    adds = re.compile(rf"\b{re.escape(name)}(\.(append|extend|add|insert)\(|\[.*\]\s*=|\s*\+=)")
    lines = enumerate(linecache.getlines(file), 1)
    return next((number for number, text in lines if adds.search(text)), 0)
