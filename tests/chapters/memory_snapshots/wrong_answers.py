"""Wrong answers to chapter 9's exercises, each as a student might write it."""

from tests.support.patches import by_name, changed

RISING = "live[-third:].min() > 1.2 * live[third:-third].min()"
GAP = "reserved.max() > 1.33 * live.max()"
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
    "memory.diagnose": changed(
        "memory.diagnose",
        all_is_well={"live, reserved =": 'return "healthy"\n    live, reserved ='},
        whatever_stays_is_a_leak={RISING: "live[-1] > live.max() / 3"},
        any_idle_byte_is_fragmentation={"1.33": "1.02"},
        looks_for_the_leak_first={
            f"if {GAP}": f'third = len(live) // 3\n    if {RISING}:\n        return "leak"\n'
            f"    if {GAP}"
        },
        compares_the_first_third={"live[third:-third]": "live[:third]"},
        compares_the_peaks={RISING: RISING.replace("min", "max")},
        any_moment_is_fragmentation={GAP: "(reserved > 1.5 * live).any()"},
    ),
}
__getattr__ = by_name(WRONG)
