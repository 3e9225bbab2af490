"""The pictures in each library's form: another reader finds every byte, and each comes once."""

import itertools
import tarfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from course_utils.chapters.input_pipeline import libraries, make_jpegs, readers

N = 23


@pytest.fixture(scope="module")
def jpegs():
    return make_jpegs(N, size=32)


@pytest.fixture(scope="module")
def written(jpegs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("forms")
    return folder, readers(folder, jpegs, per_shard=10)


def read_packed(folder):
    at, packed = np.load(folder / "at.npy"), (folder / "pictures.bin").read_bytes()
    return [packed[a:b] for a, b in itertools.pairwise(at)]


def read_tar(folder):
    found = {}
    for shard in sorted(folder.glob("*.tar")):
        with tarfile.open(shard) as tar:
            found |= {Path(one.name): tar.extractfile(one).read() for one in tar.getmembers()}
    return [found[path] for path in sorted(found) if path.suffix == ".jpg"]


def read_arrow(folder):
    ipc = pytest.importorskip("pyarrow.ipc")  # not the library that wrote them
    shards = [ipc.open_stream(path).read_all() for path in sorted(folder.glob("*.arrow"))]
    return [row["jpeg"] for shard in shards for row in shard.to_pylist()]


@pytest.mark.thorough("course_utils/chapters/input_pipeline", "requirements.txt")
@pytest.mark.parametrize(
    "name, read", [("packed", read_packed), ("tar", read_tar), ("arrow", read_arrow)]
)
def test_every_picture_is_found_at_its_place(written, jpegs, name, read):
    folder = written[0] / f"{name}-{N}"
    if not folder.exists():
        pytest.skip(f"the library that writes {name} isn't installed")
    assert read(folder) == jpegs


@pytest.mark.thorough("course_utils/chapters/input_pipeline", "requirements.txt")
def test_every_reader_reads_each_picture_once(written, jpegs):
    for name, read in written[1].items():
        lengths = [int(length) for batch in read() for length in np.asarray(batch).ravel()]
        assert Counter(lengths) == Counter(map(len, jpegs)), name


def test_readers_whose_library_is_missing_are_left_out(jpegs, tmp_path, monkeypatch):
    monkeypatch.setattr(libraries.util, "find_spec", lambda name: None)
    assert list(readers(tmp_path, jpegs[:2], per_shard=10)) == ["one packed file"]
