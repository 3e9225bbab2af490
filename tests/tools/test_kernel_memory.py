"""The bench of a kernel's memory: it watches a chapter's kernel, and tells which cell failed."""

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

from course_utils.cli import notebooks
from tools.bench.kernel_memory import measure


def test_a_kernel_is_watched_while_its_cells_run(tmp_path):
    """50 MB that a cell holds and lets go are in the peak, and not in what is left."""
    sources = [
        "import time; held = bytearray(b'x') * 50_000_000; time.sleep(1)",
        "del held",
        "1 / 0",
    ]
    page = new_notebook(cells=[new_code_cell(source) for source in sources])
    page.metadata["kernelspec"] = notebooks.KERNEL
    nbformat.write(page, tmp_path / "small.ipynb")
    row = measure(tmp_path / "small.ipynb")
    assert row["peak_mb"] - row["after_mb"] > 25 and row["processes"] == 1
    assert row["failed"] == ["division by zero"]
