"""The events of a Chrome trace, one after the other, from a file that nobody vouches for.

A trace of a million events has hundreds of megabytes, and as Python's dicts several times that. So
the file is read in pieces, by the standard library's decoder, one event at a time: as quick as any
parser that makes dicts need be (a million events in about 5 s), and no wheel more to install.

Source of the form: Google's "Trace Event Format", JSON Array and JSON Object Format.
"""

import codecs
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LARGEST_BYTES = 2**30  # unpacked; a million events with stacks and shapes have half of that
LARGEST_VALUE = 2**24  # characters of one event, or of one entry beside `traceEvents`
PIECE = 2**20  # bytes
WRITER = "torch.profiler's export_chrome_trace"
SPACES = re.compile(r"[ \t\r\n]*+")


class TraceError(ValueError):
    """A file that is no profiler trace, or a broken one; the message is a sentence."""


class _Text:
    """The file's text, of which only what isn't used yet is kept."""

    def __init__(self, file: io.BufferedIOBase) -> None:
        self.file, self.text, self.at, self.ended, self.bytes = file, "", 0, False, 0
        self.utf8 = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self.decode = json.JSONDecoder(strict=False).raw_decode

    def more(self) -> bool:
        """Reads a piece; False where nothing is left."""
        if self.ended:
            return False
        piece = self.file.read(max(PIECE, len(self.text) - self.at))
        self.bytes += len(piece)
        if self.bytes > LARGEST_BYTES:
            raise TraceError(
                f"it has more than {LARGEST_BYTES >> 20:,} MiB unpacked: trace fewer steps, with "
                "torch.profiler.schedule(active=2)."
            )
        self.ended = not piece
        self.text = self.text[self.at :] + self.utf8.decode(piece, final=self.ended)
        self.at = 0
        return True

    def peek(self) -> str:
        """The next character that isn't blank; "" at the end."""
        while True:
            self.at = SPACES.match(self.text, self.at).end()  # type: ignore[union-attr]
            if self.at < len(self.text) or not self.more():
                return self.text[self.at : self.at + 1]

    def take(self, expected: str) -> bool:
        """Goes over a character and the blanks behind it, if it is the next."""
        if not self.text.startswith(expected, self.at) and self.peek() != expected:
            return False
        self.at = SPACES.match(self.text, self.at + 1).end()  # type: ignore[union-attr]
        return True

    def value(self, kind: str, number: int | None = None) -> Any:
        """The next whole value, called by its kind and number if something is wrong with it."""
        while True:
            try:
                found, end = self.decode(self.text, self.at)
            except (ValueError, RecursionError) as error:
                if not self.may_go_on(error) or not self.more():
                    what = kind if number is None else f"{kind} {number:,}"
                    raise TraceError(f"{what} {self.wrong(error)}") from None
                self.peek()
            else:
                if end < len(self.text) or not self.more():  # a number may go on in the next piece
                    self.at = end
                    return found

    def may_go_on(self, error: Exception) -> bool:
        """Whether what can't be read may be whole with the next piece."""
        return isinstance(error, json.JSONDecodeError) and len(self.text) - self.at < LARGEST_VALUE

    def wrong(self, error: Exception) -> str:
        """What is wrong with a value, to stand after what it is called."""
        if isinstance(error, RecursionError):
            return "is nested deeper than any trace: write the trace anew."
        if not isinstance(error, json.JSONDecodeError):
            return "has a number of thousands of digits: write the trace anew."
        if not self.ended:
            return f"has no end within {LARGEST_VALUE:,} characters, or isn't JSON: trace anew."
        if error.pos >= len(self.text.rstrip()) or error.msg.startswith("Unterminated"):
            return "is where the file ends: it was cut off; copy it anew."
        return f"isn't JSON ({error.msg}, in {self.text[self.at :][:20]!r}): write the trace anew."


def events(path: Path, beside: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields each event of a trace; what stands beside `traceEvents` is put into `beside`.

    Packed by gzip or not, by its first bytes; an object with `traceEvents`, or a bare list.
    Raises: TraceError, without the file's name; OSError as `open` does.
    """
    with path.open("rb") as plain:
        begin = plain.read(4)
        plain.seek(0)
        packed = begin[:2] == b"\x1f\x8b"
        try:
            yield from _events(_Text(gzip.GzipFile(fileobj=plain) if packed else plain), beside)
        except EOFError:
            raise TraceError("its gzip stream is cut off: copy it anew.") from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise TraceError(f"its gzip stream is broken ({error}): copy it anew.") from None


def _events(text: _Text, beside: dict[str, Any]) -> Iterator[dict[str, Any]]:
    first = text.peek()
    if not first:
        raise TraceError(f"it is empty: give the file that {WRITER} wrote.")
    if text.take("["):
        yield from _list(text)
    elif text.take("{"):
        yield from _object(text, beside)
    else:
        raise TraceError(_stranger(first))
    if text.peek():
        raise TraceError("something follows the end of the trace: it isn't one JSON value.")


def _object(text: _Text, beside: dict[str, Any]) -> Iterator[dict[str, Any]]:
    seen, more = False, not text.take("}")
    while more:
        key = text.value("its list of entries")
        if not isinstance(key, str) or not text.take(":"):
            raise TraceError("it isn't JSON: an entry has no name, or no value.")
        if key != "traceEvents":
            beside[key] = text.value(f"its entry {key[:40]!r}")
        elif seen or not text.take("["):
            raise TraceError("its `traceEvents` isn't one list of events.")
        else:
            seen = True
            yield from _list(text)
        more = text.take(",")
        if not more and not text.take("}"):
            raise TraceError(_unfinished(text, "its list of entries"))
    if not seen:
        raise TraceError(f"it has no `traceEvents`: give the file that {WRITER} wrote.")


def _list(text: _Text) -> Iterator[dict[str, Any]]:
    number, more = 0, not text.take("]")
    while more:
        number += 1
        event = text.value("event", number)
        if type(event) is not dict:
            raise TraceError(f"event {number:,} isn't an object with a name and a time.")
        yield event
        more = text.take(",")
        if not more and not text.take("]"):
            raise TraceError(_unfinished(text, f"its events, after {number:,}"))


def _unfinished(text: _Text, what: str) -> str:
    if text.peek():
        return f"it isn't JSON: a comma is missing in {what}."
    return f"it ends in the middle of {what}: it was cut off; copy it anew."


def _stranger(first: str) -> str:
    if first == "\ufffd":
        return (
            f"it isn't text: give the file that {WRITER} wrote (a memory snapshot is opened by "
            "`python -m snapshots_and_traces snapshot`)."
        )
    return f"it isn't JSON, it begins with {first!r}: give the file that {WRITER} wrote."
