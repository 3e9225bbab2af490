"""Every chapter's way on a GPU, with a pretended one, so that none runs there for the first time.

Claims with a bound may fail, since no time that a pretended GPU gives means anything. Claims
without one must hold, but for those of `ONLY_REAL`. No other error may happen, and every experiment
that the machine could record must be there, whole.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from course_utils.cli.recording_plan import recordable
from course_utils.core import files

RUN = """
import sys
from pathlib import Path
from course_utils.cli import notebooks
notebooks.EXECUTED = Path(sys.argv[2], "executed")
print(*notebooks.record(Path(sys.argv[1]), Path(sys.argv[2])), sep="\\n")
"""
H200 = "NVIDIA H200"
CAPABILITY = {H200: (9, 0), "Tesla T4": (7, 5)}
ALWAYS = (  # a chapter of each part of the course; the others where they changed lately
    "02_async_execution",
    "06_floating_point_formats",
    "09_memory_snapshots",
    "12_data_parallelism",
)
RUNS = [(path.stem, 1, H200) for path in files.chapters()]
RUNS += [(stem, 4, H200) for stem in ("11_collectives", "12_data_parallelism")]
RUNS += [(stem, 1, "Tesla T4") for stem in ("06_floating_point_formats", "07_mixed_precision")]
RARELY = [
    pytest.mark.thorough,
    pytest.mark.thorough("tools/pretend", "course_utils/core/recording.py"),
]
SHORTER: dict[str, dict[str, str]] = {  # by chapter: what a page does often, done a few times
    "01_your_machine": {"torch.compile(in_one)": "in_one"},  # nothing compiles there
    "03_profiling": {  # nvidia-smi sees no pretended GPU
        "chapter.busy_by_smi(lambda: numbers.cummax(dim=1))": (
            "dict(seconds=1 / len(numbers), nvidia_smi_percent=100)"
        ),
    },
    "04_compile_and_graphs": {  # what a pretended GPU's dispatch doesn't let through
        "chapter.inductor_text(": "(lambda *_, **__: '')(",
        "10**8 if on_gpu": "10**6 if on_gpu",
        "2**18 if on_gpu": "2**9 if on_gpu",
        r"\"self_device_time_total\"": r"\"self_cpu_time_total\"",  # no kernels to profile
    },
    "07_mixed_precision": {
        "steps=300": "steps=20",
        "range(10, 301, 10)": "range(10, 21, 10)",
        "GPTConfig(50304, 1024, 12, 12, 768)": "GPTConfig(50304, 1024, 1, 12, 768)",
        # torchao's tensors are no pretended ones
        "float8.convert_to_float8_training(model, config=emulated)": "pass",
    },
    "08_quantization": {  # torchao's tensors are no pretended ones, and nothing compiles
        "chapter.formats_on_gpu()": "['BF16']",
        r"torch.compile(chapter.linear_on_gpu(case[\"format\"]), dynamic=False)": (
            r"chapter.linear_on_gpu(case[\"format\"])"
        ),
    },
    "09_memory_snapshots": {"to_measure(every, fits_here)": "to_measure(every, fits_here)[:2]"},
    "10_trading_compute_for_memory": {  # a pretended GPU's dispatch keeps nothing
        "partial(chapter.kept_and_flops, block, x)": (
            "lambda run, n_bytes=iter(range(1, 99)): (next(n_bytes), 0)"
        ),
    },
    "12_data_parallelism": {
        "(1, 2, 4, 8)": "(1, 4)",
        "(4, 2, 1)": "[1]",
        "import real_steps\\n": (
            "import real_steps\\n"
            "from types import SimpleNamespace\\n"
            "real_steps.GPTConfig = SimpleNamespace(small=real_steps.GPTConfig.tiny)\\n"
        ),
    },
}

ONLY_REAL = {  # by chapter: claims on what a pretended GPU doesn't have
    "02_async_execution": {  # values of large tensors, copies that take time, an allocator, and a
        # device: `norm.to(device)` looks like a copy to the host
        "too-early", "record-stream-keeps", "loop-hides-waits",
    },
    "04_compile_and_graphs": {  # compilation, and a graph that is captured
        "second-length-dynamic", "eight-then-eager", "four-of-five-break", "graph-reads-anew",
        "matmul-stays-call", "fuser-as-inductor", "old-output-overwritten", "two-more-versions",
        "callee-breaks-caller",
    },
    "05_input_pipeline": {"fork-refuses-cuda"},  # a context
    "07_mixed_precision": {  # CUDA's own kernels, values that overflow
        "autocast-rules-on-gpu", "loud-model-breaks-fp16",
    },
    "09_memory_snapshots": {"gpu-fails-too", "record-stream-waits"},  # an allocator
}  # fmt: skip


def rehearsed(source: Path, folder: Path, gpus: int, gpu: str) -> tuple[str, dict[str, dict]]:
    """What failed in a notebook on pretended GPUs, and what it recorded, by experiment."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(shortened(source, folder)), str(folder)],
        capture_output=True, text=True, timeout=900, cwd=files.ROOT, env={
            **{k: v for k, v in os.environ.items() if not k.startswith(("COURSE_", "PYTEST_"))},
            "PRETEND_GPU": str(gpus), "PRETEND_GPU_NAME": gpu, "OMP_NUM_THREADS": "1",
            "PYTHONPATH": files.python_path(files.ROOT / "tools" / "pretend"),
        },
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    kept = {
        path.stem: json.loads(path.read_text()) for path in folder.glob(f"*/{source.stem}/*.json")
    }
    return done.stdout.strip(), kept


def shortened(source: Path, folder: Path) -> Path:
    text = source.read_text(encoding="utf-8")
    for long, short in SHORTER.get(source.stem, {}).items():
        assert long in text, f"{source.name} has no {long!r} any more: mend SHORTER"
        text = text.replace(long, short)
    path = folder / source.name
    path.write_text(guessed(text), encoding="utf-8")
    return path


def guessed(text: str) -> str:
    """The page as a reader leaves it who answers each **Predict**: 1, or the first of the names."""
    page = json.loads(text)
    for cell in page["cells"]:
        source = "".join(cell["source"])
        if source.startswith("predict("):
            named = re.sub(r'\.\.\.(,\s+among=\[\s*("[^"]*"))', r"\2\1", source)
            named = re.sub(r"\.\.\.(,\s+among=(list\(\w+\)))", r"\2[0]\1", named)
            cell["source"] = named.replace("...", "1").splitlines(keepends=True)
    return json.dumps(page, ensure_ascii=False)


@pytest.mark.parametrize(
    "stem, gpus, gpu",
    [
        pytest.param(
            *run,
            marks=[] if run in [(stem, 1, H200) for stem in ALWAYS] else RARELY,
            id=f"{run[0][:2]}-{run[1]}x{run[2].split()[-1]}",
        )
        for run in RUNS
    ],
)
def test_a_chapter_runs_its_way_on_a_gpu_and_records_all_it_can(tmp_path, stem, gpus, gpu):
    failed, kept = rehearsed(files.chapter_path(stem), tmp_path, gpus, gpu)
    if failed:
        pytest.fail(failed)  # an assert would cut it short
    assert logic_that_failed(tmp_path) <= ONLY_REAL.get(stem, set())
    assert answered(tmp_path) == files.chapter_path(stem).read_text(encoding="utf-8").count(
        '"predict('
    )
    for name in recordable(stem, [CAPABILITY[gpu]] * gpus):
        assert kept[name]["rows"], f"{name} was recorded without a row"
        assert not kept[name]["left_out"] and not kept[name]["missing_rows"], name


def answered(folder: Path) -> int:
    """How many predictions the executed page held against what it found."""
    return len(re.findall(r"^You said ", printed(folder), re.M))


def logic_that_failed(folder: Path) -> set[str]:
    """The ids of the claims without a bound that didn't hold on the executed page."""
    return set(re.findall(r"^\(pretended, logic\) (\S+):", printed(folder), re.M))


def printed(folder: Path) -> str:
    """All that the executed page printed, and the words of what it displayed."""
    (path,) = folder.glob("executed/*/*.ipynb")
    cells = nbformat.read(path, as_version=4).cells
    outputs = [output for cell in cells if cell.cell_type == "code" for output in cell.outputs]
    said = [o["text"] if "text" in o else o.get("data", {}).get("text/plain", "") for o in outputs]
    return "\n".join(said)


BROKEN = {
    "torch.ones(3, device=device()).numpy()": "can't convert cuda:0",
    "torch.ones(3, device=device()) + torch.ones(3)": "same device",
    "record('cures', {'a step': torch.cuda.no_such_call()})": "no_such_call",
    "torch.cuda.Event().elapsed_time(torch.cuda.Event())": "enable_timing",
    "claim('gpu-is-quick', 'a GPU is quick', False, needs='gpu'), 1 / 0": "ZeroDivisionError",
}


def test_a_broken_way_on_a_gpu_is_found(tmp_path):
    first = "import torch\nfrom course_utils import claim, device, record, start\nstart('02')"
    cells = [nbformat.v4.new_code_cell(source) for source in (first, *BROKEN)]
    source = tmp_path / "02_async_execution.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), source)
    (tmp_path / "run").mkdir()
    failed, _ = rehearsed(source, tmp_path / "run", 1, H200)
    assert logic_that_failed(tmp_path / "run") == {"gpu-is-quick"}
    assert len(failed.splitlines()) == len(BROKEN)
    for line, says in zip(failed.splitlines(), BROKEN.values(), strict=True):
        assert says in line
