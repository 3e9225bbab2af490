"""What `record.sh` does once it has found a Python with torch: look, unpack, record, pack.

It runs on the target, from the kit, and uses nothing but Python. Everything it writes lies in the
kit's folder.
"""

import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from importlib import metadata
from pathlib import Path

KIT = Path(__file__).resolve().parent.parent.parent
ROOM_BYTES = 100_000_000  # for what is recorded, caches and the archive
FULL_BYTES = 10_000_000  # with less than that left, a failure is the disk's
GRACE_SECONDS = (3, 20)  # until a stopped recording is told so, and until it is ended
TRIED = ("nbclient", "ipykernel", "ipywidgets", "gfloat", "ml_dtypes")
LOOK = """
import json, torch
gpus = [torch.cuda.get_device_name(n) for n in range(torch.cuda.device_count())]
print(json.dumps([torch.__version__, gpus]))
"""


class CannotRecord(Exception):
    """Why nothing can be recorded here, and what to do."""


def main(arguments: list[str]) -> int:
    """Records what the arguments ask for; the exit status is 0 where nothing failed."""
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    try:
        look(KIT)
        site = unpack(KIT)
        environment = own_environment(KIT, site)
        try_wheels(environment)
    except CannotRecord as problem:
        print(problem, file=sys.stderr)
        return 1
    try:
        status = record(KIT, environment, arguments)
        if status and shutil.disk_usage(KIT).free < FULL_BYTES:
            print(f"The disk under {KIT} is full. Make room, run record.sh again, and it goes on.")
        return status
    finally:
        pack(KIT)


def look(kit: Path) -> None:
    """Prints what is here. CannotRecord where something is missing that recording can't do without.

    torch is asked in a process of its own: the memory that it takes on a GPU goes with it.
    """
    machine = told(kit, "MACHINE")
    if platform.machine() != machine:
        raise CannotRecord(
            f"This machine is {platform.machine()} and the kit for {machine}. At home: "
            f'make kit ARGS="--platform manylinux_2_28_{platform.machine()}".'
        )
    done = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True)
    if done.returncode:
        raise CannotRecord(
            f"{sys.executable} has a torch that doesn't load ({last_line(done.stderr)}). "
            "Mend that, or point PYTHON at another Python; then run this again."
        )
    version, gpus = json.loads(done.stdout.splitlines()[-1])
    print(f"Python {platform.python_version()}, torch {version}, {', '.join(gpus) or 'no GPU'}")
    if numbers(version) < numbers(told(kit, "OLDEST_TORCH")):
        print(f"The course wants torch {told(kit, 'OLDEST_TORCH')}: some cells will fail.")
    if not gpus:
        print(
            "torch sees no GPU here, so this processor is recorded. Under Slurm a GPU is asked "
            "for with --gpus 1."
        )
    missing = [name for name in told(kit, "NEEDED").split() if not installed(name)]
    if missing:
        lacks = " ".join(f"--lacks {name}" for name in missing)
        raise CannotRecord(
            f"{sys.executable} has no {', '.join(missing)}. Load what has it, or at home: "
            f'make kit ARGS="{lacks}".'
        )
    missing = [name for name in told(kit, "USEFUL").split() if not installed(name)]
    if missing:
        print(f"Without {', '.join(missing)} the comparisons with d2l are skipped.")


def told(kit: Path, name: str) -> str:
    """What the kit says of the machine that it was made for."""
    return (kit / "target" / name).read_text(encoding="utf-8").strip()


def numbers(version: str) -> tuple[int, ...]:
    """The first two parts of a version, to compare."""
    return tuple(map(int, re.findall(r"\d+", version)[:2]))


def installed(name: str) -> bool:
    """Whether a package is here, in whatever version."""
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def last_line(text: str) -> str:
    """What an error's traceback ends with."""
    return (text.strip().splitlines() or ["no word"])[-1]


def unpack(kit: Path) -> Path:
    """The folder with the kit's packages, made from its wheels unless an earlier run did.

    A wheel is a zip; what it keeps under `*.data` belongs beside the packages.
    Raises: CannotRecord where the folder can't be written, or is full.
    """
    site, part, wheels = kit / "site", kit / "site.part", sorted((kit / "wheels").glob("*.whl"))
    names = "".join(f"{wheel.name}\n" for wheel in wheels)
    stamp = site / "unpacked"
    try:
        tempfile.TemporaryFile(dir=kit).close()
        if stamp.exists() and stamp.read_text(encoding="utf-8") == names:
            return site
        require_room(kit, wheels)
        shutil.rmtree(part, ignore_errors=True)
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as packed:
                packed.extractall(part)
        for data in part.glob("*.data/*"):
            if data.name in ("data", "purelib", "platlib"):
                shutil.copytree(data, part, dirs_exist_ok=True)
        (part / "unpacked").write_text(names, encoding="utf-8")
        shutil.rmtree(site, ignore_errors=True)
        part.replace(site)
    except OSError as error:
        shutil.rmtree(part, ignore_errors=True)
        raise CannotRecord(
            f"{kit} can't be written ({error.strerror}). Copy the kit to a folder with room where "
            "you may write (scratch), and run record.sh there."
        ) from None
    print(f"Unpacked {len(wheels)} packages beside torch, in {site}")
    return site


def require_room(kit: Path, wheels: list[Path]) -> None:
    """CannotRecord where the wheels and what will be recorded don't fit on the disk."""
    needed = ROOM_BYTES
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as packed:
            needed += sum(one.file_size for one in packed.infolist())
    free = shutil.disk_usage(kit).free
    if free < needed:
        raise CannotRecord(
            f"The disk under {kit} has {free / 1e6:.0f} MB left, and recording needs "
            f"{needed / 1e6:.0f}. Make room, or copy the kit to another disk."
        )


def own_environment(kit: Path, site: Path) -> dict[str, str]:
    """The environment of the recording: the kit's packages first, all that is kept in the kit."""
    own = kit / "own"
    paths = [str(kit), str(site), os.environ.get("PYTHONPATH", "")]
    folders = {
        "CUDA_CACHE_PATH": "cuda",
        "IPYTHONDIR": "ipython",
        "JUPYTER_CONFIG_DIR": "jupyter/config",
        "JUPYTER_DATA_DIR": "jupyter/data",
        "JUPYTER_RUNTIME_DIR": "jupyter/runtime",
        "MPLCONFIGDIR": "matplotlib",
        "TORCHINDUCTOR_CACHE_DIR": "inductor",
        "TRITON_CACHE_DIR": "triton",
        "XDG_CACHE_HOME": "cache",
    }
    for folder in folders.values():
        (own / folder).mkdir(parents=True, exist_ok=True)
    return {
        **os.environ,
        **{name: str(own / folder) for name, folder in folders.items()},
        "JUPYTER_PATH": str(site / "share" / "jupyter"),
        "JUPYTER_PLATFORM_DIRS": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PYTHONUTF8": "1",
    }


def try_wheels(environment: dict[str, str]) -> None:
    """CannotRecord where the kit's packages don't load here."""
    command = [sys.executable, "-c", f"import {', '.join(TRIED)}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise CannotRecord(
            f"The kit's packages don't load here ({last_line(done.stderr)}). 'ldd --version' says "
            'which glibc is here; for 2.17 at home: make kit ARGS="--platform '
            f'manylinux_2_17_{platform.machine()}".'
        )


def record(kit: Path, environment: dict[str, str], arguments: list[str]) -> int:
    """Runs `course_utils record` below the kit; its exit status, or 128 + the signal that ended it.

    Asked to stop (Ctrl-C, Slurm's SIGTERM, a closed terminal), it gives the recording the time
    to stop by itself, so that what was measured can still be packed.
    """
    command = [sys.executable, "-m", "course_utils", "record", "--to", "recorded", *arguments]
    stopped: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda number, _: stopped.append(number))
    child = subprocess.Popen(command, cwd=kit, env=environment)
    while not stopped and child.poll() is None:
        time.sleep(0.2)
    if stopped:
        for seconds, end in zip(GRACE_SECONDS, (child.terminate, child.kill), strict=True):
            try:
                child.wait(seconds)
                break
            except subprocess.TimeoutExpired:
                end()
        print("\nRecording was stopped. Run record.sh again and it goes on.")
        return 128 + stopped[0]
    status = child.wait()
    if status < 0:
        print(f"Recording was ended by signal {-status}: was there too little memory?")
    return status if status >= 0 else 128 - status


def pack(kit: Path) -> Path | None:
    """One archive of all that was ever recorded in this kit; None, and a sentence, without any."""
    there = [kit / "recorded", kit / "build" / "executed"]
    found = [p for f in there for p in sorted(f.rglob("*")) if p.is_file() and p.name[0] != "."]
    measured = [path for path in found if there[0] in path.parents]
    if not measured:
        print("Nothing was recorded, so there is nothing to carry home.")
        return None
    newest = max(measured, key=lambda path: path.stat().st_mtime)
    machine = newest.relative_to(there[0]).parts[0]
    archive = kit / f"recorded-{machine}-{time.strftime('%Y-%m-%d')}.tgz"
    part = archive.with_suffix(".part")
    try:
        with tarfile.open(part, "w:gz") as packed:
            for path in found:
                packed.add(path, arcname=str(path.relative_to(kit)))
        part.replace(archive)
    except OSError as error:
        part.unlink(missing_ok=True)
        print(
            f"The archive can't be written ({error.strerror}). What was measured is safe: copy the "
            f"folders {' and '.join(map(str, there))} by hand."
        )
        return None
    print(
        f"To carry home: {archive} ({archive.stat().st_size / 1e6:.1f} MB, {len(measured)} "
        f"recordings). There, in the folder of the course: tar xzf {archive.name} -C data"
    )
    return archive


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
