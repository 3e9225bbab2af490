"""Functions of the notebook as a script that torchrun starts, and starts again."""

import linecache
from collections.abc import Callable
from pathlib import Path
from typing import Any

from course_utils.ranks.page import script

# Without it, restarted ranks may read the addresses of the dead ones: pytorch issue 135712.
OWN_STORE = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1"
CALL = """
first_start = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0"
losses = {name}(
    os.environ.get("CHECKPOINTS", "checkpoints"),
    die_at=int(os.environ.get("DIE_AT", -1)) if first_start else -1,
)
if rank == 0:
    print(losses)
"""


def save_script(path: str | Path, *functions: Callable[..., Any], n: int = 2) -> str:
    """Writes the cells that define `functions`, and a call of the last; the command to start it.

    The script reads from its environment CHECKPOINTS, a folder, and DIE_AT, a step at which it is
    to die once. Raises: RanksError where another file has that name.
    """
    path = Path(path)
    files = dict.fromkeys(one.__code__.co_filename for one in functions)
    cells = ["".join(linecache.getlines(name)) for name in files]
    call = CALL.format(name=functions[-1].__name__)
    script.save(path, "\n".join([*cells, call]), [], n, on_cpu=True)
    return f"{OWN_STORE} torchrun --standalone --nproc-per-node {n} --max-restarts 1 {path.name}"
