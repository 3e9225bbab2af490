"""The pictures in each library's form: the library, or another reader, finds every byte of them."""

import tarfile
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from course_utils.chapters.input_pipeline import hush_libraries, installed, write_forms
from course_utils.chapters.input_pipeline import libraries as module
from course_utils.chapters.input_pipeline.pictures import make_jpegs

N = 23


@pytest.fixture(scope="module")
def jpegs():
    return make_jpegs(N, size=32)


@pytest.fixture(scope="module")
def forms(jpegs, tmp_path_factory):
    return write_forms(tmp_path_factory.mktemp("forms"), jpegs, per_shard=10)


def form_of(forms, name):
    if name not in forms:
        pytest.skip(f"the library that writes {name} isn't installed")
    return forms[name].folder


def test_every_picture_is_a_file_of_its_own(forms, jpegs):
    paths = sorted(form_of(forms, "files").iterdir())
    assert [path.read_bytes() for path in paths] == jpegs


def test_the_ends_cut_the_packed_file_into_the_pictures(forms, jpegs):
    folder = form_of(forms, "packed")
    ends = np.load(folder / "ends.npy")
    packed = (folder / "pictures.bin").read_bytes()
    assert [packed[a:b] for a, b in zip([0, *ends], ends, strict=False)] == jpegs


def test_tar_opens_a_shard_and_finds_pictures_and_their_places(forms, jpegs):
    found = []
    for shard in sorted(form_of(forms, "tar").glob("*.tar")):
        with tarfile.open(shard) as tar:
            found.append({m.name: tar.extractfile(m).read() for m in tar.getmembers()})
    assert [len(files) // 2 for files in found] == [10, 10, 3]
    for name, content in (pair for files in found for pair in files.items()):
        place = int(Path(name).stem)
        assert content == (jpegs[place] if name.endswith("jpg") else str(place).encode())


def test_pyarrow_reads_the_arrow_files_without_the_library_that_wrote_them(forms, jpegs):
    shards = sorted(form_of(forms, "arrow").glob("*.arrow"))
    ipc = pytest.importorskip("pyarrow.ipc")
    rows = [row for shard in shards for row in ipc.open_stream(shard).read_all().to_pylist()]
    assert len(shards) == 3
    assert rows == [{"jpeg": jpeg, "label": place} for place, jpeg in enumerate(jpegs)]


def test_streaming_finds_every_picture_at_its_place(forms, jpegs):
    folder = form_of(forms, "mds")
    from streaming import StreamingDataset

    rows = StreamingDataset(local=str(folder), batch_size=1, num_canonical_nodes=1)
    assert [rows[place] for place in range(N)] == [
        {"jpeg": jpeg, "label": place} for place, jpeg in enumerate(jpegs)
    ]


def test_a_form_says_how_many_files_and_bytes_it_takes(forms, jpegs):
    assert (forms["files"].files, forms["files"].n_bytes) == (N, sum(map(len, jpegs)))
    assert forms["packed"].files == 2
    assert all(form.n_bytes >= forms["files"].n_bytes for form in forms.values())


def test_a_folder_in_the_way_is_named_and_kept(jpegs, tmp_path):
    (tmp_path / "files").mkdir()
    with pytest.raises(FileExistsError, match=r"files is there already\. Give write_forms"):
        write_forms(tmp_path, jpegs)
    assert list(tmp_path.iterdir()) == [tmp_path / "files"]


def test_without_the_libraries_their_forms_are_left_out(jpegs, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "installed", dict)
    assert list(write_forms(tmp_path, jpegs[:2])) == ["files", "packed"]


def test_what_is_installed_can_be_found_and_has_a_version():
    for library, version in installed().items():
        assert find_spec(module.IMPORTED_AS[library]) is not None
        assert version[0].isdigit()


def test_what_is_not_here_is_not_listed(monkeypatch):
    monkeypatch.setattr(module.util, "find_spec", lambda name: None)
    assert installed() == {}


def test_writing_leaves_progress_bars_as_they_were(jpegs, tmp_path):
    datasets = pytest.importorskip("datasets")
    before = datasets.are_progress_bars_disabled()
    write_forms(tmp_path, jpegs[:2])
    assert datasets.are_progress_bars_disabled() == before


def test_once_hushed_resuming_loaders_say_nothing(capfd):
    pytest.importorskip("torchdata")
    from torchdata.stateful_dataloader import StatefulDataLoader

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        hush_libraries()
        loader = StatefulDataLoader(range(4), shuffle=True)
        loader.load_state_dict(loader.state_dict())
        assert len(list(loader)) == 4
    assert not [str(warning.message) for warning in heard]
    assert capfd.readouterr().err == ""


def test_once_hushed_a_resumed_shuffle_buffer_logs_nothing(capfd):
    datasets = pytest.importorskip("datasets")
    hush_libraries()
    stream = datasets.Dataset.from_dict({"a": range(20)}).to_iterable_dataset()
    stream = stream.shuffle(seed=0, buffer_size=4)
    rows = iter(stream)
    [next(rows) for _ in range(9)]
    stream.load_state_dict(stream.state_dict())
    next(iter(stream))
    assert capfd.readouterr().err == ""
