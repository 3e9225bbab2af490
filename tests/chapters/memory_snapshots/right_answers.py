"""Right answers to chapter 9's exercises, in other ways than the worked solutions."""

from tests.support.patches import by_name, changed

RIGHT = {
    "memory.verdict": changed(
        "memory.verdict",
        asks_what_is_missing={"tried <= free + unallocated": "tried - free - unallocated <= 0"},
        asks_what_is_left={
            "allocated + tried + context <= capacity": "tried <= capacity - context - allocated"
        },
    ),
    "memory.keepers": changed(
        "memory.keepers",
        skips_segments_without_holes={
            "        frames = [": "        frames = [] if not free else ["
        },
        asks_for_active_blocks={
            'if b["state"] != "inactive"\n': 'if b["state"].startswith("active")\n'
        },
    ),
}
__getattr__ = by_name(RIGHT)
