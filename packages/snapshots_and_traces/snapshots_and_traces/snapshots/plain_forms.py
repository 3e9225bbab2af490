"""The forms in which Python's pickler writes plain data, as regular expressions over its bytes.

Every repetition is possessive, so that matching is linear in the file. A flat form is a value whose
inside holds no further dict; an event of a trace, with its list of frames, is one, so that one
match runs over thousands of them, most of them by patterns of their own (`learned_shapes`), as a
segment has too, with its blocks.
Source of the instructions: Python's `pickletools`.
"""

import re

from snapshots_and_traces.snapshots.learned_shapes import learned


def _either(*forms: bytes) -> bytes:
    return b"(?>" + b"|".join(forms) + b")"


def _counted(code: bytes, longest: int) -> bytes:
    """An instruction whose next byte says how many bytes follow."""
    lengths = (re.escape(bytes([n])) + (b".{%d}" % n if n else b"") for n in range(longest + 1))
    return code + _either(*lengths)


_MEMO = rb"\x94?+"
_GET = _either(rb"h.", rb"j.{4}")
_TEXT = _counted(rb"\x8c", 255) + _MEMO
_INT = _either(rb"K.", rb"M..", rb"J.{4}", _counted(rb"\x8a", 9))
_TUPLE = _either(rb"\x85", _INT + _either(rb"\x86", _INT + rb"\x87")) + _MEMO
_AGAIN = rb"J.{4}Q\x94"  # the list of this number: a file's own gets no more than these either
_LEAF = _either(
    _AGAIN, _GET, _INT + b"(?:" + _TUPLE + b")?+", _TEXT, rb"[N\x88\x89]", rb"G.{8}", rb"\)"
)
_KEY = _either(_GET, _TEXT)


def _container(begin: bytes, entry: bytes, one: bytes, end: bytes) -> bytes:
    several = rb"\((?:" + entry + b")*+" + end + rb"(?!\()"  # over 1,000 come in several batches
    return begin + _MEMO + _either(several, entry + one, rb"(?!\()")


_LIST = _container(rb"\]", _LEAF, b"a", b"e") + b"Q?+"
_DICT = _container(rb"\}", _KEY + _either(_LEAF, _LIST), b"s", b"u")
_FLAT = _either(_LEAF, _LIST, _DICT)


def _rows(one: bytes) -> bytes:
    """A list of one dict or more, as a segment's blocks are."""
    return rb"\]" + _MEMO + _either(rb"\((?:" + one + rb")++e(?!\()", one + b"a")


def pushes(shapes: list[bytes]) -> re.Pattern[bytes]:
    """Flat forms one after the other, tried after dicts of these shapes."""
    return re.compile(b"(?:" + b"|".join([*shapes, _FLAT]) + b")*+", re.DOTALL)


DICT = re.compile(_DICT, re.DOTALL)
NESTED = re.compile(
    _container(rb"\}", _KEY + _either(_rows(_DICT), _LEAF, _LIST), b"s", b"u"), re.DOTALL
)
SINGLE = re.compile(_FLAT, re.DOTALL)
PUSHES = pushes([])
PAIRS = re.compile(b"(?:" + _KEY + _FLAT + b")*+", re.DOTALL)
LONG_TEXT = re.compile(rb"X(.{4})|\x8d(.{8})", re.DOTALL)
TOKEN = re.compile(
    rb"(?P<open>[\]}]\x94?+\()|(?P<close>[eu]\(?+)|(?P<append>a)"
    rb"|(?P<text>X(?P<long>.{4})|\x8d(?P<longer>.{8}))"
    rb"|(?P<push>" + _either(_KEY, _LIST, _DICT) + rb")|(?P<loose>s|[\x85-\x87]\x94?+)",
    re.DOTALL,
)


def frequent(body: bytes) -> list[bytes]:
    """Patterns of the dicts that are frequent in a program, flat or with lists of flat ones."""
    flat = learned(body, DICT)
    return learned(body, NESTED, re.compile(_rows(_either(*flat)), re.DOTALL)) if flat else []
