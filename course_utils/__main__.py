"""`python -m course_utils COMMAND`: see --help for the commands, and COMMAND --help for one."""

from __future__ import annotations  # an older Python must get as far as its sentence

import argparse
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TOO_OLD = "This course needs Python 3.11 or newer; this is {}.{}. Install one and run `make setup`."


def main(arguments: list[str] | None = None) -> int:
    """Runs one command; returns the exit status."""
    if sys.version_info < (3, 11):  # noqa: UP036
        print(TOO_OLD.format(*sys.version_info[:2]), file=sys.stderr)
        return 1
    parser = _parser()
    options, for_lab = parser.parse_known_args(arguments)
    options.for_lab = for_lab
    if for_lab and options.run is not _demo:
        parser.error(f"unrecognized arguments: {' '.join(for_lab)}")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return options.run(options)
    except KeyboardInterrupt:
        print("Stopped. Nothing half-written is left.", file=sys.stderr)
        return 130
    except Exception as error:
        if not _expected(error):
            raise
        print(error, file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    from course_utils.core import files
    from snapshots_and_traces import commands as commands_for_files
    from training_diagnosis import commands as commands_for_scripts

    parser = argparse.ArgumentParser(prog="python -m course_utils", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")
    chapters = argparse.ArgumentParser(add_help=False)
    chapters.add_argument("chapters", nargs="*", help="such as 02; all of them without a name")

    def command(
        name: str, run: Callable[..., int], text: str, **how: Any
    ) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, **how)
        made.set_defaults(run=run)
        return made

    command("doctor", _doctor, "what works on this machine, and what to do")
    record = command(
        "record", _record, "run chapters here and keep what they measure", parents=[chapters]
    )
    record.add_argument("--to", type=Path, help="folder for the files (default: data/recorded)")
    record.add_argument("--minutes", type=float, help="stop in good time before these are over")
    record.add_argument("--again", action="store_true", help="also what is recorded already")
    record.add_argument("--plan", action="store_true", help="only say what there is to do")
    judge = command("judge", _judge, "what speaks against recorded files, if anything")
    judge.add_argument("folder", nargs="?", type=Path, help="default: data/recorded")
    command("normalise", _normalise, "run notebooks and store their outputs", parents=[chapters])
    for_lab = "Other options go to JupyterLab: --no-browser --port 9000."
    demo = command("demo", _demo, "rehearse a chapter, then open it for a class", epilog=for_lab)
    demo.add_argument("chapter", help="such as 02")
    demo.add_argument("--no-open", action="store_true", help="rehearse only")
    slides = command("slides", _slides, "make slides of a chapter, in one file", parents=[chapters])
    slides.add_argument("--no-code", action="store_true", help="without slides of code")
    handout = command("handout", _handout, "make a copy of a chapter for a class, to be run")
    handout.add_argument("chapter", nargs="?", help="such as 02")
    for one in (slides, handout):
        one.add_argument("--syllabus", help="such as half-day: of its parts (see syllabi/)")
    handout.add_argument("--output", type=Path, help="file or folder (default: build/handouts)")
    progress = command("progress", _progress, "what was run and solved here; it stays here")
    progress.add_argument("--clear", action="store_true", help="forget it")
    commands_for_files.add_to(
        commands,
        {"snapshot": files.ROOT / "build" / "snapshots", "trace": files.ROOT / "build" / "traces"},
        "under build",
    )
    said = "where the time and memory of your script go"
    commands_for_scripts.add_options(command("diagnose", commands_for_scripts.run, said))
    command("predict", _predict, "predict the kept peaks of memory anew")
    command("snapshots", _snapshots, "make the snapshots of chapter 9 anew")
    return parser


def _doctor(_options: argparse.Namespace) -> int:
    from course_utils.cli.doctor import examine, report

    findings = examine()
    print(report(findings))
    return int(any(finding.works is False for finding in findings))


def _record(options: argparse.Namespace) -> int:
    from course_utils.cli import notebooks, recording_plan
    from course_utils.core import files
    from course_utils.core.machine import this_machine
    from course_utils.judging.judge import how_to_offer

    to = options.to or files.RECORDED
    visits = recording_plan.plan(_chapters(options.chapters), to, options.again)
    notebooks.say(recording_plan.in_words(visits, options.minutes))
    if options.plan:
        return 0
    failed = recording_plan.make(visits, to, options.minutes)
    notebooks.say(f"The executed notebooks are in {notebooks.EXECUTED.relative_to(files.ROOT)}")
    if (folder := to / this_machine().slug).exists():
        notebooks.say(how_to_offer(folder.resolve()))
    return int(failed)


def _judge(options: argparse.Namespace) -> int:
    from course_utils.core import files
    from course_utils.judging.judge import verdict

    lines, objected = verdict(options.folder or files.RECORDED)
    print("\n".join(lines))
    return int(objected)


def _normalise(options: argparse.Namespace) -> int:
    from course_utils.cli import notebooks
    from course_utils.core import files

    for chapter in _pages(options.chapters):
        for path in (chapter, files.SOLUTIONS / chapter.name):
            if path.exists():
                notebooks.say(f"Running {path.relative_to(files.ROOT)}")
                seconds = notebooks.normalise(path)
                notebooks.say(f"  ✓ stored after {time.strftime('%M:%S', time.gmtime(seconds))}")
    return 0


def _demo(options: argparse.Namespace) -> int:
    from course_utils.cli import demo, notebooks
    from course_utils.core import files

    path = files.chapter_path(options.chapter)
    unwell = _doctor(options)
    notebooks.say(f"\nRehearsing {path.stem}: every cell, in a kernel of its own")
    runs = demo.rehearse(path)
    notebooks.say(demo.report(runs))
    if options.no_open:
        return int(unwell or any(run.failed for run in runs))
    notebooks.say("\nOpening it. A cell that fails in class shows what is stored, and says so.")
    return demo.open_for_class(path, options.for_lab)


def _handout(options: argparse.Namespace) -> int:
    from course_utils.cli import handout, notebooks
    from course_utils.core import files

    if options.syllabus:
        made = handout.make_syllabus(options.syllabus, options.output or handout.HANDOUTS)
        notebooks.say(f"{made.resolve()}: a notebook for each chapter; the folder has them, too")
        return 0
    made = handout.make(files.chapter_path(options.chapter or ""), options.output)
    notebooks.say(f"{made.resolve()}: no outputs; sources that tell a result are collapsed")
    return 0


def _slides(options: argparse.Namespace) -> int:
    from course_utils.cli import slides
    from course_utils.core import files

    code = not options.no_code
    if options.syllabus:
        made = [slides.make_syllabus(options.syllabus, code=code)]
    else:
        made = [slides.make(path, code=code) for path in _chapters(options.chapters)]
    for path in made:
        print(f"Open in a browser: {path.relative_to(files.ROOT)}")
    return 0


def _progress(options: argparse.Namespace) -> int:
    from course_utils.lesson import progress

    if options.clear:
        progress.clear()
        print("Forgotten.")
    else:
        print(progress.report())
    return 0


def _predict(_options: argparse.Namespace) -> int:
    from course_utils.core.files import ROOT
    from course_utils.memory import kept_predictions

    print(f"Stored in {kept_predictions.store().relative_to(ROOT)}")
    return 0


def _snapshots(_options: argparse.Namespace) -> int:
    from course_utils.chapters.memory_snapshots import chapter_snapshots

    chapter_snapshots.make_all()
    return 0


def _chapters(names: list[str]) -> list[Path]:
    from course_utils.core import files

    if names:
        return [files.chapter_path(name) for name in names]
    return files.chapters()


def _pages(names: list[str]) -> list[Path]:
    """The chapters, and the index where it is named or nothing is."""
    from course_utils.core import files

    index = [files.INDEX] if not names or {"00", files.INDEX.stem} & set(names) else []
    named = [name for name in names if name not in ("00", files.INDEX.stem)]
    return index + (_chapters(named) if named or not names else [])


def _expected(error: Exception) -> bool:
    """Errors whose message is meant for the reader; any other shows where it comes from."""
    from course_utils.cli.notebooks import NotebookError
    from course_utils.core.evidence import EvidenceError

    return isinstance(error, EvidenceError | NotebookError | LookupError | OSError)


if __name__ == "__main__":
    sys.exit(main())
