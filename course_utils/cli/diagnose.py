"""`python -m course_utils diagnose script.py`: a report on the screen, in a page and as JSON."""

import argparse
import sys
from pathlib import Path

import msgspec

from course_utils.core import files
from course_utils.diagnose.diagnosis import diagnose
from course_utils.diagnose.page import page
from course_utils.diagnose.passes import Script, ScriptError
from course_utils.diagnose.ranks import Ranks, under_torchrun
from course_utils.diagnose.report import in_words


def run(options: argparse.Namespace) -> int:
    """Runs the command; the exit status is the script's where the script fails."""
    if not Path(options.script).is_file():
        print(f"There is no script {options.script}.", file=sys.stderr)
        return 1
    script = Script(
        options.script, options.arguments, options.steps, options.seconds, show=options.show
    )
    ranks: Ranks | None = None
    try:
        ranks = Ranks(script) if under_torchrun() else None
        if ranks and ranks.rank:
            ranks.follow()
            return 0
        report = diagnose(ranks or script, options.minutes, not options.no_changes, say=_say)
    except ScriptError as error:
        print(
            f"{error}\n{options.script} failed by itself; above is its own message.",
            file=sys.stderr,
        )
        return error.status
    except RuntimeError as error:  # such a machine, or so many, can't be diagnosed
        print(error, file=sys.stderr)
        return 1
    finally:
        if ranks and not ranks.rank:
            ranks.end()
    print(in_words(report))
    if options.html:
        files.write_whole(options.html, page(report))
    if options.json:
        files.write_whole(options.json, msgspec.json.format(msgspec.json.encode(report)))
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
