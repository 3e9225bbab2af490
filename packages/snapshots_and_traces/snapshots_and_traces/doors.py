"""The front door of a folder: its public names, each fetched from its module at the first use."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def door(
    package: str, modules: Mapping[str, str]
) -> tuple[dict[str, str], Callable[[str], Any], Callable[[], list[str]]]:
    """`ROOMS` (name: module), `__getattr__` and `__dir__` for a package's `__init__`."""
    rooms = {name: module for module, names in modules.items() for name in names.split()}

    def fetch(name: str) -> Any:
        if name not in rooms:
            raise AttributeError(f"{package} has no {name!r}; it offers {', '.join(rooms)}")
        return getattr(import_module(f"{package}.{rooms[name]}"), name)

    return rooms, fetch, lambda: sorted([*vars(import_module(package)), *rooms])
