"""Chapter 12's hand-written data parallelism against torch's DDP: rounds interleaved, two ranks.

`python -m tools.bench.ddp [rounds]` runs the chapter's own cells and prints seconds and ratios.
"""

import json
import statistics
import sys
from functools import partial

from course_utils import ranks
from course_utils.core import files
from course_utils.core.measurement import quartiles

CELLS = ("one-by-one", "send", "hook", "ways")
MINE, TORCH = "buckets, sent by hooks", "torch's DDP"


def main(rounds: int = 20) -> None:
    """Prints a line a way, then the ratio of ours to torch's, round by round."""
    page = json.loads((files.NOTEBOOKS / "12_data_parallelism.ipynb").read_text())["cells"]
    sources = {cell["id"]: "".join(cell["source"]) for cell in page}
    ranks.start(2, device="cpu", limit_seconds=100)
    for name in CELLS:
        ranks.run_cell(sources[name].partition("\n")[2])

    def race() -> dict[str, float]:  # by what the cells have defined on the ranks
        return {way: slowest_seconds(partial(step, way), 3) for way in ways}  # type: ignore  # noqa: F821

    took = [ranks.run(race)[0] for _ in range(rounds)]
    ranks.stop()
    for way in took[0]:
        low, median, high = quartiles([one[way] for one in took])
        print(f"{way}: {1e3 * median:.1f} ms (half of them {1e3 * low:.1f} to {1e3 * high:.1f})")
    ratios = [one[MINE] / one[TORCH] for one in took]
    low, _, high = quartiles(ratios)
    print(f"ours / torch's: {statistics.median(ratios):.3f} (half of them {low:.3f} to {high:.3f})")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
