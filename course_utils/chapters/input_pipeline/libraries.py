"""The same pictures in the form that each library reads, and which of these libraries are here.

A form keeps each picture's JPEG bytes and a label, and the label is the picture's place among the
pictures: whoever reads them can count which came, how often, and in which order.
"""

import logging
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module, metadata, util
from itertools import accumulate
from pathlib import Path
from time import perf_counter

import numpy as np

from course_utils.chapters.input_pipeline.pictures import write_files
from course_utils.workloads.d2l_guest import declare_torchvision_operators

IMPORTED_AS = {  # what pip calls it, and what Python does
    "torchdata": "torchdata",
    "webdataset": "webdataset",
    "datasets": "datasets",
    "mosaicml-streaming": "streaming",
}


@dataclass(frozen=True)
class Form:
    """One form of the pictures on the disk: its folder, and what it took to write."""

    folder: Path
    seconds: float
    files: int
    n_bytes: int


def installed() -> dict[str, str]:
    """The libraries of the comparison that are here, with their versions; none is imported."""
    owners = metadata.packages_distributions()
    return {
        library: metadata.version(owners[module][0])
        for library, module in IMPORTED_AS.items()
        if module in owners and util.find_spec(module) is not None
    }


def hush_libraries() -> None:
    """Keeps off the page what libraries say of themselves at each use, with paths of the machine.

    torchdata calls a torch function that warns of its own end; datasets logs at each resumption
    that its shuffle buffer comes back empty, which the page counts.
    """
    warnings.filterwarnings("ignore", "'set_vital' is deprecated")
    logging.getLogger("datasets.iterable_dataset").setLevel(logging.ERROR)


def write_forms(root: Path, jpegs: Sequence[bytes], per_shard: int = 500) -> dict[str, Form]:
    """The pictures in every form that can be written here, each in a folder of `root`.

    "files" and "packed" need no library; "tar" (webdataset), "arrow" (datasets) and "mds"
    (mosaicml-streaming) stand where theirs is installed. A shard holds `per_shard` pictures; one
    of MDS, which counts bytes, about as many. `seconds` leaves out the library's import.

    Raises: FileExistsError where one of the folders is there already.
    """
    here = installed()
    return {
        name: _written(root / name, jpegs, per_shard, library, write)
        for name, (library, write) in FORMS.items()
        if library is None or library in here
    }


def _written(
    folder: Path, jpegs: Sequence[bytes], per_shard: int, library: str | None, write: "Writer"
) -> Form:
    if folder.exists():
        raise FileExistsError(f"{folder} is there already. Give write_forms a folder without it.")
    if library is not None:
        declare_torchvision_operators()  # which streaming imports
        import_module(IMPORTED_AS[library])
    folder.parent.mkdir(parents=True, exist_ok=True)
    start = perf_counter()
    write(folder, jpegs, per_shard)
    seconds = perf_counter() - start
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return Form(folder, seconds, len(sizes), sum(sizes))


def _files(folder: Path, jpegs: Sequence[bytes], per_shard: int) -> None:
    write_files(folder, jpegs)


def _packed(folder: Path, jpegs: Sequence[bytes], per_shard: int) -> None:
    folder.mkdir()
    (folder / "pictures.bin").write_bytes(b"".join(jpegs))
    np.save(folder / "ends.npy", np.fromiter(accumulate(map(len, jpegs)), np.int64, len(jpegs)))


def _tar(folder: Path, jpegs: Sequence[bytes], per_shard: int) -> None:
    import webdataset

    folder.mkdir()
    with webdataset.ShardWriter(
        f"{folder}/%04d.tar", maxcount=per_shard, verbose=0, mtime=0
    ) as shards:
        for place, jpeg in enumerate(jpegs):
            shards.write({"__key__": f"{place:05d}", "jpg": jpeg, "cls": place})


def _arrow(folder: Path, jpegs: Sequence[bytes], per_shard: int) -> None:
    import datasets

    table = datasets.Dataset.from_dict({"jpeg": jpegs, "label": range(len(jpegs))})
    silent = datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        table.save_to_disk(folder, num_shards=-(-len(jpegs) // per_shard))
    finally:
        if not silent:
            datasets.enable_progress_bars()


def _mds(folder: Path, jpegs: Sequence[bytes], per_shard: int) -> None:
    import streaming

    shard_bytes = per_shard * sum(map(len, jpegs)) // len(jpegs)
    columns = {"jpeg": "bytes", "label": "int"}
    with streaming.MDSWriter(
        out=str(folder), columns=columns, size_limit=shard_bytes, progress_bar=False
    ) as shards:
        for place, jpeg in enumerate(jpegs):
            shards.write({"jpeg": jpeg, "label": place})


Writer = Callable[[Path, Sequence[bytes], int], None]
FORMS: dict[str, tuple[str | None, Writer]] = {
    "files": (None, _files),
    "packed": (None, _packed),
    "tar": ("webdataset", _tar),
    "arrow": ("datasets", _arrow),
    "mds": ("mosaicml-streaming", _mds),
}
