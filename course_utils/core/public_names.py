"""Makes the public names of a package, each imported from its module when it is first used.

A twin of `snapshots_and_traces.public_names`: an older Python, without the packages, must get as
far as the sentence that says which one is needed.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def public_names(
    package: str, modules: Mapping[str, str]
) -> tuple[dict[str, str], Callable[[str], Any], Callable[[], list[str]]]:
    """Returns `MODULE_OF`, `__getattr__` and `__dir__` for a package's `__init__`.

    `modules` says which names each module has: `{"costs": "Link busbw"}` offers two names of the
    module `costs`. `MODULE_OF` has the module of each name. The module, and torch where that needs
    it, is imported when one of its names is used first. A name must not be a module's of the same
    package: it would hide the module, or be hidden.
    """
    modules_of = {name: module for module, names in modules.items() for name in names.split()}

    def fetch(name: str) -> Any:
        if name not in modules_of:
            raise AttributeError(f"{package} has no {name!r}; it offers {', '.join(modules_of)}")
        return getattr(import_module(f"{package}.{modules_of[name]}"), name)

    return modules_of, fetch, lambda: sorted([*vars(import_module(package)), *modules_of])
