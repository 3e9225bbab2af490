"""What chapter 8's exercises are compared with, against torchao and other ways to count."""

import pytest
import torch

from course_utils.chapters.quantization import exercises as references
from course_utils.lesson.exercises import grade
from tests.chapters.quantization.right_answers import affine_by_loop


@pytest.mark.parametrize("bits", range(2, 9))
@pytest.mark.parametrize("kind", references.kinds_of_groups(4))
def test_ours_are_torchaos_codes_but_for_ties(kind, bits):
    x = torch.stack([references.kinds_of_groups(16)[kind] for _ in range(64)]).reshape(4, 16, 16)
    codes, scales, zeros = references.by_hand(x, bits, 16)
    theirs = references.by_torchao(x, bits, 16)
    assert [one.shape for one in (codes, scales, zeros)] == [one.shape for one in theirs]
    assert torch.equal(zeros, theirs[2])
    if kind == "all 0":  # torchao's scale is then FP32's smallest normal number
        assert not codes.any() and not theirs[0].any()
        return
    torch.testing.assert_close(scales, theirs[1], rtol=1e-6, atol=0)
    differ = codes != theirs[0]
    from_tie = ((x / scales).abs() % 1 - 0.5).abs()
    assert not differ.any() or from_tie[differ].max() < 1e-4


def test_without_torchao_the_check_of_affine_compares_with_ours(monkeypatch):
    def refuse(name):
        raise ImportError(name)

    monkeypatch.setattr(references, "quiet_import", refuse)
    with pytest.raises(ImportError):
        references.by_torchao(torch.ones(4), 4, 4)
    references.import_torchao()
    assert grade("quant.affine", affine_by_loop).passed
    assert grade("quant.affine", lambda *case: affine_by_loop(-case[0], *case[1:])).passed is False


def test_a_cache_without_rest_has_as_many_bits_a_number_as_the_chapter_says():
    n = 2 * 3 * 2 * 5 * 64
    assert references.made_cache_bytes(3, 2, 64, 5, 16, 32) == 2 * n
    assert references.made_cache_bytes(3, 2, 64, 5, 4, 32) == n * (4 + 32 / 32) / 8
    assert references.made_cache(3, 2, 80, 5, 3, 32)["scales"] == 2 * 3 * 2 * 5 * 3 * 2
