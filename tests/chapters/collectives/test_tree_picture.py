"""The picture of the tree: its messages make the sum."""

import pytest

from course_utils.chapters.collectives.tree_picture import draw_tree, tree_messages


@pytest.mark.parametrize("n", [2, 3, 7, 8])
def test_the_messages_add_up_to_the_sum_everywhere(n):
    steps, held = tree_messages(n), [10**rank for rank in range(n)]
    for number, step in enumerate(steps):
        for source, to in step:
            held[to] = held[source] + (held[to] if number < len(steps) // 2 else 0)
    assert len(steps) == 2 * (n - 1).bit_length()
    assert held == [int("1" * n)] * n


def test_the_picture_says_who_sends_to_whom():
    picture = draw_tree("A title", 3)
    assert "step 2: 2 → 0\n  step 3: 0 → 2\n  step 4: 0 → 1\n" in repr(picture)
    assert picture.png.startswith(b"\x89PNG")
