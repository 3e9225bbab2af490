"""Makes the public names of a package, each imported from its module when it is first used."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def door(
    package: str, modules: Mapping[str, str]
) -> tuple[dict[str, str], Callable[[str], Any], Callable[[], list[str]]]:
    """`ROOMS`, `__getattr__` and `__dir__` for a package: `modules` says which names each has.

    `{"costs": "Link busbw"}` offers two names of the module `costs`; `ROOMS` has the module of each
    name. The module, and torch where that needs it, is imported when one of its names is used
    first. A name must not be a module's of the same package: it would hide the module, or be
    hidden.
    """
    rooms = {name: module for module, names in modules.items() for name in names.split()}

    def fetch(name: str) -> Any:
        if name not in rooms:
            raise AttributeError(f"{package} has no {name!r}; it offers {', '.join(rooms)}")
        return getattr(import_module(f"{package}.{rooms[name]}"), name)

    return rooms, fetch, lambda: sorted([*vars(import_module(package)), *rooms])
