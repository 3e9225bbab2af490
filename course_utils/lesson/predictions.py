"""`predict` takes the reader's guess before the run; `answer` prints the answer, scores the guess.

In a stored page, `predict` shows the question's empty box.
"""

import html
import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import ipywidgets as widgets

from course_utils.core import guesses
from course_utils.core.guesses import Guess, GuessError
from course_utils.core.running import is_attended
from course_utils.lesson import progress

ID = re.compile(r"[a-z_]+\.[a-z0-9_]+")
LATE = "(You had seen the answer, so it doesn't count.)"
TOLERANCES = {"dB": 3}  # of units that are logarithms: 3 dB are a factor of 2
BLANK = "_" * 12
FEEDBACK = (
    "<div style='border-left:6px solid #0072B2;margin:.3em 0;padding:.3em .8em'><b>{}</b></div>"
)
Take = Callable[[Any], str]


@dataclass(frozen=True)
class Found:
    """The answer to a question: its value, and how close a guess must come."""

    value: Any
    exact: bool = False
    near: float = 2.0  # times too much or too little that still count as foreseen


_asked: dict[str, Guess] = {}  # the questions of this kernel, as guesses without a value
_found: dict[str, Found] = {}  # the answers that it has shown


@dataclass(frozen=True)
class Said:
    """A text, and how a notebook shows it between the lines that a cell prints."""

    text: str
    markup: str

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.markup


def empty_box(unit: str, among: Sequence[str]) -> Said:
    """A question without a reader, as a stored page shows it: a blank and a unit, or the names."""
    box = "  ".join(f"☐ {name}" for name in among) if among else f"[{BLANK}] {unit}".rstrip()
    label = "Your prediction:"
    return Said(f"{label} {box}", f"<p>✎ <b>{label}</b> {html.escape(box)}</p>")


def feedback(text: str) -> Said:
    """A sentence about a guess, in a coloured box."""
    return Said(text, FEEDBACK.format(html.escape(text)))


class Box(widgets.HBox):
    """A question's field, and a sentence about the guess; Enter, or leaving the field, takes it."""

    def __init__(
        self, take: Take, unit: str, among: Sequence[str], guess: Guess | None = None
    ) -> None:
        self._take, self._unit = take, unit
        self._said = widgets.HTML(layout={"margin": "0 0 0 1em"})
        self.field = _field(among)
        if guess:
            kept = str(guess).removesuffix(f" {unit}").replace(",", "")
            self.field.value = tuple(guess.named) if among else kept
        parts = [widgets.HTML("Your prediction:"), self.field, widgets.HTML(unit), self._said]
        super().__init__(parts, layout={"align_items": "center", "flex_flow": "row wrap"})
        self.field.observe(self._on_value, "value")

    @property
    def said(self) -> str:
        return self._said.value

    def _on_value(self, change: Any) -> None:
        self._said.value = html.escape(self._take(change["new"]))

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle = super()._repr_mimebundle_(**kwargs)
        bundle["text/plain"] = f"Your prediction: … {self._unit}".rstrip()
        return bundle


def _field(among: Sequence[str]) -> Any:
    """A text field, or a list in which Ctrl or Shift selects several."""
    if not among:
        hint = "a number, or 2 to 5"
        return widgets.Text(placeholder=hint, continuous_update=False, layout={"width": "11em"})
    return widgets.SelectMultiple(options=among, rows=len(among), layout={"width": "auto"})


def predict(id: str, guess: Any = ..., unit: str = "", among: Sequence[str] = ()) -> None:
    """Takes your guess: write it in place of `...`, or into the box under the cell.

    A guess is a number in `unit`, or a range (2, 5); with `among`, one of its names or a list of
    several. A guess that can't be read gets a sentence that says so, and the page continues.
    Raises: ValueError for an id that isn't `chapter.what`.
    """
    if not ID.fullmatch(id):
        raise ValueError(f"a prediction is called `chapter.what`, such as async.launch, not {id!r}")
    _asked[id] = Guess(id, unit if isinstance(unit, str) else "", among=tuple(among))
    typed_before = guesses.of(id) if guess is ... else None
    said = "" if typed_before else take(id, guess, unit, among)
    if said:
        show(feedback(said))
    elif is_attended():
        show(Box(lambda typed: take(id, typed, unit, among), unit, among, typed_before))
    else:
        show(empty_box(unit, among))


def show(shown: Any) -> None:
    """Displays it in a notebook; prints its text where there is none."""
    from IPython.display import display

    display(shown)


def take(id: str, guess: Any, unit: str, among: Sequence[str]) -> str:
    """Keeps a guess and returns a sentence about it, empty if there is nothing to say."""
    try:
        made = guesses.make(id, guess, unit, among)
    except GuessError as problem:
        return f"✗ Your prediction isn't kept: {problem}."
    if made is None:
        return ""
    if id in _found:
        said, _ = verdict(made, _found[id])
        return f"{said} {LATE}"
    return f"Kept: {made}."


def answer(
    id: str,
    found: Any,
    how: str = "",
    exact: bool = False,
    near: float = 2.0,
    varies: bool = False,
) -> None:
    """Prints the answer and `how` it was obtained, then how far off the reader's guess was, if any.

    A number is in seconds, bytes, or as a share, for questions in units of time, of bytes, or %,
    else in the question's unit, which a kernel without the question doesn't know. For a choice of
    names, `found` is one or several of them; `varies` says that another run may find others, and
    marks them with ≈. None means that this machine can't answer the question.

    A guess is near within a factor of `near`, or with `exact` if it is that number; `near` is 1.2
    where a factor of 2 would decide nothing. The reader's progress keeps whether the first guess
    came near, if it was made before the answer was shown.
    Raises: ValueError unless `near` is over 1.
    """
    if not near > 1:
        raise ValueError(f"near is a factor over 1, such as 1.2 or 2, not {near!r}")
    result = _found[id] = Found(found, exact, near)
    name = "" if how else f" ({id.partition('.')[2].replace('_', ' ')})"
    words = _in_words(_asked.get(id, Guess(id)), result)
    words = f"≈ [{words}]" if varies else words
    print(f"Answer{name}: {words}{f' ({how})' if how else ''}")
    guess = guesses.of(id)
    if guess is None:
        progress.saw(id)
        return
    said, is_near = verdict(guess, result)
    is_late = progress.is_seen(id)
    show(feedback(f"{said} {LATE}" if is_late else said))
    if not is_late and found is not None:
        progress.predicted(id, is_near)


def verdict(guess: Guess, answer: Found) -> tuple[str, bool]:
    """Compares guess and answer in a sentence, and returns whether the guess came near.

    Near is within a factor of `answer.near`, a range that holds the answer and spans at most the
    square of that factor, exactly the right names, or, for an exact answer, that number.
    """
    found = answer.value
    if found is None:
        return f"You said {guess}. This machine can't tell.", False
    if guess.among:
        return _of_names(guess, _names(found))
    low, high, truth = guess.low, guess.high, guesses.truth_in(guess.unit, found)
    said = f"You said {guess}, it is {_in_words(guess, answer)}:"
    if low == high == truth:
        return f"{said} right.", True
    if low <= truth <= high and not answer.exact:
        small, large = sorted(map(abs, (low, high)))
        is_narrow = low * high > 0 and large <= answer.near**2 * small
        wide = "" if is_narrow else ", but a range that wide decides nothing"
        return f"{said} within your range{wide}.", is_narrow
    nearest, side = (low, "high") if low > truth else (high, "low")
    off, factor = abs(nearest - truth), math.inf
    if nearest * truth > 0:
        factor = max(nearest / truth, truth / nearest)
    if guess.unit in TOLERANCES:
        allowed = TOLERANCES[guess.unit] * math.log2(answer.near)
        return f"{said} {off:.3g} {guess.unit} too {side}.", low == high and off <= allowed
    if answer.exact or factor == math.inf:
        return f"{said} too {side}.", False
    is_near = low == high and factor <= answer.near
    if factor < min(1.1, answer.near):
        return f"{said} within 10%.", is_near
    return f"{said} {guesses.short(factor)} times too {side}.", is_near


def _in_words(asked: Guess, answer: Found) -> str:
    """Formats the answer to a question, with ≈ before a measured number."""
    if answer.value is None:
        return "this machine can't tell"
    if asked.among or isinstance(answer.value, str):
        right = _names(answer.value)
        return ", ".join(name for name in asked.among or sorted(right) if name in right) or "none"
    return guesses.written(asked.unit, answer.value, answer.exact)


def _of_names(guess: Guess, right: frozenset[str]) -> tuple[str, bool]:
    said = f"You said {guess}, it is {', '.join(n for n in guess.among if n in right) or 'none'}"
    if guess.named == right:
        return f"{said}: right.", True
    if len(right) == len(guess.named) == 1:
        return f"{said}.", False
    both, missed = len(guess.named & right), len(right - guess.named)
    return f"{said}: {both} right, {len(guess.named - right)} too many, {missed} missed.", False


def _names(found: str | Collection[str]) -> frozenset[str]:
    return frozenset([found] if isinstance(found, str) else found)
