"""Chapter 12's hand-written data parallelism against torch's DDP: rounds interleaved.

`python -m tools.bench.ddp [rounds]` runs the chapter's own cells on 2 and 4 ranks, with buckets of
1 and 25 MiB, for the page's model and for 4 and 16 layers of width 512, and prints seconds and the
ratio of ours to torch's. `[rounds] [layers]` leaves out models of more layers.
"""

import json
import statistics
import sys

from course_utils import ranks
from course_utils.core import files
from course_utils.core.measurement import quartiles

CELLS = ("one-by-one", "bucket", "hook", "ways")
MINE, TORCH = "hooks", "torch's DDP"
MODELS = ({}, {"layers": 4, "width": 512}, {"layers": 16, "width": 512})


def main(rounds: int = 10, most_layers: int = 16) -> None:
    """Prints a line for each number of ranks, model and size of buckets."""
    page = json.loads((files.NOTEBOOKS / "12_data_parallelism.ipynb").read_text())["cells"]
    sources = {cell["id"]: "".join(cell["source"]) for cell in page}
    for n in (2, 4):
        ranks.start(n, device="cpu", limit_seconds=600)
        for name in CELLS:
            ranks.run_cell(sources[name].partition("\n")[2])
        for size in MODELS:
            for mib in (1, 25):
                if size.get("layers", 0) <= most_layers:
                    compare(n, size, mib, rounds)
        ranks.stop()


def compare(n: int, size: dict[str, int], mib: int, rounds: int) -> None:
    """One line: both ways' seconds, medians, and their ratio round by round."""

    def prepare() -> None:  # by what the cells have defined on the ranks
        both = ways(mib * MIB, **size)  # type: ignore  # noqa: F821
        models["both"] = {way: both[way] for way in (MINE, TORCH)}  # type: ignore  # noqa: F821

    def race() -> dict[str, float]:
        return replicas.race({"": models["both"]})  # type: ignore  # noqa: F821

    ranks.run(prepare)
    for _ in range(2):  # DDP makes its buckets anew after its first step
        ranks.run(race)
    took = [ranks.run(race)[0] for _ in range(rounds)]
    mine, torchs = (statistics.median(one[f", {way}"] for one in took) for way in (MINE, TORCH))
    low, ratio, high = quartiles([one[f", {MINE}"] / one[f", {TORCH}"] for one in took])
    print(
        f"{n} ranks, {size or 'the page’s model'}, {mib} MiB: {1e3 * mine:.0f} ms, "
        f"torch's {1e3 * torchs:.0f} ms, ratio {ratio:.2f} (half of them {low:.2f} to {high:.2f})",
        flush=True,
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
