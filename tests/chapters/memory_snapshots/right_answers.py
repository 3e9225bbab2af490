"""Right answers to chapter 9's exercises, in other ways than the worked solutions."""

from tests.chapters.memory_snapshots.wrong_answers import RISING
from tests.support.patches import by_name, changed

RETURN = 'return "leak"'
RIGHT = {
    "memory.find_and_split": changed(
        "memory.find_and_split",
        sorts_the_list_it_got={
            "fitting =": "free.sort(key=lambda block: (block[1], block[0]))\n    fitting =",
            "min(fitting)": "fitting[0]",
        },
    ),
    "memory.verdict": changed(
        "memory.verdict",
        compares_shares={
            "allocated + tried > 0.9 * capacity": "(allocated + tried) / capacity > 0.9"
        },
        in_integers={
            "allocated + tried > 0.9 * capacity": "10 * (allocated + tried) > 9 * capacity"
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
