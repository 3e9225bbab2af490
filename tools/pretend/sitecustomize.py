"""Pretends GPUs in every Python process that has this folder on PYTHONPATH and PRETEND_GPU set.

PRETEND_GPU is their number, PRETEND_GPU_NAME which ones they are (H200s without it). torch is
changed as soon as it is imported. The course's experiments are made shorter, and claims may fail,
since no time and no value of a large tensor means anything here; each that fails is printed.
"""

import os
from importlib.machinery import SourceFileLoader


def change_torch(_torch):
    import pretended  # now that torch is there

    pretended.change_torch()


def hurry(timing):
    """The course's clock with a hundredth of its patience."""
    plain_repeat, plain_rounds = timing._repeat, timing.measure_rounds
    timing._repeat = lambda once, clock, budget, precision: plain_repeat(
        once, clock, min(budget, 0.002), precision
    )
    timing.measure_rounds = lambda one_round, times=9, unit="seconds": plain_rounds(
        one_round, min(times, 2), unit
    )
    timing.PATIENCE, timing.REPETITION_SECONDS, timing.BLOCK_SECONDS = 1, 1e-6, 0.0
    timing.LEAST_REPETITIONS = 2


def let_claims_fail(claims):
    """A claim that fails is a line with its id and whether it has a bound, and the cell goes on."""
    plain = claims.claim

    def claim(*args, **kwargs):
        try:
            plain(*args, **kwargs)
        except claims.ClaimError as failed:
            kind = "bound" if kwargs.keys() & {"above", "below", "timed"} else "logic"
            print(f"(pretended, {kind}) {args[0]}: {failed}")

    claims.claim = claim


def let_losses_be_anything(recipes):
    """Lets losses be NaN: large tensors were never computed, so now and then one is."""
    recipes.refuse_nan = lambda loss: None


def take_few_cases(recording):
    """The first and the last row of an experiment of many rows."""
    plain = recording.record_each

    def record_each(experiment, cases, *args, **kwargs):
        cases = list(cases)
        return plain(experiment, cases[:1] + cases[1:][-1:], *args, **kwargs)

    recording.record_each = record_each


def call_once(collectives):
    """A loop between two events is one call, after one that warms up."""
    plain = collectives.gpu_seconds
    collectives.gpu_seconds = lambda work, times, warm_up=5, queued=True: plain(work, 1, 1, queued)


CHANGED = {  # modules, and what is done to them after they ran
    "torch": change_torch,
    "course_utils.core.timing": hurry,
    "course_utils.core.claims": let_claims_fail,
    "course_utils.chapters.collectives.by_hand": call_once,
    "course_utils.workloads.recipes": let_losses_be_anything,
    "course_utils.core.recording": take_few_cases,
}
if os.environ.get("PRETEND_GPU"):
    os.environ.setdefault("PYTORCH_JIT", "0")  # TorchScript reads functions, and not changed ones
    run = SourceFileLoader.exec_module

    def run_and_change(loader, module):
        run(loader, module)
        CHANGED.get(module.__name__, lambda module: None)(module)

    SourceFileLoader.exec_module = run_and_change
