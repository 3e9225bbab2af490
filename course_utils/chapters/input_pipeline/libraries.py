"""Pictures that are made, the forms in which libraries store them, and these libraries' readers."""

import io
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import util
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

# ---- Pictures that are made, not downloaded: JPEGs of drawn noise, the same pixels everywhere.

CLASSES = 10
CELL = 16  # pixels: the patches between which a picture's colours blend


def make_jpegs(n: int, size: int = 96) -> list[bytes]:
    """`n` colour pictures of `size` × `size` pixels as JPEGs; picture `i` is of class `i % 10`.

    Each is a grid of random colours, blended, with the class as its brightness, so that it
    compresses about as a photograph does. The pixels are the same everywhere; the bytes may differ
    between versions of the JPEG library.
    """
    rng = np.random.default_rng(0)
    return [_jpeg(rng, size, label=i % CLASSES) for i in range(n)]


def write_files(folder: Path, jpegs: Iterable[bytes]) -> list[Path]:
    """Writes one file a picture, `folder/00042.jpg`; returns their paths, in order."""
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


# ---- The same pictures in the form that each library reads, and how it reads them.


def readers(root: Path, jpegs: Sequence[bytes], per_shard: int) -> dict[str, Callable[[], Any]]:
    """Writes the pictures in each form whose library is installed, in folders of `root`.

    Returns functions by the reader's name. Each reads its form once, shuffled, as batches of 50
    lengths of JPEGs: nothing is decoded. A shard holds `per_shard` pictures.
    """
    found: dict[str, Callable[[], Any]] = {}
    for name, (library, write, read) in FORMS.items():
        if library and not util.find_spec(library):
            continue
        folder = root / f"{write.__name__.strip('_')}-{len(jpegs)}"
        if not folder.exists():
            write(folder, jpegs, per_shard)
        found[name] = partial(lambda read, folder: list(read(folder)), read, folder)
    return found


def _packed(folder: Path, jpegs: Sequence[bytes], per_shard: int) -> None:
    folder.mkdir(parents=True)
    (folder / "pictures.bin").write_bytes(b"".join(jpegs))
    np.save(folder / "at.npy", [0, *accumulate(map(len, jpegs))])


def read_packed(folder: Path) -> Iterable[Any]:
    from torch.utils.data import DataLoader

    file, at = np.memmap(folder / "pictures.bin", np.uint8, "r"), np.load(folder / "at.npy")
    slices = list(map(slice, at[:-1], at[1:]))
    return DataLoader(slices, 50, True, collate_fn=lambda some: [len(file[s]) for s in some])  # type: ignore[arg-type]


def _tar(folder: Path, jpegs: Sequence[bytes], per_shard: int) -> None:
    import webdataset

    folder.mkdir(parents=True)
    pattern = f"{folder}/%04d.tar"
    with webdataset.ShardWriter(pattern, maxcount=per_shard, verbose=0, mtime=0) as shards:
        for place, jpeg in enumerate(jpegs):
            shards.write({"__key__": f"{place:05d}", "jpg": jpeg, "cls": place})


def read_tar(folder: Path) -> Iterable[Any]:
    import webdataset

    shards = sorted(map(str, folder.iterdir()))
    read = webdataset.WebDataset(shards, shardshuffle=len(shards)).shuffle(200)
    return webdataset.WebLoader(read.to_tuple("jpg").map_tuple(len).batched(50), batch_size=None)


def _arrow(folder: Path, jpegs: Sequence[bytes], per_shard: int) -> None:
    import datasets

    table = datasets.Dataset.from_dict({"jpeg": jpegs, "label": range(len(jpegs))})
    datasets.disable_progress_bars()
    table.save_to_disk(folder, num_shards=-(-len(jpegs) // per_shard))


def read_arrow(folder: Path, stream: bool = False) -> Iterable[Any]:
    import datasets
    from torch.utils.data import DataLoader

    rows: Any = datasets.load_from_disk(folder).select_columns("jpeg")
    if stream:
        rows = rows.to_iterable_dataset().shuffle(seed=0, buffer_size=200)
    shuffle = None if stream else True
    return DataLoader(rows, 50, shuffle, collate_fn=lambda some: [len(row["jpeg"]) for row in some])


FORMS: dict[str, tuple[str, Callable[..., None], Callable[[Path], Iterable[Any]]]] = {
    "one packed file": ("", _packed, read_packed),
    "datasets, Arrow by index": ("datasets", _arrow, read_arrow),
    "datasets, as a stream": ("datasets", _arrow, lambda folder: read_arrow(folder, stream=True)),
    "WebDataset, tar shards": ("webdataset", _tar, read_tar),
}
