"""Run by `record.sh` with the Python that it found: looks, records, packs the recordings.

It runs on the target, from the kit, with nothing but Python. All that it writes is in the kit.
"""

import os
import platform
import shutil
import signal
import site
import subprocess
import sys
import tarfile
import threading
import time
from pathlib import Path

KIT = Path(__file__).resolve().parents[2]
FULL_BYTES = 10_000_000  # with less than that left, a failure is the disk's
GRACE_SECONDS = 3, 20  # until a recording that was stopped is ended, and until it is killed
LOOK = """
import re, torch, matplotlib, nbclient, ipykernel, ipywidgets, gfloat, ml_dtypes
gpus = [torch.cuda.get_device_name(n) for n in range(torch.cuda.device_count())]
print(f"torch {torch.__version__}, {', '.join(gpus) or 'no GPU'}")
oldest = re.search(r"torch>=([0-9.]+)", open("pyproject.toml").read())[1]
if torch.__version__ < oldest:
    print(f"The course wants torch {oldest}: some cells will fail.")
if not gpus:
    print("torch sees no GPU here, so the CPU is recorded. Slurm gives a GPU with --gpus 1.")
"""


def main(arguments: list[str]) -> int:
    """Records what the arguments ask for; the exit status is 0 where nothing failed."""
    try:
        environment = own_environment()
    except OSError as error:
        sentence = f"{KIT} can't be written ({error.strerror}). Copy the kit to a folder with room."
        print(sentence, file=sys.stderr)
        return 1
    command = [sys.executable, "-c", LOOK]
    done = subprocess.run(command, cwd=KIT, env=environment, capture_output=True, text=True)
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        print(
            f"{sys.executable} can't record ({why}). A package that is missing here a kit can "
            'bring (at home: make kit ARGS="--lacks matplotlib"). A package that is here and '
            "doesn't load is for another machine: this one is --platform manylinux_2_N_"
            f"{platform.machine()}, with N from 'ldd --version'.",
            file=sys.stderr,
        )
        return 1
    print(f"Python {platform.python_version()}, {done.stdout.strip()}", flush=True)
    try:
        status = record(environment, arguments)
        if status and shutil.disk_usage(KIT).free < FULL_BYTES:
            print(f"The disk under {KIT} is full. Make room, run record.sh again, and it goes on.")
        return status
    finally:
        pack()


def own_environment() -> dict[str, str]:
    """The environment of the recording: the kit's packages first, all caches within the kit."""
    home = KIT / "own"
    home.mkdir(exist_ok=True)
    (home / "written").write_text("yes\n", encoding="utf-8")
    paths = [str(one) for one in (KIT, *KIT.glob("packages/*"), KIT / "site")]
    paths.append(os.environ.get("PYTHONPATH", ""))
    return {
        **os.environ,
        "HOME": str(home),  # Jupyter, IPython, matplotlib, CUDA and Triton keep theirs below it
        "XDG_CACHE_HOME": str(home / "cache"),
        "TORCHINDUCTOR_CACHE_DIR": str(home / "inductor"),
        "PYTHONUSERBASE": site.getuserbase(),  # torch may be there, below the real home
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PYTHONUTF8": "1",
    }


def record(environment: dict[str, str], arguments: list[str]) -> int:
    """Runs `course_utils record` in the kit; its exit status, or 128 + the signal that ended it.

    Asked to stop (Ctrl-C, Slurm's SIGTERM, a closed terminal), it gives the recording the time
    to stop by itself, so that what was measured can still be packed.
    """
    command = [sys.executable, "-m", "course_utils", "record", "--to", "recorded", *arguments]
    stopped: list[int] = []
    child = subprocess.Popen(command, cwd=KIT, env=environment)

    def stop(number: int, _frame: object) -> None:
        stopped.append(number)
        for seconds, end in zip(GRACE_SECONDS, (child.terminate, child.kill), strict=True):
            timer = threading.Timer(seconds, end)
            timer.daemon = True
            timer.start()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, stop)
    status = child.wait()
    if stopped:
        print("\nRecording was stopped. Run record.sh again and it goes on.")
        return 128 + stopped[0]
    if status < 0:
        print(f"Recording was ended by signal {-status}: was there too little memory?")
    return status if status >= 0 else 128 - status


def pack() -> None:
    """One archive of all that was ever recorded in this kit, without what is half-written."""
    machines = sorted(path.name for path in KIT.glob("recorded/*"))
    if not machines:
        print("Nothing was recorded, so there is nothing to carry home.")
        return
    archive = KIT / f"recorded-{'-'.join(machines)}-{time.strftime('%Y-%m-%d')}.tgz"
    try:
        with tarfile.open(archive, "w:gz") as packed:
            for folder in ("recorded", "build/executed"):
                if (KIT / folder).exists():
                    packed.add(KIT / folder, folder, filter=_whole)
    except OSError as error:
        archive.unlink(missing_ok=True)
        print(
            f"The archive can't be written ({error.strerror}). What was measured is safe: copy the "
            f"folders recorded and build/executed of {KIT} by hand."
        )
        return
    print(f"To carry home: {archive} ({archive.stat().st_size / 1e6:.1f} MB).")
    print(f"There, in the folder of the course: tar xzf {archive.name} -C data")


def _whole(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if Path(member.name).name.startswith(".") else member


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
