"""`python -m tests.support.prose 01` prints each number of chapter 01 that nothing stands behind.

For each: its cell, kind and words, and what the evidence beside it holds that is most like it. With
`--all` it prints what stands behind the others too; with `--planted` it changes every number, one
at a time, and prints which changes nobody would see.
"""

import argparse

from course_utils.core import files
from tests.support.prose import mutants, page, reasons
from tests.support.prose.checker import Checker, Verdict


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.support.prose", description=__doc__)
    parser.add_argument("chapters", nargs="*", help="01, 02, …: without, all of them")
    parser.add_argument("--all", action="store_true", help="print every number and its source")
    parser.add_argument("--planted", action="store_true", help="change each number, and count")
    chosen = parser.parse_args()
    for path in files.chapters():
        if not chosen.chapters or path.stem[:2] in chosen.chapters:
            checker = Checker(page.read(path))
            report_planted(checker) if chosen.planted else report(checker, chosen.all)


def report(checker: Checker, everything: bool) -> None:
    """Prints the numbers of a page that have no source, or all of them."""
    verdicts = [v for passage in checker.page.passages for v in checker.verdicts(passage)]
    missing = [verdict for verdict in verdicts if not verdict.resolved]
    for verdict in verdicts if everything else missing:
        print(described(verdict, checker))
    for stretch in reasons.stale(checker.page, checker.reasons):
        print(f"a reason that speaks of nothing on the page: {stretch!r}")
    print(f"{checker.page.name}: {len(missing)} of {len(verdicts)} numbers have no source\n")


def described(verdict: Verdict, checker: Checker) -> str:
    """The number in its words, and what stands behind it or would be nearest."""
    passage, number = verdict.passage, verdict.number
    end = number.start + len(number.text)
    before = passage.text[max(0, number.start - 45) : number.start]
    after = passage.text[end : end + 35]
    words = f"…{before}⟦{number.text}⟧{after}…".replace("\n", " ")
    line = f"[{passage.index}] {passage.kind}: {words}"
    if verdict.resolved:
        behind = verdict.reason or (verdict.source.where if verdict.source else verdict.outcome)
        return f"{line}\n      ← {behind}"
    near = "; ".join(f"{s.written:.6g} in {s.where}" for s in checker.nearest(verdict))
    only = " only a ≈ value, which the next machine changes;" if verdict.outcome == "live" else ""
    return f"{line}\n      {only} nearest: {near or 'nothing'}"


def report_planted(checker: Checker) -> None:
    """Prints the share of changed numbers that the check catches, and each that it doesn't."""
    tally = mutants.planted(checker, words=True)
    for verdict, text in tally.escaped:
        print(f"{described(verdict, checker)}\n      → {text}")
    print(f"{checker.page.name}: {tally.share:.1%} of {tally.tried} changes caught\n")


if __name__ == "__main__":
    main()
