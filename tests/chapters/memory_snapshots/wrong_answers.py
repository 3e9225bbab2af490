"""Wrong answers to chapter 9's exercises, each as a student might write it."""

from tests.support.patches import by_name, changed

WRONG = {
    "memory.verdict": changed(
        "memory.verdict",
        only_holes_count={"tried <= free + unallocated": "tried <= unallocated"},
        only_free_memory_counts={"free + unallocated": "free"},
        exactly_enough_is_too_little={"tried <= free": "tried < free"},
        exactly_full_is_too_large={"<= capacity": "< capacity"},
        the_context_goes_away={" + context": ""},
        what_was_tried_takes_nothing={"allocated + tried": "allocated"},
        holes_are_lost={"allocated + tried": "allocated + unallocated + tried"},
        nine_tenths_are_full={"+ context <= capacity": "<= 0.9 * capacity"},
        more_in_holes_than_outside={
            "tried <= free + unallocated": (
                "unallocated >= capacity - free - allocated - unallocated"
            )
        },
        never_fragmented={"tried <= free + unallocated": "False"},
        never_too_large={"if fits": "if True"},
    ),
    "memory.keepers": changed(
        "memory.keepers",
        the_innermost_frame_is_torchs={"if own in f": "if True or own in f"},
        the_outermost_frame_of_ones_own={'in b["frames"]': 'in b["frames"][::-1]'},
        blocks_awaiting_free_keep_nothing={
            'if b["state"] != "inactive"': 'if b["state"] == "active_allocated"'
        },
        only_the_last_segment_counts={"held.get(line, 0) + free": "free"},
        each_block_counts_the_holes_again={
            "in {f\"{f['filename']}:{f['line']}\" for f in frames if f}": (
                "in [f\"{f['filename']}:{f['line']}\" for f in frames if f]"
            )
        },
        counts_what_is_used={'b["state"] == "inactive"': 'b["state"] != "inactive"'},
        counts_the_largest_hole={"free = sum(": "free = max("},
        names_a_line_that_nobody_asked_for={"held = {}": 'held = {"nonsense.py:1": 12345}'},
        cuts_the_folder_off={"{f['filename']}:": "{f['filename'].split('/')[-1]}:"},
    ),
}
__getattr__ = by_name(WRONG)
