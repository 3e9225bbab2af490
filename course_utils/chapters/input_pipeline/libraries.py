"""The same pictures in the form that each library reads, and which of these libraries are here.

A form keeps each picture's JPEG bytes and a label, and the label is the picture's place among the
pictures: whoever reads them can count which came, how often, and in which order.
"""

import io
import logging
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module, metadata, util
from itertools import accumulate
from pathlib import Path
from time import perf_counter

import numpy as np
from PIL import Image

from course_utils.workloads.d2l_guest import declare_torchvision_operators

# ---- Pictures that are made, not downloaded: JPEGs of drawn noise, the same pixels everywhere.

CLASSES = 10
CELL = 16  # pixels: the patches between which a picture's colours blend


def make_jpegs(n: int, size: int = 96, seed: int = 0) -> list[bytes]:
    """`n` colour pictures of `size` × `size` pixels as JPEGs; picture `i` is of class `i % 10`.

    Each is a grid of random colours, blended, with the class as its brightness, so that it
    compresses as a photograph does (2 to 3 kB of its 28 kB). The pixels follow from `seed`; the
    bytes may differ between versions of the JPEG library.
    """
    rng = np.random.default_rng(seed)
    return [_jpeg(rng, size, label=i % CLASSES) for i in range(n)]


def write_files(folder: Path, jpegs: Iterable[bytes]) -> list[Path]:
    """One file a picture, `folder/00042.jpg`; their paths, in the order of the pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for i, jpeg in enumerate(jpegs):
        paths.append(folder / f"{i:05d}.jpg")
        paths[-1].write_bytes(jpeg)
    return paths


def _jpeg(rng: np.random.Generator, size: int, label: int) -> bytes:
    grid = rng.integers(0, 156, (size // CELL + 1, size // CELL + 1, 3)) + 10 * label
    picture = Image.fromarray(grid.astype(np.uint8)).resize((size, size), Image.Resampling.BICUBIC)
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=90)
    return file.getvalue()


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
