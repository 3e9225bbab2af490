"""The closer look of a script on a GPU records some steps, and reads the trace."""

import os
import time

import torch

from training_diagnosis.looking import Looker
from training_diagnosis.program import Order, Pass


def waits_in_python():
    time.sleep(0.01)


def train():
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(100):
        model(torch.ones(4, 8)).sum().backward()
        optimizer.step()
        waits_in_python()


def test_the_closer_look_traces_some_steps_and_names_the_function():
    one = Pass(Order(steps=30))
    one.install()
    one.watch.gpu, one.watch.main = True, __file__  # the trace of a CPU has the host's causes
    one.looker = Looker(one.watch)
    look = one.run(train).look
    assert look is not None
    found = next(cause for cause in look.traced if cause.cause == "python")
    assert os.path.abspath(found.file) == __file__ and found.where.endswith(": waits_in_python")
    assert found.line == waits_in_python.__code__.co_firstlineno and found.share > 0.3
