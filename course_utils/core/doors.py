"""The front door of a folder: its public names, each fetched from its module at the first use."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def door(
    package: str, rooms: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` for a package: `rooms` says which module of it has each name.

    The module, and torch where that needs it, is imported when one of its names is used first.
    A name must not be a module's of the same package: it would hide the module, or be hidden.
    """

    def fetch(name: str) -> Any:
        if name not in rooms:
            raise AttributeError(f"{package} has no {name!r}; it offers {', '.join(rooms)}")
        return getattr(import_module(f"{package}.{rooms[name]}"), name)

    return fetch, lambda: sorted([*vars(import_module(package)), *rooms])
