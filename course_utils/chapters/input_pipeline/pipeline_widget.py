"""A widget: load, step, workers and depth move; the timeline shows who waits for whom."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any

from course_utils.chapters.input_pipeline.pipeline import Batch, Run, simulate
from course_utils.core.measurement import format_seconds
from course_utils.figures import alt_text, style
from course_utils.figures.controls import Controls, slider

# ---- What holds an epoch up, and which of workers, depth, load and step is worth moving next.

WORKERS, DEPTHS = range(9), range(1, 9)  # that there are to choose from
WORTH = 0.05  # of an epoch: what saves less isn't worth a move


@dataclass(frozen=True)
class Setting:
    """An epoch whose workers and depth are still to choose; times in seconds."""

    loads: Sequence[float]
    step: float
    start: float  # of one worker

    @property
    def mean_load(self) -> float:
        return sum(self.loads) / len(self.loads)

    @property
    def keep_up(self) -> int:
        """The fewest workers that load as fast as the device works: load / step, rounded up."""
        return max(1, math.ceil(self.mean_load / self.step - 1e-9))

    def run(self, workers: int, depth: int) -> Run:
        return simulate(self.loads, self.step, workers, depth, self.start)

    def diagnosis(self, workers: int, depth: int) -> tuple[str, str]:
        """Says what the device waits for, and what to move next, as HTML."""
        if not workers:
            return "loading and steps take turns", self._more_workers(depth)
        if workers < self.keep_up:
            return "the loader is the bottleneck", self._more_workers(depth)
        run = self.run(workers, depth)
        if run.idle_later > WORTH * run.seconds:
            return "slow batches come too late", self._uneven(run, workers, depth)
        spare = f", and <b>{self.keep_up}</b> would do" if workers > self.keep_up else ""
        if run.started > WORTH * run.seconds and run.started > run.idle / 2:
            took = f"takes {written(run.started)}, once if persistent_workers is set"
            started = f"The workers keep up{spare}. Starting {workers} {took}"
            return "first its workers have to start", started
        busy = f"The workers keep up{spare}. Now only a quicker step shortens the epoch"
        return "it is the bottleneck itself", busy

    def _more_workers(self, depth: int) -> str:
        enough = f"load / step = {self.mean_load / self.step:.3g}: <b>{self.keep_up}</b>"
        if self.keep_up not in WORKERS:
            return f"{enough} workers would keep up. Make loading cheaper"
        then = written(self.run(self.keep_up, depth).seconds)
        keep_up = "worker keeps" if self.keep_up == 1 else "workers keep"
        return f"{enough} {keep_up} up, a core for each: {then} in all"

    def _uneven(self, run: Run, workers: int, depth: int) -> str:
        sent, slowest = depth * workers, written(max(self.loads))
        said = f"depth · workers = {sent} batches are sent ahead: {written(sent * self.step)}"
        said += f" of steps; a slow one loads {slowest}"
        times = {deeper: self.run(workers, deeper).seconds for deeper in DEPTHS}
        good = min(d for d in DEPTHS if times[d] <= min(times.values()) * (1 + WORTH / 5))
        if times[good] < run.seconds * (1 - WORTH):
            return f"{said}. Move the depth to <b>{good}</b>: {written(times[good])} in all"
        return f"{said}. More depth doesn't help: make the slow ones cheaper"


def written(seconds: float) -> str:
    """Seconds that follow from the model, in their unit and without the ≈ of a measurement."""
    return format_seconds(seconds).removeprefix("≈ ")


MILLISECONDS = (1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 50.0, 70.0, 100.0, 150.0, 200.0)
EVEN, DEPTH = 1, 2  # batches that take equally long, and DataLoader's own depth
SLOW_PLACES = (7, 3, 6, 1)  # in each 8 batches, by turns: different workers are dealt them
WAITS = "device waits"
COLOURS = {
    "start": style.KINDS["launch"],
    "load": style.KINDS["return"],
    "slow load": "#E69F00",
    "step": style.KINDS["compute"],
    WAITS: "#CC3311",
}
ALT = "An epoch by the model: workers load, batches wait, the device works or waits"
NOTE_POINTS, EDGE_POINTS = 8, 3  # of a batch's number; of a bar with a white edge, at least
LANE_POINTS = 480  # the length of a lane, about
Bars = list[tuple[float, float, float, str]]  # lane, begin and seconds, and what stands in it


def pipeline_explorer(
    load: float, step: float, start: float, batches: int = 30, workers: int = 2, slow: int = EVEN
) -> Controls:
    """Sliders over an epoch of `batches` batches, by the model; they begin at what is given.

    In seconds: `load` to load a batch, `step` on the device, `start` to start one worker. One batch
    in 8 takes `slow` times `load`.
    """
    own = _milliseconds(load), _milliseconds(step)
    return Controls(
        partial(_draw, start=start, batches=batches),
        ALT,
        load=slider("load (ms a batch)", _along(own[0]), own[0]),
        step=slider("step (ms)", _along(own[1]), own[1]),
        workers=slider("workers", WORKERS, workers),
        depth=slider("depth", DEPTHS, DEPTH),
        slow=slider("1 batch in 8 takes ×", (EVEN, 2, 4, 8), slow),
    )


def loads_of(load: float, slow: int, batches: int) -> list[float]:
    """Seconds that each batch takes to load: `load`, and `slow` times that for one in 8."""
    slow_ones = {8 * k + SLOW_PLACES[k % len(SLOW_PLACES)] for k in range(batches // 8 + 1)}
    return [load * (slow if i in slow_ones else 1) for i in range(batches)]


def _milliseconds(seconds: float) -> float:
    """Three digits, as the slider shows them."""
    return float(f"{1000 * seconds:.3g}")


def _along(own: float) -> list[float]:
    """The slider's values, with the page's own in place of the nearest."""
    nearest = min(MILLISECONDS, key=lambda value: abs(math.log(value / own)))
    return [own if value == nearest else value for value in MILLISECONDS]


def _draw(
    load: float,
    step: float,
    workers: int,
    depth: int,
    slow: int,
    *,
    start: float,
    batches: int,
) -> tuple[style.Picture, str]:
    """The timeline of what the sliders say; as HTML how long it takes, and what to move next."""
    setting = Setting(loads_of(load / 1000, slow, batches), step / 1000, start)
    run = setting.run(workers, depth)
    said = f"{batches} batches take <b>{written(run.seconds)}</b>, simulated"
    cause, advice = setting.diagnosis(workers, depth)
    title = f"The device waits ≈ {run.idle_share:.0%} of the time: {cause}"
    return draw_run(run, workers, title), f"{said}<br>{advice}."


@style.styled
def draw_run(run: Run, workers: int, title: str) -> style.Picture:
    """Lanes of each worker, of batches that wait, and of the device."""
    end = run.seconds
    scale, unit = style.axis_unit(end, "seconds")
    figure, axes = style.one_panel(title, 3.3)
    names = [f"worker {k}" for k in range(workers)] or ["main process"]
    waiting, device = len(names) + 0.3, len(names) + 1.6  # their middles; a lane's are whole
    bars_of = _bars(run, workers, device, scale)
    for name, bars in bars_of.items():
        _draw_bars(axes, name, bars, end / scale)
    most = _draw_waiting(axes, run.batches, waiting + 0.65, scale)
    axes.annotate(f"ready: up to {most}" if most else "ready: none", (0, waiting), (-4, 0),
                  xycoords=("axes fraction", "data"), textcoords="offset points",
                  ha="right", va="center")  # fmt: skip
    axes.set_yticks([*range(len(names)), device], [*names, "device"])
    axes.set(ylim=(device + 0.5, -0.5), xlim=(0, 1.01 * end / scale), xlabel=unit)
    axes.tick_params(axis="y", length=0)
    handles = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    named = sorted(handles, key=lambda name: [*COLOURS, name].index(name))
    axes.legend([handles[name] for name in named], named, loc="lower right", ncols=6,
                bbox_to_anchor=(1, 0.99), frameon=False, handlelength=1, fontsize=10,
                borderaxespad=0)  # fmt: skip
    lanes: dict[float, str] = {**dict(enumerate(names)), device: "device"}
    said = [f"{len(run.batches)} batches: {alt_text.local(title)}", *_told(lanes, bars_of, unit)]
    waits = sum(seconds for _, _, seconds, _ in bars_of[WAITS])
    said.append(f"  device waits: {alt_text.amount(waits, live=True)} {alt_text.SHORT[unit]}")
    said.append(f"  ready: {alt_text.local(f'up to {most}')}")
    return style.render(figure, ALT, said)


def _told(lanes: Mapping[float, str], bars_of: Mapping[str, Bars], unit: str) -> Iterator[str]:
    """The lanes in lines; how often the device waits differs from machine to machine."""
    for lane, name in lanes.items():
        found = [
            (kind, begun, begun + seconds, note)
            for kind, bars in bars_of.items()
            for at, begun, seconds, note in bars
            if at == lane and kind != WAITS
        ]
        yield alt_text.spans(name, found, unit, live=True)


def _bars(run: Run, workers: int, device: float, scale: float) -> dict[str, Bars]:
    """The bars of each kind, by its name in the legend; `scale` seconds are a unit."""
    one, usual = run.started / max(workers, 1), min(b.ready - b.begun for b in run.batches)
    bars: dict[str, Bars] = {name: [] for name in COLOURS}
    bars["start"] = [(k, k * one / scale, one / scale, "") for k in range(workers) if one]
    free = 0.0
    for i, batch in enumerate(run.batches):
        seconds, lane = batch.ready - batch.begun, batch.worker or 0
        kind = "slow load" if seconds > 1.5 * usual else "load"
        bars[kind].append((lane, batch.begun / scale, seconds / scale, str(i)))
        if batch.taken > free:
            bars[WAITS].append((device, free / scale, (batch.taken - free) / scale, ""))
        step = batch.done - batch.taken
        bars["step"].append((device, batch.taken / scale, step / scale, str(i)))
        free = batch.done
    return bars


def _draw_bars(axes: "style.Axes", name: str, bars: Bars, end: float) -> None:
    """Bars of one kind."""
    if not bars:
        return
    left, width = [bar[1] for bar in bars], [bar[2] for bar in bars]
    room = min(width) / end * LANE_POINTS
    look: Any = {"facecolor": COLOURS[name], "label": name, "in_layout": False}
    if name == WAITS:
        spans = list(zip(left, width, strict=True))
        axes.broken_barh(spans, (bars[0][0] - 0.36, 0.72), linewidth=0, **look)
        return
    edge = "white" if room > EDGE_POINTS else COLOURS[name]  # which a bar without width has too
    lanes = [bar[0] for bar in bars]
    axes.barh(lanes, width, left=left, height=0.72, edgecolor=edge, linewidth=0.5, **look)
    if room < 1.5 * NOTE_POINTS:
        return
    for lane, begun, seconds, note in bars:
        axes.text(begun + seconds / 2, lane, note, ha="center", va="center_baseline",
                  fontsize=NOTE_POINTS, in_layout=False)  # fmt: skip


def _draw_waiting(axes: "style.Axes", batches: Sequence[Batch], floor: float, scale: float) -> int:
    """Draws the number of batches that are ready, as steps above `floor`; returns the largest."""
    changes = Counter({0.0: 0})
    for batch in batches:
        changes[batch.ready] += 1
        changes[batch.taken] -= 1
    moments = sorted(changes)
    counts = list(accumulate(changes[moment] for moment in moments))
    tops = [floor - 1.15 * count / max(*counts, 1) for count in counts]
    times = [moment / scale for moment in moments]
    axes.fill_between(times, tops, floor, step="post", color="#999999", linewidth=0)
    return max(counts)
