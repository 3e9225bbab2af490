"""What has digits and is no quantity: names, numbers of chapters, years, code's identifiers."""

import re

_NAMED = (
    "chapters?|sections?|exercises?|hint|issue|figure|version|PCIe|NVLink|GTX|Llama|CUDA|torch's"
    "|torch|Python|Xeon|Platinum"
)
_NAMES = [
    re.compile(r"```.*?```", re.S),
    re.compile(r"\(\d+ minutes, (?:about )?\d+ lines?\)"),  # an exercise's, which nobody measures
    re.compile(r"\[\d+\]\([^)\s]*\)|\]\([^)\s]*\)"),
    re.compile(r"\]\[[^\]]*\]|https?://\S+"),
    re.compile(r"^#+ \d+(?:\.| ·)?", re.M),
    re.compile(r"(?<![\w-])(?:rank|device|node|GPU) \d+\b(?![,.]\d)", re.I),
    re.compile(r"#[\da-f]{6}\b"),
    re.compile(
        r"\b1F1B\b|\bzero-[123]\b|\bZeRO-[123]\b|\bstages? [0-3](?:(?:,| and| to) [0-3])*\b", re.I
    ),
    re.compile(r"`\d[ \d]+`"),
    re.compile(r"\bhint\(\"[^)]*\)|0x[\d.a-f]+p?\d*"),
    re.compile(rf"\b(?:{_NAMED}) \[?\(?\d[\d.]*(?:(?:,| and| to|–) ?\d+\b)*(?:\)|x\d+)?", re.I),
    re.compile(r"\btorch(?:'s)? \(\d+\.\d+\)|\bCUDA \d+(?:\.\d+)*|\bcapability \d\.\d"),
    re.compile(
        r"(?<![\w.])(?<!\d,)(?:19[5-9]\d|20[0-3]\d)(?!\w|,\d|\.\d| ×)(?!\s(?:bytes|MiB|GPUs|n\b))"
    ),
    re.compile(r"(?<![\w.])\d+(?:st|nd|rd|th|D|-D)\b"),
    re.compile(r"(?<![\w])[A-Za-zα-ω_][\w]*(?:[-.][A-Za-z]*\d[\w.]*\w|[-.]\d+)*(?![\w])"),
]
_ITEM = re.compile(r"^(\s*(?:>\s*)?)\d+[.)] ", re.M)


def masked(text: str) -> str:
    """The text with blanks for what is no quantity, so that places in it stay the same.

    Words without digits stay: they say what a number counts.
    """
    for pattern in _NAMES:
        text = pattern.sub(lambda found: _blank(found[0]), text)
    return _ITEM.sub(lambda found: " " * len(found[0]), text)


def _blank(name: str) -> str:
    digits = any(letter.isdigit() for letter in name)
    return re.sub(r"[^\n]", " ", name) if digits else name
