"""Kinds of bars of a trace, each a word and a colour: on the page, and in its still picture."""

import numpy as np

from snapshots_and_traces.traces.idle import blocking
from snapshots_and_traces.traces.trace import Kind, Trace

BLOCKING, MESSAGE = (
    len(Kind),
    len(Kind) + 1,
)  # beside those of Kind: some of them, divided further
KINDS = {  # in the order of a legend: the word, and three shades of which a name chooses one
    int(Kind.ANNOTATION): ("annotation", ("#F3DFC6", "#EDD3B2", "#F7E8D5")),
    int(Kind.OPERATOR): ("operator", ("#A9D3EE", "#93C6E8", "#BFDFF3")),
    int(Kind.RUNTIME): ("call to the GPU", ("#009E73",) * 3),
    BLOCKING: ("call that waits for the GPU", ("#E69F00",) * 3),
    int(Kind.KERNEL): ("kernel", ("#F0E442", "#E0D336", "#F5EC7A")),
    MESSAGE: ("message between GPUs", ("#7B5EA7",) * 3),
    int(Kind.COPY): ("copy or memset", ("#CC79A7",) * 3),
    int(Kind.OTHER): ("Python or other", ("#DDD8CC", "#D3CDBE", "#E6E2D8")),
}
IDLE = {
    "data": "#CDB38F", "ranks": "#D9C7EC", "allocating": "#F2B8B0", "synchronising": "#FBDCA0",
    "loading": "#C9D6A3", "python": "#B9C4D6", "launching": "#B4E0D0", "other": "#E2E2E2",
}  # fmt: skip
PARTS = IDLE | {
    "computing": "#F0E442", "communication": "#7B5EA7", "copying": "#CC79A7",
    "operators": "#93C6E8",
}  # fmt: skip


def kinds(trace: Trace) -> np.ndarray:
    """For each event, which of KINDS."""
    found = trace.kind.astype(np.int64)
    found[blocking(trace)] = BLOCKING
    found[trace.messages] = MESSAGE
    return found
