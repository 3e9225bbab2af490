"""Which packages a target needs for recording, beside those that it has: no network, no folder."""

import re
import tomllib
from collections.abc import Iterable
from importlib import metadata

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from course_utils.core.files import ROOT

# What a machine made for deep learning has. What these need themselves, it has too.
USUAL = ("torch", "torchvision", "numpy", "matplotlib", "scipy", "pandas")
OPENS_PAGES = ("jupyterlab", "nbconvert")  # recording runs them without these
OLDER_NAMES = ("manylinux2014", "manylinux2010", "manylinux1")  # of glibc 2.17, 2.12 and 2.5


class KitError(Exception):
    """A kit can't be made; the message says why, and what to do."""


def tags(platform: str) -> list[str]:
    """A platform tag and every older one whose wheels run there too: pip takes only these.

    Raises: KitError for a platform that isn't `manylinux_2_N_ARCHITECTURE`.
    """
    match = re.fullmatch(r"manylinux_2_(\d+)_(\w+)", platform)
    if not match:
        raise KitError(
            f"{platform!r} is no platform that a kit is made for. Give manylinux_2_28_x86_64, "
            "manylinux_2_28_aarch64 (Grace), or with another glibc ('ldd --version' says which)."
        )
    names = [f"manylinux_2_{minor}" for minor in range(int(match[1]), 4, -1)]
    return [f"{name}_{match[2]}" for name in (*names, *OLDER_NAMES)]


def environment(python: str, platform: str) -> dict[str, str]:
    """The values, on the target, of markers such as `python_version < "3.13"`."""
    return {
        **default_environment(),
        "os_name": "posix",
        "platform_machine": tags(platform)[0].split("_", 3)[3],
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


def oldest(name: str) -> str:
    """The lowest version of a package that pyproject.toml promises to work with."""
    (found,) = (one for one in map(Requirement, _roots()) if one.name == name)
    (lowest,) = (one.version for one in found.specifier if one.operator == ">=")
    return lowest


def _roots() -> list[str]:
    """The requirements of the library that runs pages."""
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = stated["project"]["dependencies"]
    return [one for one in wanted if Requirement(one).name not in OPENS_PAGES]


def closed(wanted: Iterable[str], where: dict[str, str]) -> set[str]:
    """The names of the wanted requirements and of all that they need there, at any distance.

    What a package needs is known of those that are installed here.
    """
    waiting, found = [*map(Requirement, wanted)], set()
    while waiting:
        one = waiting.pop()
        for extra in {"", *one.extras} - {extra for name, extra in found if name == one.name}:
            found.add((one.name, extra))
            here = {**where, "extra": extra}
            needs = [Requirement(need) for need in _needs(one.name)]
            waiting += [need for need in needs if not need.marker or need.marker.evaluate(here)]
    return {canonicalize_name(name) for name, _ in found}


def _needs(name: str) -> list[str]:
    try:
        return metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return []


def assumed(has: Iterable[str] = (), lacks: Iterable[str] = ()) -> list[str]:
    """The packages that the target must have itself: the usual, and `has`, without `lacks`.

    Raises: KitError for a name that the course doesn't use, and where torch itself is lacking.
    """
    for name in (*has, *lacks):
        if name not in pinned():
            raise KitError(f"{name} is no package of the course: see requirements.txt.")
    if "torch" in lacks:
        raise KitError("A kit holds no torch: the target needs its own, made for its GPU.")
    return [name for name in dict.fromkeys((*USUAL, *has)) if name not in lacks]


def packages(
    python: str, platform: str, has: Iterable[str] = (), lacks: Iterable[str] = ()
) -> list[str]:
    """The packages of a kit, `name==version`: what recording needs and the target lacks.

    Raises: KitError for a platform that isn't known, and a name that the course doesn't use.
    """
    where = environment(python, platform)
    there = closed(assumed(has, lacks), where) - set(lacks)
    wanted = closed(_roots(), where) - there
    return [
        f"{name}{one.specifier}"
        for name, one in pinned().items()
        if name in wanted and (not one.marker or one.marker.evaluate(where))
    ]
