"""`start`: the line of set-up that every chapter has."""

import os
import random
import warnings

from course_utils.core import evidence, files, recording, running
from course_utils.core.machine import this_machine
from course_utils.lesson import page
from course_utils.lesson.exercises import hint, solution

UNATTENDED_RANKS = "NOTEBOOK_RANKS_UNATTENDED"  # a slow cell of ranks says nothing in between
QUIET_PROFILER = "6"  # above all that torch 2.13's profiler writes to stderr when it starts
STRICT = "COURSE_STRICT"  # deprecation warnings fail the chapter
# For a page that somebody watches in JupyterLab: printed lines break between words; figures are
# dark on a dark theme; a list that has the focus keeps the arrow keys, which else change the cell.
LOOK = """<style>
.jp-OutputArea-output pre {word-break: normal; overflow-wrap: anywhere}
[data-jp-theme-light=false] :is(.jp-needs-light-background, .widget-image) {
  background: none; border-radius: 6px; filter: invert(0.9) hue-rotate(180deg)}
</style><script>
document.addEventListener("focusin", ({target}) => target.matches(".jupyter-widgets select")
  && target.setAttribute("data-lm-suppress-shortcuts", "true"))
</script>"""


def start(chapter: str, seed: int = 0) -> None:
    """Begins a chapter: seeds every generator and prints what this machine shows live.

    Afterwards `hint` and `solution` can be called without an import.
    Raises: LookupError for a chapter that doesn't exist.
    """
    import numpy
    import torch

    name = files.chapter_path(chapter).stem
    os.environ.setdefault("KINETO_LOG_LEVEL", QUIET_PROFILER)
    os.environ[evidence.CHAPTER] = name
    random.seed(seed)
    numpy.random.seed(seed)
    torch.manual_seed(seed)
    if torch.cuda.is_available():  # whatever the environment says, FP32 is FP32 until a cell asks
        torch.backends.cuda.matmul.fp32_precision = "ieee"
    if os.environ.get(STRICT):
        _fail_on_deprecation()
    if running.is_attended():
        _show_look()
    else:
        os.environ[UNATTENDED_RANKS] = "1"
    page.offer(hint=hint, solution=solution)
    page.attach(name, files.chapter_path(name))
    print(this_machine())
    if evidence.recorded_machines(name):
        print("Recorded for this chapter: " + "; ".join(evidence.recorded_machines(name)) + ".")
    if os.environ.get(recording.RECORD_TO):
        print("Recording is on: what this run measures is kept.")


def _show_look() -> None:
    from IPython.display import display

    display({"text/html": LOOK, "text/plain": ""}, raw=True)


def _fail_on_deprecation() -> None:
    for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
        for module in ("__main__", "course_utils", "torch", "numpy", "matplotlib"):
            warnings.filterwarnings("error", category=category, module=rf"{module}(\.|$)")
