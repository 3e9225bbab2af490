"""Right answers to chapter 9's exercises, in other ways than the worked solutions."""

import math

from tests.chapters.memory_snapshots.wrong_answers import RISING
from tests.support.patches import by_name, changed

MiB = 2**20


def rounded_by_ceil(request):
    block = 512 * math.ceil(request / 512)
    if block <= MiB:
        return block, 2 * MiB
    return block, 20 * MiB if block < 10 * MiB else 2 * MiB * math.ceil(block / (2 * MiB))


RETURN = 'return "leak"'
RIGHT = {
    "memory.round": [rounded_by_ceil],
    "memory.find_and_split": changed(
        "memory.find_and_split",
        sorts_the_list_it_got={
            "fitting =": "free.sort(key=lambda block: (block[1], block[0]))\n    fitting =",
            "min(fitting)": "fitting[0]",
        },
    ),
    "memory.free_and_merge": changed(
        "memory.free_and_merge",
        changes_the_list_it_got={"return merged": "segment[:] = merged\n    return segment"},
        blocks_as_lists={
            "return merged": "return tuple([a, n, int(used)] for a, n, used in merged)"
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
