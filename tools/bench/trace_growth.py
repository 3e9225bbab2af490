"""How the time of opening a trace's page, and of moving through it, grows with its events.

    python -m tools.bench.trace_growth [EVENTS or TRACE ...]

A made trace is a training run: steps of layers, each with operators in operators that launch a
kernel, a backward pass on a thread of its own, messages on a stream of theirs, a loader before
and a call that waits after each step. Measured are, for each: seconds to read it and to make the
page, from giving the browser its file to the first drawing, and for a frame with all of it and
with a tenth (the shortest of a few, each until the browser has painted).
"""

import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import count, pairwise
from pathlib import Path
from shutil import which
from typing import Any

from course_utils.traces.page.page import trace_page
from course_utils.traces.reading import read_trace

EVENTS = (10_000, 100_000, 1_000_000)
LAYERS, LAUNCH = 50, 4  # layers of a step; µs
WORKS = ("aten::linear", "aten::addmm"), ("AddmmBackward0", "aten::mm")
Event = dict[str, Any]
PAINTED = """async (share) => {
    const took = []
    for (let turn = 0; turn < 5; turn++) {
        const begun = performance.now(), span = share * t.length
        zoomTo(turn * 0.01 * t.length, turn * 0.01 * t.length + span)
        await new Promise(painted => requestAnimationFrame(() => setTimeout(painted)))
        took.push(performance.now() - begun)
    }
    return Math.min(...took)
}"""


def training(least: int) -> Iterator[Event]:
    """The events of at least so many, in whole steps; times in µs."""
    made, at, chance = 0, 0, random.Random(5)
    for step in count():
        if made >= least:
            return
        for event in _step(step, at, chance):
            made += 1
            yield event
            at = max(at, event["ts"] + event["dur"])


def _step(step: int, begun: int, chance: random.Random) -> Iterator[Event]:
    loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    yield _span("user_annotation", loader, begun, 200)
    at, free, called = begun + 220, begun, step * 4 * LAYERS
    for turn in range(2 * LAYERS):
        backward, called = turn >= LAYERS, called + 1
        thread, (outer, inner) = 2 if backward else 1, WORKS[backward]
        if backward:
            around = f"autograd::engine::evaluate_function: {outer}"
            yield _span("cpu_op", around, at - 2, 30, thread)
        yield _span("cpu_op", outer, at, 26, thread)
        yield _span("cpu_op", inner, at + 3, 20, thread)
        yield _span("cuda_runtime", "cudaLaunchKernel", at + 9, LAUNCH, thread, correlation=called)
        free = max(free, at + 15)
        name = f"void gemm_kernel<float, {turn % 7}>(float*, float*)"
        took = chance.randrange(10, 60)
        yield _on_gpu(name, free, took, 7, called)
        free += took
        if backward and turn % 10 == 9:
            message = called + 2 * LAYERS
            yield _span("cuda_runtime", "cudaLaunchKernel", at + 24, 2, thread, correlation=message)
            yield _on_gpu("ncclDevKernel_AllReduce_Sum_f32", free, 150, 20, message)
        at += 32 + chance.randrange(12)
    yield _span("cuda_runtime", "cudaStreamSynchronize", at, max(free - at, 0) + 5)
    end = max(at, free) + 10
    yield _span("user_annotation", f"ProfilerStep#{step}", begun, end - begun)


def _span(cat: str, name: str, ts: int, dur: int, tid: int = 1, **args: Any) -> Event:
    event = {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur}
    return {**event, "args": args}


def _on_gpu(name: str, ts: int, dur: int, stream: int, called: int) -> Event:
    args = {"device": 0, "stream": stream, "correlation": called}
    return {**_span("kernel", name, ts, dur, stream), "pid": 0, "args": args}


def measured(file: Path, browser: Any) -> str:
    """A trace's row: what each took."""
    times = [time.perf_counter()]
    trace = read_trace(file)
    times.append(time.perf_counter())
    page = trace_page(trace, file.name).save(file.with_suffix(".html"))
    times.append(time.perf_counter())
    sheet = browser.new_page(viewport={"width": 1366, "height": 768})
    sheet.goto(page.as_uri())
    sheet.wait_for_selector("html[data-ready]", state="attached", timeout=120_000)
    times.append(time.perf_counter())
    read, made, opened = (after - before for before, after in pairwise(times))
    frames = [sheet.evaluate(PAINTED, share) for share in (1.0, 0.1)]
    sheet.close()
    return (
        f"{len(trace.start):>9,} events: read {read:.2f} s, made {made:.2f} s, "
        f"{page.stat().st_size / 1e6:.1f} MB, opened {opened:.2f} s, a frame {frames[0]:.0f} ms, "
        f"of a tenth {frames[1]:.0f} ms"
    )


def main(asked: list[str]) -> None:
    """Prints a row for each size, or for each trace that is there."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as kept:
        flags = ["--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=which("chromium"), args=flags)
        for one in asked or map(str, EVENTS):
            file = Path(kept) / Path(one).name
            if one.isdecimal():
                file = file.with_suffix(".json")
                file.write_text(json.dumps({"traceEvents": list(training(int(one)))}))
            else:
                file.write_bytes(Path(one).read_bytes())
            print(f"{file.name}: {measured(file, browser)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
