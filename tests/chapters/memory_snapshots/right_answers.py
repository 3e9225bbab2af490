"""Right answers to chapter 9's exercises, in other ways than the worked solutions."""

from tests.chapters.memory_snapshots.wrong_answers import RISING
from tests.support.patches import by_name, changed

RETURN = 'return "leak"'
RIGHT = {
    "memory.verdict": changed(
        "memory.verdict",
        asks_what_is_missing={"tried <= free + unallocated": "tried - free - unallocated <= 0"},
        asks_what_is_left={
            "allocated + tried + context <= capacity": "tried <= capacity - context - allocated"
        },
    ),
    "memory.diagnose": changed(
        "memory.diagnose",
        a_smaller_gap={"1.33": "1.3"},
        a_larger_gap={"1.33": "1.8"},
        a_smaller_rise={RISING: RISING.replace("1.2", "1.05")},
        sorts_the_arrays_afterwards={
            RETURN: f"rising = {RISING}\n    live.sort()\n    reserved.sort()\n    {RETURN}",
            f"if {RISING} else": "if rising else",
        },
    ),
}
__getattr__ = by_name(RIGHT)
