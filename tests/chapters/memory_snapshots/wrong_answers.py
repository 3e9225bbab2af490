"""Wrong answers to chapter 9's exercises, each as a student might write it."""

import math

MiB = 2**20


def _up(n, step):
    return -(-n // step) * step


def no_20_mib_buffer(request):
    block = _up(request, 512)
    return block, 2 * MiB if block <= MiB else _up(block, 2 * MiB)


def rounds_down(request):
    block = max(512, request // 512 * 512)
    return block, 2 * MiB if block <= MiB else 20 * MiB if block < 10 * MiB else _up(block, 2 * MiB)


def one_mib_is_large(request):
    block = _up(request, 512)
    return block, 2 * MiB if block < MiB else 20 * MiB if block < 10 * MiB else _up(block, 2 * MiB)


def segment_by_the_request(request):
    block = _up(request, 512)
    if request <= MiB:
        return block, 2 * MiB
    return block, 20 * MiB if request < 10 * MiB else _up(block, 2 * MiB)


def only_the_block(request):
    return _up(request, 512)


def always_a_segment_more(request):
    block = _up(request, 512)
    large = (block // (2 * MiB) + 1) * 2 * MiB
    return block, 2 * MiB if block <= MiB else 20 * MiB if block < 10 * MiB else large


def ten_mib_has_a_buffer_too(request):
    block = _up(request, 512)
    return block, 2 * MiB if block <= MiB else max(20 * MiB, _up(block, 2 * MiB))


def sizes_of_nan(request):
    return math.nan, math.nan


def _cut(address, held, size):
    rest = held - size
    splits = rest >= 512 if size <= MiB else rest > MiB
    return address, size if splits else held


def first_fit(free, size):
    for address, held in sorted(free):
        if held >= size:
            return _cut(address, held, size)
    return None


def best_fit_highest_address(free, size):
    fitting = [(held, -address) for address, held in free if held >= size]
    return _cut(-min(fitting)[1], min(fitting)[0], size) if fitting else None


def always_splits(free, size):
    fitting = [(held, address) for address, held in free if held >= size]
    return (min(fitting)[1], size) if fitting else None


def never_splits(free, size):
    fitting = [(held, address) for address, held in free if held >= size]
    return (min(fitting)[1], min(fitting)[0]) if fitting else None


def splits_off_exactly_one_mib(free, size):
    fitting = [(held, address) for address, held in free if held >= size]
    if not fitting:
        return None
    held, address = min(fitting)
    splits = held - size >= (512 if size <= MiB else MiB)
    return address, size if splits else held


def takes_what_is_too_small(free, size):
    if not free:
        return None
    held, address = max((held, address) for address, held in free)
    return _cut(address, held, size)


def _best(free, size, splits):
    fitting = [(held, address) for address, held in free if held >= size]
    if not fitting:
        return None
    held, address = min(fitting)
    return address, size if splits(size, held) else held


def one_mib_is_in_the_large_pool(free, size):
    return _best(free, size, lambda size, held: held - size >= (512 if size < MiB else MiB + 512))


def the_block_tells_the_pool(free, size):
    return _best(free, size, lambda size, held: held - size >= (512 if held <= MiB else MiB + 512))


def small_rests_of_512_stay(free, size):
    return _best(free, size, lambda size, held: held - size > (512 if size <= MiB else MiB))


def nothing_lies_at_address_0(free, size):
    used = 0
    blocks = dict(free)
    for address, held in sorted(free):
        if held >= size and (not used or held < blocks[used]):
            used = address
    return _cut(used, blocks[used], size) if used else None


def no_block_is_larger_than_a_gigabyte(free, size):
    smallest, used = 10**9, None
    for address, held in sorted(free):
        if size <= held < smallest:
            smallest, used = held, address
    return None if used is None else _cut(used, smallest, size)


def lowest_address_that_fits(free, size):
    fitting = [(address, held) for address, held in free if held >= size]
    return _cut(*min(fitting), size) if fitting else None


def first_of_equals_in_the_list(free, size):
    fitting = [(address, held) for address, held in free if held >= size]
    return _cut(*min(fitting, key=lambda block: block[1]), size) if fitting else None


def addresses_of_nan(free, size):
    return math.nan, math.nan


def nothing_is_zero(free, size):
    return _best(free, size, lambda size, held: _cut(0, held, size)[1] == size) or (0, 0)


def no_coalescing(segment, address):
    return [(a, size, used and a != address) for a, size, used in segment]


def merges_forward_only(segment, address):
    blocks = no_coalescing(segment, address)
    at = next(i for i, one in enumerate(blocks) if one[0] == address)
    if at + 1 < len(blocks) and not blocks[at + 1][2]:
        blocks[at : at + 2] = [(address, blocks[at][1] + blocks[at + 1][1], False)]
    return blocks


def merges_back_only(segment, address):
    blocks = no_coalescing(segment, address)
    at = next(i for i, one in enumerate(blocks) if one[0] == address)
    if at and not blocks[at - 1][2]:
        start, size, _ = blocks[at - 1]
        blocks[at - 1 : at + 1] = [(start, size + blocks[at][1], False)]
    return blocks


def merges_with_blocks_in_use(segment, address):
    return [(segment[0][0], sum(size for _, size, _ in segment), False)]


def drops_the_block(segment, address):
    return [one for one in segment if one[0] != address]


def _coalesced(segment, address):
    merged = []
    for begin, size, used in no_coalescing(segment, address):
        if merged and not used and not merged[-1][2]:
            begin, size = merged[-1][0], merged.pop()[1] + size
        merged.append((begin, size, used))
    return merged


def addresses_from_zero(segment, address):
    blocks = _coalesced(segment, address)
    return [(begin - segment[0][0], size, used) for begin, size, used in blocks]


def the_last_block_stays_apart(segment, address):
    last = segment[-1][0] == address
    return no_coalescing(segment, address) if last else _coalesced(segment, address)


def the_first_block_stays_apart(segment, address):
    first = segment[0][0] == address
    return no_coalescing(segment, address) if first else _coalesced(segment, address)


def merges_one_neighbour(segment, address):
    forward = merges_forward_only(segment, address)
    return merges_back_only(segment, address) if len(forward) == len(segment) else forward


def returns_nothing(segment, address):
    segment[:] = _coalesced(segment, address)


def blocks_of_nan(segment, address):
    return [(math.nan, math.nan, math.nan) for _ in _coalesced(segment, address)]


def forgets_what_is_used(segment, address):
    return [(begin, size) for begin, size, _ in _coalesced(segment, address)]


def all_is_well(history):
    return "healthy"


def whatever_stays_is_a_leak(history):
    if history.reserved.max() > 1.33 * history.live.max():
        return "fragmentation"
    return "leak" if history.live[-1] > history.live.max() / 3 else "healthy"


def any_idle_byte_is_fragmentation(history):
    if history.reserved.max() > 1.02 * history.live.max():
        return "fragmentation"
    third = len(history.live) // 3
    rising = history.live[-third:].min() > 1.2 * history.live[third:-third].min()
    return "leak" if rising else "healthy"


def looks_for_the_leak_first(history):
    third = len(history.live) // 3
    if history.live[-third:].min() > 1.2 * history.live[third:-third].min():
        return "leak"
    return "fragmentation" if history.reserved.max() > 1.33 * history.live.max() else "healthy"


def compares_the_first_third(history):
    if history.reserved.max() > 1.5 * history.live.max():
        return "fragmentation"
    third = len(history.live) // 3
    rising = history.live[-third:].min() > 1.2 * history.live[:third].min()
    return "leak" if rising else "healthy"


def compares_the_peaks(history):
    if history.reserved.max() > 1.5 * history.live.max():
        return "fragmentation"
    third = len(history.live) // 3
    rising = history.live[-third:].max() > 1.2 * history.live[third:-third].max()
    return "leak" if rising else "healthy"


def any_moment_is_fragmentation(history):
    if (history.reserved > 1.5 * history.live).any():
        return "fragmentation"
    third = len(history.live) // 3
    rising = history.live[-third:].min() > 1.2 * history.live[third:-third].min()
    return "leak" if rising else "healthy"


def no_disease(history):
    return math.nan


WRONG = {
    "memory.round": [
        no_20_mib_buffer, rounds_down, one_mib_is_large, segment_by_the_request, only_the_block,
        always_a_segment_more, ten_mib_has_a_buffer_too, sizes_of_nan,
    ],
    "memory.find_and_split": [
        first_fit, best_fit_highest_address, always_splits, never_splits,
        splits_off_exactly_one_mib, takes_what_is_too_small, one_mib_is_in_the_large_pool,
        the_block_tells_the_pool, small_rests_of_512_stay, nothing_lies_at_address_0,
        no_block_is_larger_than_a_gigabyte, lowest_address_that_fits, first_of_equals_in_the_list,
        addresses_of_nan, nothing_is_zero,
    ],
    "memory.free_and_merge": [
        no_coalescing, merges_forward_only, merges_back_only, merges_with_blocks_in_use,
        drops_the_block, addresses_from_zero, the_last_block_stays_apart,
        the_first_block_stays_apart, merges_one_neighbour, returns_nothing, blocks_of_nan,
        forgets_what_is_used,
    ],
    "memory.diagnose": [
        all_is_well, whatever_stays_is_a_leak, any_idle_byte_is_fragmentation,
        looks_for_the_leak_first, compares_the_first_third, compares_the_peaks,
        any_moment_is_fragmentation, no_disease,
    ],
}  # fmt: skip
