"""The pictures in each library's form: the library, or another reader, finds every byte of them."""

import tarfile
from pathlib import Path

import numpy as np
import pytest

from course_utils.chapters.input_pipeline import installed, write_forms
from course_utils.chapters.input_pipeline import libraries as module
from course_utils.chapters.input_pipeline.libraries import make_jpegs

N = 23


@pytest.fixture(scope="module")
def jpegs():
    return make_jpegs(N, size=32)


@pytest.fixture(scope="module")
def forms(jpegs, tmp_path_factory):
    return write_forms(tmp_path_factory.mktemp("forms"), jpegs, per_shard=10)


def read_files(folder):
    return [(path.read_bytes(), k) for k, path in enumerate(sorted(folder.iterdir()))]


def read_packed(folder):
    ends, packed = np.load(folder / "ends.npy"), (folder / "pictures.bin").read_bytes()
    starts = [0, *ends[:-1]]
    return [(packed[a:b], k) for k, (a, b) in enumerate(zip(starts, ends, strict=True))]


def read_tar(folder):
    found = {}
    for shard in sorted(folder.glob("*.tar")):
        with tarfile.open(shard) as tar:
            found |= {Path(one.name): tar.extractfile(one).read() for one in tar.getmembers()}
    jpegs = [path for path in sorted(found) if path.suffix == ".jpg"]
    return [(found[path], int(found[path.with_suffix(".cls")])) for path in jpegs]


def read_arrow(folder):
    ipc = pytest.importorskip("pyarrow.ipc")  # not the library that wrote them
    shards = [ipc.open_stream(path).read_all() for path in sorted(folder.glob("*.arrow"))]
    return [(row["jpeg"], row["label"]) for shard in shards for row in shard.to_pylist()]


def read_mds(folder):
    from streaming import StreamingDataset

    rows = StreamingDataset(local=str(folder), batch_size=1, num_canonical_nodes=1)
    return [(rows[place]["jpeg"], rows[place]["label"]) for place in range(N)]


@pytest.mark.thorough("course_utils/chapters/input_pipeline", "requirements.txt")
@pytest.mark.parametrize(
    "name, read, shards",
    [
        ("files", read_files, N),
        ("packed", read_packed, 2),
        ("tar", read_tar, 3),
        ("arrow", read_arrow, None),
        ("mds", read_mds, None),
    ],
)
def test_every_picture_is_found_at_its_place(forms, jpegs, name, read, shards):
    if name not in forms:
        pytest.skip(f"the library that writes {name} isn't installed")
    form = forms[name]
    assert read(form.folder) == [(jpeg, place) for place, jpeg in enumerate(jpegs)]
    assert shards in (form.files, None) and form.n_bytes >= sum(map(len, jpegs))


def test_a_folder_in_the_way_is_named_and_kept_and_missing_libraries_are_left_out(
    jpegs, tmp_path, monkeypatch
):
    monkeypatch.setattr(module.util, "find_spec", lambda name: None)
    assert installed() == {}
    assert list(write_forms(tmp_path, jpegs[:2])) == ["files", "packed"]
    with pytest.raises(FileExistsError, match=r"files is there already\. Give write_forms"):
        write_forms(tmp_path, jpegs)
    assert len(list((tmp_path / "files").iterdir())) == 2
