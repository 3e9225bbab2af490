"""Writes data/published/traces: whole steps of traces that others published, as numbers.

    python -m tools.published_traces FOLDER

FOLDER has the traces named below, gzipped, as they stand in the repository that is their source.
"""

import sys
from pathlib import Path

from course_utils.core import files
from course_utils.traces.stored import PUBLISHED, store
from snapshots_and_traces.traces.cutting import cut
from snapshots_and_traces.traces.reading import read_trace

REPOSITORY = "facebookresearch/HolisticTraceAnalysis (commit f4d0062c)"
LICENCE = "MIT, Meta Platforms"
PATHS = {  # below tests/data of the repository
    "ddp_resnet50": "nccl_parser_config/nccl_data.json.gz",
    "resnet_v100": "ns_resolution_trace/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
    "dlrm": "trace_diff/control/control.json.gz",
}
TRACES = {  # name: file, steps, what it is, machine
    "ddp_resnet50": (
        "ddp-resnet50-2xA100",
        (5, 6),
        "two steps of training ResNet-50 under DistributedDataParallel, on rank 0 of 2",
        "2 × NVIDIA A100 (PG509-200), NCCL 2.17.1",
    ),
    "resnet_v100": (
        "resnet-1xV100",
        (101, 102),
        "two steps of training a ResNet, its DistributedDataParallel having one rank",
        "1 × NVIDIA Tesla V100 (SXM2, 32 GB)",
    ),
    "dlrm": (
        "dlrm-8xA100",
        (1011,),
        "a step of training a recommendation model (DLRM), on rank 3 of 8",
        "8 × NVIDIA A100 (PG509-200), NCCL",
    ),
}
NO_IDS = (
    "No operator of the file has the field Record function id, so it can't say whether a second "
    "observer ran beside the profiler."
)
CAVEATS = {
    "ddp_resnet50": "Every operator of the file has a Record function id other than 0, which torch "
    "gives only where an observer asks for it: beside the profiler a second one ran, probably "
    "ExecutionTraceObserver, so the host's times are too long.",
    "resnet_v100": NO_IDS,
    "dlrm": "90% of the file's operators have Input Dims: it was recorded with record_shapes=True, "
    f"so the host's times are too long. {NO_IDS}",
}
HOW = (
    "python -m tools.published_traces FOLDER. Kept: what was called on the host in {steps}, "
    "without runtime calls that neither launch nor wait; and what those calls launched, whenever "
    "it ran. Times rounded to 0.1 µs. As columns: course_utils/traces/stored.py"
)


def main(folder: Path) -> None:
    """Writes each file anew, and says how large it is."""
    for name, (file, numbers, what, machine) in TRACES.items():
        steps = [f"ProfilerStep#{number}" for number in numbers]
        path = files.DATA / PUBLISHED / f"{name}.json"
        about = {
            "what": what,
            "source": f"tests/data/{PATHS[name]} of {REPOSITORY}",
            "licence": LICENCE,
            "machine": machine,
            "how": HOW.format(steps=", ".join(steps)),
            "caveat": CAVEATS[name],
        }
        trace = cut(read_trace(folder / f"{file}.json.gz"), steps)
        store(trace, path, about)
        print(
            f"{path.relative_to(files.ROOT)}: {len(trace.start):,} events, "
            f"{path.stat().st_size / 1000:.0f} kB"
        )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Give the folder of the traces: python -m tools.published_traces FOLDER")
    main(Path(sys.argv[1]))
