"""How the time and memory of opening a snapshot grow with its events.

    python -m tools.bench.snapshot_growth SNAPSHOT [EVENTS ...]

A large snapshot is a real one many times over, each copy at addresses of its own. As in torch's
files, each event has a list of frames of its own, and the frames themselves are shared: with 30 to
70 of them an event takes 160 to 410 bytes. Every size is measured in a process of its own: seconds
to load (and to unpickle alone, without checks), to the first view, for a move of the slider and for
a zoom (medians), and the most memory that the process had.
"""

import gc
import pickle
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

SHIFT = 2**42
MEASURE = "--measure"


def repeated(content: dict[str, Any], events: int) -> dict[str, Any]:
    """A snapshot of at least so many events, of one device."""
    trace = max(content["device_traces"], key=len)
    copies = range(-(-events // len(trace)))

    def moved(item: dict[str, Any], key: str, copy: int) -> dict[str, Any]:
        return {**item, key: item[key] + copy * SHIFT, "frames": [*item.get("frames", ())]}

    def segment(item: dict[str, Any], copy: int) -> dict[str, Any]:
        blocks = [moved(b, "address", copy) for b in item["blocks"]]
        return {**moved(item, "address", copy), "blocks": blocks}

    return {
        **content,
        "segments": [segment(s, copy) for copy in copies for s in content["segments"]],
        "device_traces": [[moved(e, "addr", copy) for copy in copies for e in trace]],
    }


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
            command = [sys.executable, __file__, MEASURE, file.name]
            print(
                subprocess.run(command, check=True, capture_output=True, text=True).stdout, end=""
            )


if __name__ == "__main__":
    if sys.argv[1:2] == [MEASURE]:
        print(measure(sys.argv[2]))
    else:
        main(*sys.argv[1:])
