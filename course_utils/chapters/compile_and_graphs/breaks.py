"""Why Dynamo can't take a function as one graph, in one line, and what to do about it."""

import re
import sysconfig

_A_NUMBER = "Python needs no number here: calculate with the tensor itself."
_MENDS = {
    "data-dependent branching": "Let torch choose, not Python: compute both, and torch.where takes "
    "one of them.",
    "tensor.item()": _A_NUMBER,
    "tensor.tolist()": _A_NUMBER,
    "data dependent operator": _A_NUMBER,
    "dynamic shape operator": "How many elements that leaves depends on the data: keep all, with "
    "0 for those that don't count.",
    "encountered aliasing": "A branch of torch.cond may not return its input as it is: return "
    "y.clone().",
    "encountered input mutation": "A branch of torch.cond may not change its input: return a new "
    "tensor.",
    "output in torch.cond": "Both branches of torch.cond return tensors of one shape and dtype.",
    "torch.compiler.disable": "What Dynamo may not see isn't in its graph: compute it in the open.",
    "`print`": "Return what you want to see, and print it outside.",
}


def told(stop: Exception) -> str:
    """One line of what Dynamo raised: where, its reason without explanations, a mend if known.

    The mend goes with what remains at this line, whichever breaks the reader has mended already.
    """
    said = str(stop).partition("from user code")[0]
    mend = next((mend for cause, mend in _MENDS.items() if cause in said.lower()), "")
    return f"the graph breaks{_place(stop)}. Dynamo says: {_reason(said)}. {mend}".strip()


def _place(stop: Exception) -> str:
    """The innermost line that is neither torch's nor Python's own."""
    stack = getattr(stop, "real_stack", None) or []
    libraries = ("site-packages", sysconfig.get_path("stdlib"))
    own = [step for step in stack if not any(one in step.filename for one in libraries)]
    return "".join(f" at line {step.lineno} ({step.line})" for step in own[-1:])


def _reason(said: str) -> str:
    """The first line that says something; one that announces another has it beside."""
    inner = re.search(r"""got \w+\((["'])(.+?)\1\)""", said)
    if inner:
        return inner[2].rstrip(".")
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if lines[0].endswith("Got graph break/error:"):
        lines = lines[1:]
    return " ".join(lines[: 1 + lines[0].endswith(":")]).rstrip(".")
