"""Which packages a target needs for recording, beside those that it has: no network, no folder."""

import re
import tomllib
from collections.abc import Callable, Iterable
from importlib import metadata

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from course_utils.core.files import ROOT

# What a machine made for deep learning has. What these need themselves, it has too.
USUAL = ("torch", "torchvision", "numpy", "matplotlib", "scipy", "pandas")
OPENS_PAGES = ("jupyterlab",)  # recording runs them without it
MANYLINUX = re.compile(r"manylinux_2_(\d+)_(\w+)")
OLDER_NAMES = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}

Needs = Callable[[str], Iterable[str]]


class KitError(Exception):
    """A kit can't be made; the message says why, and what to do."""


def tags(platform: str) -> list[str]:
    """A platform tag and every older one whose wheels run there too, newest first.

    A wheel for glibc 2.17 runs with 2.28 (PEP 600); pip takes only the tags that it is given.
    Raises: KitError for what isn't `manylinux_2_N_ARCHITECTURE`.
    """
    match = MANYLINUX.fullmatch(platform)
    if not match:
        raise KitError(
            f"{platform!r} is no platform that a kit is made for. Give manylinux_2_28_x86_64, "
            "manylinux_2_28_aarch64 (Grace), or with another glibc ('ldd --version' says which)."
        )
    newest, machine = int(match[1]), match[2]
    found: list[str] = []
    for minor in range(newest, 4, -1):
        found.append(f"manylinux_2_{minor}_{machine}")
        if minor in OLDER_NAMES:
            found.append(f"{OLDER_NAMES[minor]}_{machine}")
    return found


def machine(platform: str) -> str:
    """The architecture in a platform tag, as `platform.machine()` would say it."""
    return tags(platform)[0].split("_", 3)[3]


def environment(python: str, platform: str) -> dict[str, str]:
    """What markers such as `python_version < "3.13"` are compared with, on the target."""
    return {
        **default_environment(),
        "implementation_name": "cpython",
        "os_name": "posix",
        "platform_machine": machine(platform),
        "platform_python_implementation": "CPython",
        "platform_system": "Linux",
        "python_full_version": f"{python}.0",
        "python_version": python,
        "sys_platform": "linux",
    }


def pinned() -> dict[str, Requirement]:
    """name -> line of requirements.txt."""
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    found = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(one.name): one for one in found}


def pins(where: dict[str, str]) -> dict[str, str]:
    """name -> version, from requirements.txt, of what exists for that environment."""
    here = [(n, one) for n, one in pinned().items() if not one.marker or one.marker.evaluate(where)]
    return {name: str(one.specifier)[2:] for name, one in here}


def oldest(name: str) -> str:
    """The lowest version of a package that pyproject.toml promises to work with."""
    (found,) = (one for one in map(Requirement, roots()) if one.name == name)
    (lowest,) = (one.version for one in found.specifier if one.operator == ">=")
    return lowest


def roots() -> list[str]:
    """The requirements of the library that runs pages, and of its guest d2l."""
    wanted = [*_project()["project"]["dependencies"], *_project()["dependency-groups"]["d2l"]]
    return [one for one in wanted if Requirement(one).name not in OPENS_PAGES]


def needed() -> set[str]:
    """The names of the packages without which the library can't run; d2l's aren't among them."""
    stated = _project()["project"]["dependencies"]
    return {canonicalize_name(Requirement(one).name) for one in stated}


def _project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def installed_needs(name: str) -> list[str]:
    """The requirements that a package installed here states; none for one that isn't here."""
    try:
        return metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return []


def closed(wanted: Iterable[str], where: dict[str, str], needs: Needs = installed_needs) -> set:
    """The names of the wanted requirements and of all that those need there, at any distance."""
    waiting = [Requirement(one) for one in wanted]
    found: set[tuple[str, str]] = set()
    while waiting:
        one = waiting.pop()
        name = canonicalize_name(one.name)
        for extra in ("", *one.extras):
            if (name, extra) not in found:
                found.add((name, extra))
                waiting += _asked(needs(name), {**where, "extra": extra})
    return {name for name, _ in found}


def _asked(stated: Iterable[str], where: dict[str, str]) -> list[Requirement]:
    """Of stated requirements those that count in this environment."""
    found = [Requirement(one) for one in stated]
    return [one for one in found if one.marker is None or one.marker.evaluate(where)]


def assumed(has: Iterable[str] = (), lacks: Iterable[str] = ()) -> list[str]:
    """The packages that the target must have itself: the usual, and `has`, without `lacks`.

    Raises: KitError for a name that the course doesn't use, and where torch itself is lacking.
    """
    known = pinned()
    has, lacks = [[canonicalize_name(name) for name in names] for names in (has, lacks)]
    for name in (*has, *lacks):
        if name not in known:
            raise KitError(f"{name} is no package of the course: see requirements.txt.")
    if "torch" in lacks:
        raise KitError("A kit holds no torch: the target needs its own, made for its GPU.")
    return [name for name in dict.fromkeys((*USUAL, *has)) if name not in lacks]


def packages(
    python: str, platform: str, has: Iterable[str] = (), lacks: Iterable[str] = ()
) -> dict[str, str]:
    """name -> version of the wheels of a kit: what recording needs and the target lacks.

    Raises: KitError for a platform that isn't known, and a name that the course doesn't use.
    """
    supported = _project()["project"]["requires-python"]
    if not SpecifierSet(supported).contains(f"{python}.0"):
        raise KitError(f"The course needs Python {supported}, so there is no kit for {python}.")
    where = environment(python, platform)
    there = closed(assumed(has, lacks), where) - {canonicalize_name(name) for name in lacks}
    wanted = closed(roots(), where) - there
    return {name: version for name, version in pins(where).items() if name in wanted}
