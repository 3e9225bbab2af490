"""The exercises of chapter 12 against what stands on its page."""

import re

import torch

from course_utils.lesson.exercises import grade
from tests.support.page_cells import cells_of


def test_the_loop_with_three_bugs_on_the_page_is_wrong_every_time():
    quoted = re.sub(r"(?m)^> ?", "", cells_of("12")["exercises"])
    names = {"torch": torch}
    exec(re.search(r"```python\n(.*?)```", quoted, re.S)[1], names)
    assert not any(grade("data_parallelism.train", names["train"]).passed for _ in range(5))
