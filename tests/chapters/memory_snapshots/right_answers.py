"""Right answers to chapter 9's exercises, in other ways than the worked solutions."""

import math

import numpy as np
import torch

from tests.chapters.memory_snapshots.wrong_answers import MiB, _coalesced, _cut


def _sizes(request):
    block = 512 * math.ceil(request / 512)
    if block <= MiB:
        return block, 2 * MiB
    return block, 20 * MiB if block < 10 * MiB else 2 * MiB * math.ceil(block / (2 * MiB))


def sizes_as_an_array(request):
    return np.array(_sizes(request))


def sizes_as_a_tensor(request):
    return torch.tensor(_sizes(request))


def sizes_as_floats(request):
    return np.ceil(request / 512) * 512, float(_sizes(request)[1])


def one_size_after_the_other(request):
    yield from _sizes(request)


def values_of_a_dict(request):
    return dict(zip(("block", "segment"), _sizes(request), strict=True)).values()


def sorts_the_list_it_got(free, size):
    free.sort(key=lambda block: (block[1], block[0]))
    while free and free[0][1] < size:
        del free[0]
    return _cut(*free[0], size) if free else None


def a_block_as_an_array(free, size):
    found = sorts_the_list_it_got(free, size)
    return None if found is None else np.array(found)


def a_block_as_a_tensor(free, size):
    found = sorts_the_list_it_got(free, size)
    return found and torch.tensor(found)


def address_and_bytes_of_numpy(free, size):
    found = sorts_the_list_it_got(free, size)
    return found and [np.int64(number) for number in found]


def changes_the_list_it_got(segment, address):
    segment[:] = _coalesced(segment, address)
    return segment


def blocks_as_lists(segment, address):
    return tuple([begin, size, int(used)] for begin, size, used in _coalesced(segment, address))


def blocks_as_an_array(segment, address):
    return np.array(_coalesced(segment, address))


def blocks_as_a_tensor(segment, address):
    return torch.tensor(_coalesced(segment, address))


def block_after_block(segment, address):
    yield from _coalesced(segment, address)


def _diagnosed(history, gap=1.5, rise=1.2):
    third = len(history.live) // 3
    if history.reserved.max() > gap * history.live.max():
        return "fragmentation"
    rising = history.live[-third:].min() > rise * history.live[third:-third].min()
    return "leak" if rising else "healthy"


def a_smaller_gap(history):
    return _diagnosed(history, gap=1.3)


def a_larger_gap(history):
    return _diagnosed(history, gap=1.8)


def a_smaller_rise(history):
    return _diagnosed(history, rise=1.05)


def a_text_of_numpy(history):
    return np.array([_diagnosed(history)])[0]


def sorts_the_arrays_afterwards(history):
    found = _diagnosed(history)
    history.live.sort()
    history.reserved.sort()
    return found


RIGHT = {
    "memory.round": [
        sizes_as_an_array, sizes_as_a_tensor, sizes_as_floats, one_size_after_the_other,
        values_of_a_dict,
    ],
    "memory.find_and_split": [
        sorts_the_list_it_got, a_block_as_an_array, a_block_as_a_tensor,
        address_and_bytes_of_numpy,
    ],
    "memory.free_and_merge": [
        changes_the_list_it_got, blocks_as_lists, blocks_as_an_array, blocks_as_a_tensor,
        block_after_block,
    ],
    "memory.diagnose": [
        a_smaller_gap, a_larger_gap, a_smaller_rise, a_text_of_numpy, sorts_the_arrays_afterwards,
    ],
}  # fmt: skip
