"""Right answers to chapter 14's exercises, in other ways than the worked solutions."""

import numpy as np
import torch

from tests.chapters.beyond_one_machine.whos import (
    by_ifs,
    by_key_errors,
    from_the_outermost_in,
    of_numpy,
)
from tests.chapters.beyond_one_machine.wrong_plans import by_rules


def second_by_second(stops, length, interval, save_seconds, restart_seconds):
    kept, restarting, working = 0, 0, 0
    for second in range(length):
        if second in stops:
            restarting, working = restart_seconds, 0
        if restarting > 0:
            restarting -= 1
            continue
        working += 1
        if working == interval + save_seconds:
            kept, working = kept + interval, 0
    return kept


def save_by_save(stops, length, interval, save_seconds, restart_seconds):
    kept, now, left = 0, 0, [stop for stop in stops if stop <= length]
    while now + interval + save_seconds <= length:
        done = now + interval + save_seconds
        if left and left[0] < done:
            now = left.pop(0) + restart_seconds
        else:
            kept, now = kept + interval, done
    return kept


def all_at_once(stops, length, interval, save_seconds, restart_seconds):
    ends = np.minimum([*stops, length], length)
    begins = np.concatenate([[0], ends[:-1] + restart_seconds])
    return interval * np.clip((ends - begins) // (interval + save_seconds), 0, None).sum()


def as_an_array(offer):
    return np.array(by_rules(offer))


def as_a_tensor(offer):
    return torch.tensor(by_rules(offer))


def numbers_of_torch(offer):
    return [torch.tensor(number) for number in by_rules(offer)]


def one_by_one(offer):
    yield from by_rules(offer)


def values_of_a_dict(offer):
    names = ("local_batch", "learning_rate", "efficiency")
    return dict(zip(names, by_rules(offer), strict=True)).values()


RIGHT = {
    "beyond_one_machine.who": [by_ifs, by_key_errors, from_the_outermost_in, of_numpy],
    "beyond_one_machine.kept_seconds": [second_by_second, save_by_save, all_at_once],
    "scaling.plan": [
        as_an_array, as_a_tensor, numbers_of_torch, one_by_one, values_of_a_dict,
    ],
}  # fmt: skip
