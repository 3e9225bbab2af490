"""Wrong answers to chapter 9's exercises, each as a student might write it."""

from tests.support.patches import by_name, changed

FITS, BEST = "if held >= size]", "min(fitting)"
NEIGHBOURS = "if merged and not used and not merged[-1][2]:"
RISING = "live[-third:].min() > 1.2 * live[third:-third].min()"
GAP = "reserved.max() > 1.33 * live.max()"
WRONG = {
    "memory.round": changed(
        "memory.round",
        no_20_mib_buffer={"block < 10 * 2**20": "False"},
        rounds_down={"-(-request // 512)": "request // 512"},
        segment_by_the_request={"block <= 2**20": "request <= 2**20", "block < 10": "request < 10"},
        only_the_block={"    if block <= 2**20:": "    return block\n    if block <= 2**20:"},
        always_a_segment_more={"-(-block // (2 * 2**20))": "(block // (2 * 2**20) + 1)"},
        ten_mib_has_a_buffer_too={"block < 10": "block < 20"},
    ),
    "memory.find_and_split": changed(
        "memory.find_and_split",
        first_fit={BEST: "min(fitting, key=lambda block: block[1])"},
        best_fit_highest_address={BEST: "min(fitting, key=lambda block: (block[0], -block[1]))"},
        always_splits={"size if splits else held": "size"},
        never_splits={"size if splits else held": "held"},
        takes_what_is_too_small={FITS: "]", BEST: "max(fitting)"},
        the_block_tells_the_pool={"if size <= 2**20": "if held <= 2**20"},
        nothing_lies_at_address_0={FITS: "if held >= size and address]"},
        no_block_is_larger_than_a_gigabyte={FITS: "if size <= held < 10**9]"},
        first_of_equals_in_the_list={BEST: "min(fitting, key=lambda block: block[0])"},
        nothing_is_zero={"return None": "return 0, 0"},
    ),
    "memory.free_and_merge": changed(
        "memory.free_and_merge",
        no_coalescing={NEIGHBOURS: "if False:"},
        merges_forward_only={NEIGHBOURS: "if merged and not used and merged[-1][0] == address:"},
        merges_back_only={NEIGHBOURS: "if merged and begin == address and not merged[-1][2]:"},
        merges_with_blocks_in_use={
            "return merged": "return [(segment[0][0], sum(size for _, size, _ in segment), False)]"
        },
        drops_the_block={"return merged": "return [one for one in segment if one[0] != address]"},
        addresses_from_zero={
            "return merged": "return [(begin - segment[0][0], *rest) for begin, *rest in merged]"
        },
        the_last_block_stays_apart={"if merged and": "if merged and begin != segment[-1][0] and"},
        the_first_block_stays_apart={"if merged and": "if len(merged) > 1 and"},
        merges_one_neighbour={
            "merged = []": "merged, apart = [], True",
            "if merged and": "if apart and merged and",
            "size += merged[-1][1]": "size, apart = size + merged[-1][1], False",
        },
        returns_nothing={"return merged": "segment[:] = merged"},
        forgets_what_is_used={"return merged": "return [block[:2] for block in merged]"},
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
