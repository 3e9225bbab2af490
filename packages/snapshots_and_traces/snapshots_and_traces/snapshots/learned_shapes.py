"""The shapes of the dicts that a pickle repeats a million times, learned from a few of them.

A grammar of plain data tries, at each value, all that it may be. The events of a trace have a dozen
shapes: the same instructions, each with as many bytes. As a pattern of its own each is matched four
times as quickly, and it matches nothing that the grammar doesn't: where an instruction ends is told
by its code and length alone, and these stand in the pattern.
"""

import re
from collections import Counter

NO_ROWS = re.compile(rb"(?!)")
SAMPLES, MOST = 800, 24
LONGEST = 1000  # bytes of a dict from which a shape is learned
FEW = 2**20  # bytes of a program that isn't worth it
BEGINNING = b"}\x94("  # of a dict that is put together at once
COUNTED = 0x8A  # a number whose next byte says how many bytes follow
PAYLOADS = {  # bytes that follow an instruction
    **dict.fromkeys(b"}](u\x94QN\x88\x89)\x85\x86\x87", 0),
    **{ord("h"): 1, ord("K"): 1, ord("M"): 2, ord("j"): 4, ord("J"): 4, ord("G"): 8},
}


def learned(
    body: bytes, grammar: re.Pattern[bytes], rows: re.Pattern[bytes] = NO_ROWS
) -> list[bytes]:
    """Patterns of the dicts that are frequent in a program, for re.DOTALL, the most frequent first.

    `grammar` is what a dict has to be; what `rows` match, lists of dicts within it, may be of any
    length. Takes the same time for any program.
    """
    counts: Counter[bytes] = Counter()
    for sample in range(SAMPLES if len(body) > FEW else 0):
        at = sample * len(body) // SAMPLES
        at = body.find(BEGINNING, at, at + 2**14)
        found = grammar.match(body, at, at + LONGEST) if at >= 0 else None
        if found and (shape := shape_of(found[0], rows)):
            counts[shape] += 1
    return [shape for shape, _ in counts.most_common(MOST)]


def shape_of(text: bytes, rows: re.Pattern[bytes] = NO_ROWS) -> bytes:
    """The pattern of a dict: its instructions with any payload of the same length, and any `rows`.

    Empty where an instruction's length isn't known, as that of text.
    """
    parts, at = [], 0
    while at < len(text):
        if found := rows.match(text, at):
            parts.append(rows.pattern)
            at = found.end()
            continue
        head = text[at : at + 2] if text[at] == COUNTED else text[at : at + 1]
        payload = text[at + 1] if text[at] == COUNTED else PAYLOADS.get(text[at])
        if payload is None:
            return b""
        parts.append(re.escape(head) + (b".{%d}" % payload if payload else b""))
        at += len(head) + payload
    return b"".join(parts) + rb"(?!\()"  # over 1,000 pairs come in several batches
