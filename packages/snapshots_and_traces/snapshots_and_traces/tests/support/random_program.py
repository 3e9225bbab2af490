"""A random program on an allocator of ours, recorded: for tests that need traces of any kind."""

import random

from snapshots_and_traces.allocator.expandable import ExpandableAllocator
from snapshots_and_traces.allocator.rules import Driver, MiB
from snapshots_and_traces.allocator.settings import Settings
from snapshots_and_traces.allocator.tuned import TunedAllocator
from snapshots_and_traces.snapshots.recorder import Recorder

SIZES = ((1, 5000), (1, MiB), (MiB, 12 * MiB), (MiB, 60 * MiB))


class Scattered(Driver):
    """Puts segments at random places, and new ones where old ones were, as cudaMalloc does."""

    def __init__(self, choose):
        super().__init__()
        self.choose, self.taken = choose, {}

    def malloc(self, size, name="segment_alloc", address=None):
        while address is None:
            place = 2**46 + self.choose.randrange(2**12) * 2 * MiB
            if all(a + n <= place or place + size <= a for a, n in self.taken.items()):
                address = place
                self.taken[place] = size
        return super().malloc(size, name, address)

    def free(self, address, size, name="segment_free"):
        self.taken.pop(address, None)
        super().free(address, size, name)


def recorded_run(seed, text="", steps=1000, pools=((0, 0),)):
    """A Recorder after `steps` random steps on two streams."""
    choose, settings = random.Random(seed), Settings.parse(text)
    kind = ExpandableAllocator if settings.expandable_segments else TunedAllocator
    recorder, live, waiting = Recorder(kind(Scattered(choose), settings)), [], []
    for _ in range(steps):
        act = choose.random()
        if act < 0.48:
            size = choose.randrange(*choose.choice(SIZES))
            live.append(recorder.malloc(size, choose.choice((0, 7)), choose.choice(pools)))
        elif act < 0.95 and live:
            block = live.pop(choose.randrange(len(live)))
            if choose.random() < 0.1:
                recorder.request_free(block)
                waiting.append(block)
            else:
                recorder.free(block)
        elif act < 0.98 and waiting:
            recorder.complete_free(waiting.pop(choose.randrange(len(waiting))))
        elif choose.random() < 0.5:
            recorder.empty_cache()
    return recorder
