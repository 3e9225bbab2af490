"""Right answers to chapter 14's exercises, in other ways than the worked solutions."""

import numpy as np
import torch

from tests.chapters.beyond_one_machine.wrong_plans import by_rules


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
    "scaling.plan": [
        as_an_array, as_a_tensor, numbers_of_torch, one_by_one, values_of_a_dict,
    ],
}  # fmt: skip
