"""Wrong answers to chapter 9's exercises, each as a student might write it."""

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


WRONG = {
    "memory.round": [
        no_20_mib_buffer, rounds_down, one_mib_is_large, segment_by_the_request, only_the_block,
    ],
    "memory.find_and_split": [
        first_fit, best_fit_highest_address, always_splits, never_splits,
        splits_off_exactly_one_mib, takes_what_is_too_small,
    ],
    "memory.free_and_merge": [
        no_coalescing, merges_forward_only, merges_back_only, merges_with_blocks_in_use,
        drops_the_block,
    ],
    "memory.diagnose": [
        all_is_well, whatever_stays_is_a_leak, any_idle_byte_is_fragmentation,
        looks_for_the_leak_first,
    ],
}  # fmt: skip
