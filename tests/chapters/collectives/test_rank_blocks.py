"""What ranks hold is drawn."""

import torch

from course_utils.chapters.collectives.rank_blocks import draw_holdings


def test_holdings_are_drawn_from_tensors_lists_and_nothing():
    before = [torch.tensor([65]), None, [torch.tensor([1]), torch.tensor([2])]]
    picture = draw_holdings("A title", {"move": (before, [5, 6, 7])}, letters=True)
    assert repr(picture).startswith("[figure] A title\n") and picture.png.startswith(b"\x89PNG")
