"""`python -m snapshots_and_traces snapshot FILE` and `... trace FILE`; --help says more."""

import argparse
import sys
from pathlib import Path

from snapshots_and_traces import commands


def main(arguments: list[str] | None = None) -> int:
    """Runs one command; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m snapshots_and_traces", description=__doc__)
    here = dict.fromkeys(("snapshot", "trace"), Path())
    shown = "here, with .html behind the file's name"
    commands.add_to(parser.add_subparsers(required=True, metavar="command"), here, shown)
    options = parser.parse_args(arguments)
    try:
        return int(options.run(options))
    except BrokenPipeError:  # whoever reads the words has enough: `| head`
        sys.stderr.close()
        return 0


if __name__ == "__main__":
    sys.exit(main())
