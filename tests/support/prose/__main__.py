"""`python -m tests.support.prose 01` prints each number of chapter 01 that nothing stands behind."""

import sys

from course_utils.core import files
from tests.support.prose import page
from tests.support.prose.checker import Checker


def main(chosen: list[str]) -> None:
    for path in files.chapters():
        if chosen and path.stem[:2] not in chosen:
            continue
        checker = Checker(page.read(path))
        verdicts = [v for passage in checker.page.passages for v in checker.verdicts(passage)]
        missing = [v for v in verdicts if not v.resolved]
        for v in missing:
            text, at = v.passage.text, v.number.start
            around = text[max(0, at - 40) : at + len(v.number.text) + 40].replace("\n", " ")
            print(f"[{v.passage.index}] {v.passage.kind}: {v.number.text!r} {v.outcome}: …{around}…")
        print(f"{path.stem}: {len(missing)} of {len(verdicts)}", "\n")


main(sys.argv[1:])
