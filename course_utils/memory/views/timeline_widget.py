"""A widget: live allocations over the events of a trace, to point at and to zoom into."""

from typing import Any

import numpy as np

from course_utils.figures.style import Picture
from course_utils.memory.views.bands import bands, groups
from course_utils.memory.views.timeline import draw_timeline
from course_utils.memory.views.view import MemoryView, script
from course_utils.memory.views.words import allocation_lines, moment_text, size_text, unit_of


class MemoryTimeline(MemoryView):
    """Point at a band to learn whose it is, click to keep it, drag over a part to zoom into it."""

    _esm = script("timeline_widget.js")

    def _begin(self) -> None:
        self.shown = bands(self.history)
        self.groups = groups(self.history)

    def do_window(self, edges: list[float]) -> None:
        """Shows the moments between two, put right where they lie outside or too close."""
        last = self.history.moments - 1
        low = int(np.clip(round(min(edges)), 0, max(last - 1, 0)))
        high = int(np.clip(round(max(edges)), min(low + 1, last), last))
        self.shown = bands(self.history, low, high)

    def do_pick(self, row: int) -> None:
        """Says what a band is; -1 for none."""
        if row < 0:
            self.picked = []
        elif self.shown.chosen[row] < 0:
            group = int(self.shown.group[row])
            most = size_text(int(self.shown.small[group].max()))
            name = self.groups[group][0]
            self.picked = [f"smaller allocations, together at most {most}: {name}"]
        else:
            self.picked = allocation_lines(self.history, int(self.shown.chosen[row]))

    def _words(self) -> dict[str, Any]:
        live, shown = self.history.live, self.shown
        most = max(
            int(live[shown.moments].max()), int(self.history.reserved[shown.moments].max()), 1
        )
        scale, unit = unit_of(most)
        peak = size_text(int(live[self.history.peak]))
        return {
            "low": shown.low,
            "high": shown.high,
            "rows": len(shown.chosen),
            "columns": len(shown.moments),
            "groups": self.groups,
            "last": self.history.moments - 1,
            "peak": self.history.peak,
            "peak_text": f"peak {peak}, {moment_text(self.history, self.history.peak)}",
            "scale": scale,
            "unit": unit,
            "top": most * 1.12,
            "start": str(self.history.start),
        }

    def _numbers(self) -> bytes:
        """Float32: moments, reserved and live bytes of the columns; of each row first, last, size,
        group and whether it is a single allocation; the rest of each group in each column."""
        shown, history = self.shown, self.history
        columns = [shown.moments, history.reserved[shown.moments], history.live[shown.moments]]
        rows = [shown.first, shown.last, shown.size, shown.group, shown.chosen >= 0]
        parts = [*columns, *rows, shown.small.ravel()]
        return np.concatenate(parts).astype("<f4").tobytes()

    def _still(self) -> Picture:
        return draw_timeline(self.history)
