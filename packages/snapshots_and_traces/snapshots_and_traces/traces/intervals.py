"""Sets of moments: sorted intervals that don't touch, as an array of (begin, end) rows."""

import numpy as np


def union(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The moments in any of these intervals; shape (n, 2). Empty intervals leave nothing."""
    some = end > start
    order = np.argsort(start[some], kind="stable")
    start, end = start[some][order], end[some][order]
    if not len(start):
        return np.empty((0, 2))
    reached = np.maximum.accumulate(end)
    first = np.flatnonzero(np.append(True, start[1:] > reached[:-1]))
    return np.column_stack([start[first], reached[np.append(first[1:], len(end)) - 1]])


def within(moments: np.ndarray, start: float, end: float) -> np.ndarray:
    """The parts of intervals between two times."""
    cut = np.clip(moments, start, end)
    return cut[cut[:, 1] > cut[:, 0]]


def length(moments: np.ndarray) -> float:
    """Seconds in all."""
    return float((moments[:, 1] - moments[:, 0]).sum())


def gaps(moments: np.ndarray, start: float, end: float) -> np.ndarray:
    """The gaps between two times: what is in none of the intervals."""
    inside = within(moments, start, end)
    edges = np.concatenate([[start], inside.ravel(), [end]]).reshape(-1, 2)
    return edges[edges[:, 1] > edges[:, 0]]


def covered(moments: np.ndarray, spans: np.ndarray) -> np.ndarray:
    """Seconds of each span, a row of (begin, end), that are in the intervals."""
    if not len(moments):
        return np.zeros(len(spans))
    so_far = np.cumsum(moments[:, 1] - moments[:, 0])
    edges = np.column_stack([so_far - (moments[:, 1] - moments[:, 0]), so_far])
    upto = np.interp(spans.ravel(), moments.ravel(), edges.ravel()).reshape(-1, 2)
    return upto[:, 1] - upto[:, 0]


def inside(moments: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Whether each time lies in an interval, its edges included."""
    at = np.searchsorted(moments[:, 0], times, side="right") - 1
    return (at >= 0) & (times <= moments[at, 1]) if len(moments) else np.zeros(len(times), bool)
