"""Training runs with a planted fault, simulated, as Kineto would have written them; times in µs.

The host's threads dispatch operators, streams run kernels in order. `Run(without=cause)` simulates
the same program with everything of that cause taking no time: the time it saves is what the cause
costs, found without looking for idle stretches in a trace.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count

from snapshots_and_traces.tests.support.traces import LOADER, span, write

BEGIN = 4_458_676_522_690.0  # a clock as Kineto's: nothing begins at 0
CALL = LATENCY = RETURN = 5  # a launch, until its kernel begins, until a wait is over
DISPATCH = 25  # from one operator to the next, the launch included
GAP = DISPATCH + LATENCY + RETURN  # after a fault, at most, until the device has work again
QUEUE = 1024  # launches that wait; the next launch blocks
MAIN, AUTOGRAD, OTHER, NCCL = 100, 101, 150, 20
GEMM = "ampere_sgemm_128x64_tn"
REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
GPUS = {"deviceProperties": [{"id": 0, "name": "NVIDIA A100"}, {"id": 1, "name": "NVIDIA A100"}]}


class Run:
    """A process with one GPU. Each method does what its name says on the present thread."""

    def __init__(self, without: str = "", pid: int = 100, device: int = 0) -> None:
        self.without, self.pid, self.device = without, pid, device
        self.thread, self.ids = MAIN, count(1000 * pid)
        self.clock: dict[int, float] = defaultdict(float)
        self.free: dict[int, float] = defaultdict(float, {7: 0.0})  # by stream: when it is done
        self.begun: list[float] = []  # of the kernels
        self.events: list[dict] = []
        self.spent: Counter[str] = Counter()  # by cause, how often it took time

    @property
    def now(self) -> float:
        return self.clock[self.thread]

    def cost(self, cause: str, took: float) -> float:
        self.spent[cause] += 1
        return 0 if cause == self.without else took

    def spend(self, cause: str, took: float) -> None:
        self.clock[self.thread] += self.cost(cause, took)

    def wait_until(self, moment: float) -> None:
        self.clock[self.thread] = max(self.now, moment)

    def add(self, cat: str, name: str, begin: float, end: float, **args) -> None:
        self.events.append(span(cat, name, BEGIN + begin, end - begin, self.thread, self.pid))
        self.events[-1]["args"] = args

    @contextmanager
    def within(self, name: str, cat: str = "cpu_op") -> Iterator[None]:
        begin = self.now
        yield
        self.add(cat, name, begin, self.now)

    def note(self, name: str):
        return self.within(name, "user_annotation")

    @contextmanager
    def frames(self, *lines: str, cat="python_function") -> Iterator[None]:
        """Python's functions around this, as `with_stack=True` records them."""
        with ExitStack() as stack:
            for line in lines:
                stack.enter_context(self.within(line, cat))
            yield

    @contextmanager
    def on(self, thread: int) -> Iterator[None]:
        """On another thread, for which the present one waits."""
        caller, begin = self.thread, self.now
        self.thread = thread
        self.wait_until(begin)
        yield
        end, self.thread = self.now, caller
        self.wait_until(end)

    def beside(self, cat: str, name: str) -> None:
        """Something that another thread did all the time, for which nobody waits."""
        caller, end = self.thread, self.now
        self.thread = OTHER
        self.add(cat, name, 0, end)
        self.thread = caller

    def steps(self, number: int) -> Iterator[int]:
        for step in range(number):
            self.number = step
            with self.note(f"ProfilerStep#{step + 10}"):
                yield step

    # What the host does

    def operators(self, number: int, took: float, name="aten::addmm", kernel=GEMM, **how) -> None:
        """Each with one kernel that takes so long."""
        for _ in range(number):
            with self.within(name):
                self.spend("launching", 10)
                self.launch(kernel, took, **how)
                self.spend("launching", 5)
            self.spend("launching", DISPATCH - CALL - 15)

    def zero(self, took: float) -> None:
        with self.within("aten::zero_"):
            self.launch("Memset (Device)", took, "copying", "gpu_memset")

    def backward(self, number: int, took: float) -> None:
        with self.on(AUTOGRAD):
            for _ in range(number):
                with self.within("autograd::engine::evaluate_function: AddmmBackward0"):
                    self.operators(1, took, "aten::mm")

    def step(self, number=20, took=200) -> None:
        """Forward, backward and optimizer; the GPU has 2½ · number · took to do."""
        self.operators(number, took)
        self.backward(number, took)
        with self.note("Optimizer.step#AdamW.step"):
            self.operators(number // 4, 2 * took, "aten::_fused_adamw_", "multi_tensor_apply")

    def load(self, took: float, name=LOADER) -> None:
        with self.note(name):
            self.spend("data", took)

    def python(self, took: float, *lines: str, cat="python_function") -> None:
        with self.frames(*lines, cat=cat):
            self.spend("python", took)

    def on_cpu(self, name: str, took: float) -> None:
        with self.within(name):
            self.spend("operators", took)

    def ranks(self, took: float, name: str, cat="cpu_op") -> None:
        with self.within(name, cat):
            self.spend("ranks", took)

    def allocate(self, took: float, *names: str) -> None:
        """Calls of the driver; cudaFree waits until the device is done."""
        with self.within("aten::empty"):
            for name in names:
                with self.within(name, "cuda_runtime"):
                    if name == "cudaFree" and self.without != "allocating":
                        self.wait_until(max(self.free.values()))
                    self.spend("allocating", took)

    def wait(self, name="cudaStreamSynchronize") -> None:
        self.spent["synchronising"] += 1
        if self.without != "synchronising":
            with self.within(name, "cuda_runtime"):
                self.wait_until(max(self.now, *self.free.values()) + RETURN)

    def item(self) -> None:
        with self.within("aten::item"), self.within("aten::_local_scalar_dense"):
            self.spend("launching", 10)
            self.launch("Memcpy DtoH (Device -> Pinned)", 2, "", "gpu_memcpy")
            self.wait()

    def copy(self, kind: str, took: float, *lines: str, blocks=False) -> None:
        with self.frames(*lines), self.within("aten::copy_"):
            self.spend("launching", 10)
            self.launch(f"Memcpy {kind}", took, "copying", "gpu_memcpy", blocks=blocks)
        self.spend("launching", 10)

    def collective(self, operator: str, note: str, kernel: str, took: float, join=True) -> None:
        """On NCCL's stream, after what was launched before; with `join` what follows waits."""
        with self.within(operator), self.note(note):
            self.spend("launching", 30)
            self.free[NCCL] = max(self.free[NCCL], self.free[7])
            self.launch(kernel, took, "communication", stream=NCCL)
        if join:
            self.free[7] = max(self.free[7], self.free[NCCL])
        self.spend("launching", 10)

    # What the device does

    def launch(self, name, took, cause="computing", cat="kernel", *, stream=7, loads=0, late=0,
               blocks=False, number=1) -> None:  # fmt: skip
        """A kernel or copy, `number` of a CUDA graph; its call loads for so long, or blocks.

        `late` is how long it waits for something that isn't in the trace.
        """
        link = next(self.ids)
        call = {"gpu_memcpy": "cudaMemcpyAsync", "gpu_memset": "cudaMemsetAsync"}.get(cat)
        begin = self.now
        if len(self.begun) >= QUEUE:
            self.wait_until(self.begun[-QUEUE])
        if loads:
            self.spend("loading", loads)
        begins = max(self.now + LATENCY, self.free[stream]) + self.cost("other", late)
        self.spend("launching", CALL)
        for _ in range(number):
            self.begun.append(begins)
            ends = begins + self.cost(cause, took)
            self.add_on_device(cat, name, begins, ends, stream, link)
            begins = self.free[stream] = ends
        if blocks and self.without != "synchronising":
            self.wait_until(begins)
        self.spent["synchronising"] += blocks
        call = call or ("cudaLaunchKernel" if number == 1 else "cudaGraphLaunch")
        self.add("cuda_runtime", call, begin, self.now, correlation=link)

    def add_on_device(self, cat, name, begin, end, stream, link) -> None:
        where = {"device": self.device, "stream": stream, "correlation": link}
        event = span(cat, name, BEGIN + begin, end - begin, stream, self.device, **where)
        self.events.append(event)

    # What is found out

    def of(self, *cats: str) -> list[dict]:
        return [event for event in self.events if event["cat"] in cats]

    @property
    def window(self) -> float:
        """From the first step to the end of the last, or of what it launched; or all of it."""
        steps = [event for event in self.events if event["name"].startswith("ProfilerStep")]
        last = steps + self.of("kernel", "gpu_memcpy", "gpu_memset") if steps else self.events
        ends = max(event["ts"] + event["dur"] for event in last)
        return ends - min(event["ts"] for event in steps or self.events)

    def write(self, folder, *others: dict):
        return write(folder / "trace.json", [*self.events, *others], **(GPUS if self.begun else {}))
