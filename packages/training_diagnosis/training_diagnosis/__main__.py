"""`python -m training_diagnosis train.py ARGS…`; --help says more."""

import argparse
import signal
import sys

from training_diagnosis import commands


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m training_diagnosis",
        description="Where the time and the memory of your training script go.",
    )
    commands.add_options(parser)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return commands.run(parser.parse_args(arguments))
    except KeyboardInterrupt:
        print("Stopped. Nothing half-written is left.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
