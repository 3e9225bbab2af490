"""The forms in which Python's pickler writes plain data, as regular expressions over the bytes.

Every repetition is possessive, so that matching is linear in the file. A flat form is a value
whose inside holds no further dict; an event of a trace, with its list of frames, is one, so that
one match runs over thousands of them.
"""

import re


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
_LEAF = _either(_GET, _INT + b"(?:" + _TUPLE + b")?+", _TEXT, rb"[N\x88\x89]", rb"G.{8}", rb"\)")
_KEY = _either(_GET, _TEXT)


def _container(begin: bytes, entry: bytes, one: bytes, end: bytes) -> bytes:
    several = rb"\((?:" + entry + b")*+" + end + rb"(?!\()"  # over 1,000 come in several batches
    return begin + _MEMO + _either(several, entry + one, rb"(?!\()")


_LIST = _container(rb"\]", _LEAF, b"a", b"e")
_DICT = _container(rb"\}", _KEY + _either(_LEAF, _LIST), b"s", b"u")
_FLAT = _either(_LEAF, _LIST, _DICT)

SINGLE = re.compile(_FLAT, re.DOTALL)
PUSHES = re.compile(b"(?:" + _FLAT + b")*+", re.DOTALL)
PAIRS = re.compile(b"(?:" + _KEY + _FLAT + b")*+", re.DOTALL)
LONG_TEXT = re.compile(rb"X(.{4})|\x8d(.{8})", re.DOTALL)
TOKEN = re.compile(
    rb"(?P<open>[\]}]\x94?+\()|(?P<close>[eu]\(?+)|(?P<append>a)"
    rb"|(?P<text>X(?P<long>.{4})|\x8d(?P<longer>.{8}))"
    rb"|(?P<push>" + _either(_KEY, _LIST, _DICT) + rb")|(?P<loose>s|[\x85-\x87]\x94?+)",
    re.DOTALL,
)
