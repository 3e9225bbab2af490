"""How the time and memory of opening a snapshot grow with its events.

    python -m tools.bench.snapshot_growth SNAPSHOT [EVENTS ...]

A large snapshot is that of a real job run many times over: each run but the last frees its blocks
and gives its segments back, the next takes them again, at the same addresses, so that what is held
at the end is what one job holds. As in torch's files, each event has a list of frames of its own,
and the frames themselves are shared: with 30 to 70 of them an event takes 100 to 500 bytes. Every
size is measured in a process of its own: seconds to load (and to unpickle alone, without checks),
to the first view, for a move of the slider and for a zoom (medians), and the most memory that the
process had.
"""

import gc
import pickle
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import cycle
from pathlib import Path
from typing import IO, Any

from course_utils.memory.snapshots.rewind import rewind
from course_utils.memory.snapshots.snapshot import Segment, loads

MEASURE = "--measure"
Events = list[dict[str, Any]]


def repeated(content: dict[str, Any], least: int) -> dict[str, Any]:
    """A snapshot of at least so many events, of the device that did most."""
    traces = content["device_traces"]
    device = max(range(len(traces)), key=lambda number: len(traces[number]))
    snapshot, trace = loads(pickle.dumps(content), "what is repeated"), traces[device]
    opening = like(trace, begun(rewind(snapshot, device).segments))
    closing = like(trace[::-1], ended(snapshot.segments(device)))
    run = [*trace, *closing, *opening]
    often = -(-max(least - len(trace), 0) // len(run))
    events = [e for count in range(often) for e in later(run, count)] + later(trace, often)
    return {
        **content,
        "segments": [s for s in content["segments"] if s.get("device", 0) == device],
        "device_traces": [[]] * device + [events],
    }


def begun(segments: Iterable[Segment]) -> Iterator[dict[str, Any]]:
    """The events that bring these segments and their blocks about."""
    for s in segments:
        action = "segment_map" if s.is_expandable else "segment_alloc"
        yield {"action": action, "addr": s.address, "size": s.total_size, "stream": s.stream}
        for b in (b for b in s.blocks if b.live):
            one = {"addr": b.address, "size": b.requested_size, "stream": s.stream}
            yield {"action": "alloc", **one}
            if b.state != "active_allocated":
                yield {"action": "free_requested", **one}


def ended(segments: Iterable[Segment]) -> Iterator[dict[str, Any]]:
    """The events after which nothing of these segments is left, in torch's order."""
    order = sorted(segments, key=lambda s: (s.kind == "small", s.total_size, s.address))
    for s in order:
        for b in (b for b in s.blocks if b.live):
            one = {"addr": b.address, "size": b.requested_size, "stream": s.stream}
            if b.state == "active_allocated":
                yield {"action": "free_requested", **one}
            yield {"action": "free_completed", **one}
    for s in order:
        action = "segment_unmap" if s.is_expandable else "segment_free"
        yield {"action": action, "addr": s.address, "size": s.total_size, "stream": s.stream}


def like(trace: Events, events: Iterable[dict[str, Any]]) -> Events:
    """The events with the stacks and other fields of those of a trace, and its first one's time."""
    models = cycle(e for e in trace if "addr" in e)
    time_us = trace[0].get("time_us", 0)
    return [
        {**model, **event, "time_us": time_us} for event, model in zip(events, models, strict=False)
    ]


def later(trace: Events, count: int) -> Events:
    """Events so many hours later, each with a list of frames of its own."""
    moved = count * 3_600_000_000
    return [
        {**e, "time_us": e.get("time_us", 0) + moved, "frames": [*e.get("frames", ())]}
        for e in trace
    ]


def write(file: IO[bytes], content: dict[str, Any], events: int) -> None:
    """Writes that snapshot to an open file, for any reader."""
    pickle.dump(repeated(content, events), file)
    file.flush()


def measure(path: str) -> str:
    """One line of the table."""
    from course_utils.memory.snapshots.snapshot import load
    from course_utils.memory.views.segments_map import SegmentsMap
    from course_utils.memory.views.timeline import MemoryTimeline

    start = time.perf_counter()
    snapshot = load(path)
    loaded, while_loading = time.perf_counter() - start, gibibytes()
    timeline = MemoryTimeline(snapshot)
    timeline._repr_mimebundle_()
    first_view = time.perf_counter() - start
    last = timeline.history.moments - 1
    segments = SegmentsMap(timeline.history)
    slider = median_seconds(segments, "go", lambda n: n * last // 20)
    zoom = median_seconds(timeline, "window", lambda n: [n * last // 40, last - n * last // 40])
    most = gibibytes()
    return (
        f"{last:>9,} events of {Path(path).stat().st_size / max(last, 1):.0f} bytes: loaded in "
        f"{loaded:.2f} s (at most {while_loading:.2f} GiB), unpickled alone in {plain(path):.2f} "
        f"s, first view after {first_view:.2f} s, slider {slider * 1e3:.0f} ms, zoom "
        f"{zoom * 1e3:.0f} ms, at most {most:.2f} GiB"
    )


def plain(path: str) -> float:
    """Seconds that Python's own unpickling takes."""
    data = Path(path).read_bytes()
    gc.disable()
    start = time.perf_counter()
    pickle.loads(data)
    return time.perf_counter() - start


def gibibytes() -> float:
    """The most memory that this process had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def median_seconds(view: Any, what: str, value: Callable[[int], Any]) -> float:
    seconds = []
    for count in range(1, 20):
        start = time.perf_counter()
        view.action = {"do": what, "with": value(count), "count": count}
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def main(source: str, *sizes: str) -> None:
    from course_utils.memory.snapshots import safe_pickle

    content = safe_pickle.read(Path(source).read_bytes())
    for size in sizes or ("10_000", "100_000", "1_000_000"):
        with tempfile.NamedTemporaryFile(suffix=".pickle") as file:
            write(file, content, int(size))
            command = [sys.executable, "-m", "tools.bench.snapshot_growth", MEASURE, file.name]
            print(
                subprocess.run(command, check=True, capture_output=True, text=True).stdout, end=""
            )


if __name__ == "__main__":
    if sys.argv[1:2] == [MEASURE]:
        print(measure(sys.argv[2]))
    else:
        main(*sys.argv[1:])
