"""A widget: the bytes of all segments on a map, and a slider through time."""

from typing import Any

import numpy as np

from course_utils.figures.style import Picture
from course_utils.memory.views.pictures import MAP_COLOURS, draw_segments, map_text, mixed
from course_utils.memory.views.segments import MemoryMap
from course_utils.memory.views.view import MemoryView, script
from course_utils.memory.views.words import allocation_lines, moment_text, size_text

MOST_MARKS = 4000


class SegmentsMap(MemoryView):
    """Move the slider, and see blocks come and go; point at a place to learn what lies there."""

    _esm = script("segments_map.js")

    def _begin(self) -> None:
        self.layout_of = MemoryMap(self.history)
        self.do_go(self.history.peak)

    def do_go(self, moment: int) -> None:
        """Shows a moment."""
        self.shown = self.layout_of.at(int(moment))
        self.picked = []

    def do_look(self, cell: int) -> None:
        """Says what lies at a cell; -1 for none."""
        if cell < 0:
            self.picked = []
            return
        segment, block = self.layout_of.find(self.shown.moment, cell)
        if segment < 0:
            self.picked = ["the driver has these addresses back, or never gave them yet"]
            return
        lives = self.history.ranges
        kind = "page" if segment >= self.history.first_page else "segment"
        where = f"in a {kind} of {size_text(int(lives.size[segment]))}"
        where += f" at {int(lives.address[segment]):#x}"
        lines = allocation_lines(self.history, block) if block >= 0 else ["free"]
        self.picked = [*lines[:1], where, *lines[1:]]

    def _words(self) -> dict[str, Any]:
        rows, cells = self.layout_of.shape
        return {
            "rows": rows,
            "cells": cells,
            "last": self.history.moments - 1,
            "peak": self.history.peak,
            "moment": self.shown.moment,
            "event": moment_text(self.history, self.shown.moment),
            "reading": map_text(self.shown),
            "row_text": f"{size_text(self.layout_of.cell_bytes * cells)} a row",
            "kinds": [
                [name, colour, size_text(size)]
                for (name, size), colour in zip(
                    self.shown.bytes_by_kind.items(), MAP_COLOURS, strict=True
                )
            ],
        }

    def _numbers(self) -> bytes:
        """The colours of the cells, four bytes each, then where segments begin, in cells."""
        colours = (mixed(self.layout_of, self.shown) * 255).round().astype(np.uint8)
        marks = self.shown.segments[:MOST_MARKS] / self.layout_of.cell_bytes
        return colours.tobytes() + marks.astype("<f4").tobytes()

    def _still(self) -> Picture:
        return draw_segments(self.history)
