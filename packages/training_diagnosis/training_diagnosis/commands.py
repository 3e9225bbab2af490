"""The command: a report on the screen, in a page and as JSON."""

import argparse
import sys
from pathlib import Path


def add_options(parser: argparse.ArgumentParser) -> None:
    """Gives a parser the options of the command, and the script with its own arguments."""
    parser.add_argument("--steps", type=int, default=40, help="of each pass (default: 40)")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each pass, at most")
    parser.add_argument("--minutes", type=float, default=10.0, help="of all passes together")
    parser.add_argument("--no-changes", action="store_true", help="measure no gain")
    parser.add_argument("--show", action="store_true", help="show what the script prints")
    parser.add_argument("--json", type=Path, help="file for the report, for other programs")
    parser.add_argument("--html", type=Path, help="file for the report as one offline page")
    parser.add_argument("script", help="your script; it isn't changed")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own")


def run(options: argparse.Namespace) -> int:
    """Runs the command; the exit status is the script's where the script fails."""
    import msgspec

    from snapshots_and_traces.files import write_whole
    from training_diagnosis.diagnosis import diagnose
    from training_diagnosis.page import page
    from training_diagnosis.passes import Script, ScriptError
    from training_diagnosis.ranks import Ranks, under_torchrun
    from training_diagnosis.report import in_words

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
        write_whole(options.html, page(report))
    if options.json:
        write_whole(options.json, msgspec.json.format(msgspec.json.encode(report)))
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
