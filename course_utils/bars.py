"""A bar for steps that take long, for whoever sits and waits."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from course_utils.attended import is_attended

T = TypeVar("T")


def bar(steps: Iterable[T], what: str = "", total: int | None = None) -> Iterator[T]:
    """The same steps, under a bar that comes after a second and goes when they are done.

    `total` is their number, where `steps` can't say it. Nobody there: no bar, so that what is
    stored and compared stays the same.
    """
    if not is_attended():
        yield from steps
        return
    from tqdm.auto import tqdm

    with tqdm(steps, desc=what, total=total, leave=False, delay=1) as shown:
        yield from shown
