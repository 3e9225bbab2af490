"""A widget: the largest allocations and the never freed, each with its call stack to open."""

from typing import Any

from course_utils.figures.style import Picture
from course_utils.memory.views.pictures import WHICH, allocation_rows, draw_table
from course_utils.memory.views.view import MemoryView, script
from course_utils.memory.views.words import allocation_lines

COUNTS = (10, 20, 50, 100)


class AllocationTable(MemoryView):
    """Choose which to list; click a row to see who asked for it."""

    _esm = script("allocation_table.js")

    def _begin(self) -> None:
        self.which, self.count = "largest", COUNTS[0]

    def do_list(self, which: str) -> None:
        """Lists the `largest` or the `never freed`. Raises: ValueError for another word."""
        allocation_rows(self.history, which, 0)
        self.which, self.picked = which, []

    def do_count(self, count: int) -> None:
        """Lists so many."""
        self.count, self.picked = int(count), []

    def do_pick(self, row: int) -> None:
        """Says whose a row is. Raises: IndexError where there is no such row."""
        places = WHICH[self.which](self.history, self.count)
        self.picked = allocation_lines(self.history, places[row])

    def _words(self) -> dict[str, Any]:
        return {
            "kinds": list(WHICH),
            "which": self.which,
            "counts": list(COUNTS),
            "count": self.count,
            "rows": allocation_rows(self.history, self.which, self.count),
        }

    def _still(self) -> Picture:
        return draw_table(self.history)
