"""The pictures that are made: the same each time, of ten classes, as files in their order."""

import io

import numpy as np
from PIL import Image

from course_utils.chapters import input_pipeline as chapter


def pixels(jpeg):
    return np.asarray(Image.open(io.BytesIO(jpeg)))


def test_pictures_follow_from_their_seed():
    assert chapter.make_jpegs(3) == chapter.make_jpegs(3)
    assert chapter.make_jpegs(3) != chapter.make_jpegs(3, seed=1)


def test_a_picture_has_its_size_and_compresses_as_a_photograph_does():
    jpegs = chapter.make_jpegs(20, size=64)
    assert {pixels(jpeg).shape for jpeg in jpegs} == {(64, 64, 3)}
    assert 0.05 < sum(map(len, jpegs)) / (20 * 64 * 64 * 3) < 0.2


def test_a_class_can_be_told_by_its_brightness():
    jpegs = chapter.make_jpegs(400)
    means = [np.mean([pixels(j).mean() for j in jpegs[k::10]]) for k in range(10)]
    assert np.all(np.diff(means) > 5)


def test_files_lie_in_the_order_of_their_pictures(tmp_path):
    jpegs = chapter.make_jpegs(12)
    paths = chapter.write_files(tmp_path / "new", jpegs)
    assert [path.read_bytes() for path in paths] == jpegs
    assert paths == sorted(paths)
