"""`predict` takes the reader's guess before the run, `answer` says afterwards how close it was.

Without a guess, neither prints anything.
"""

import html
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

import ipywidgets as widgets

from course_utils.core import guesses
from course_utils.core.guesses import Guess, GuessError
from course_utils.core.running import is_attended
from course_utils.lesson import progress

ID = re.compile(r"[a-z_]+\.[a-z0-9_]+")
NEAR = 2.0  # times too much or too little that still count as foreseen
WIDE = NEAR * NEAR  # a range whose ends are further apart foresees nothing
LATE = "(You had seen the answer, so it doesn't count.)"
TOLERANCES = {"dB": 3}  # of units that are logarithms: 3 dB are a factor of 2
Take = Callable[[Any], str]
_exact: set[str] = set()  # the questions whose answers can be told without measuring
_found: dict[str, Any] = {}  # what this kernel has answered


class Box(widgets.HBox):
    """A question's field and what there is to say of the guess; Enter, or leaving it, takes it."""

    def __init__(
        self, take: Take, unit: str, among: Sequence[str], guess: Guess | None = None
    ) -> None:
        self._take, self._unit = take, unit
        self._said = widgets.HTML()
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
    typed_before = guesses.of(id) if guess is ... else None
    said = "" if typed_before else take(id, guess, unit, among)
    if said:
        print(said)
    elif is_attended():
        from IPython.display import display

        display(Box(lambda typed: take(id, typed, unit, among), unit, among, typed_before))


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


def answer(id: str, found: Any, exact: bool = False) -> None:
    """Prints how far the guess was from what was `found`; nothing without a guess.

    A number is in seconds, bytes, or as a share, for questions in units of time, of bytes, or %,
    else in the question's unit. For a choice of names, `found` is one or several of them. None says
    that this machine can't tell. `exact` counts only the exact number as near. Keeps whether the
    first guess at the question came near, if it was made before the answer was shown.
    """
    guess = guesses.of(id)
    _found[id] = found
    if exact:
        _exact.add(id)
    if guess is None:
        progress.saw(id)
        return
    said, near = verdict(guess, found)
    is_late = progress.is_seen(id)
    print(f"{said} {LATE}" if is_late else said)
    if not is_late and found is not None:
        progress.predicted(id, near)


def verdict(guess: Guess, found: Any) -> tuple[str, bool]:
    """Compares guess and answer in a sentence or two, and returns whether the guess came near.

    Near is within a factor of 2, a range that holds the answer and spans at most a factor of 4,
    exactly the right names, or, for an exact answer, that number.
    """
    if found is None:
        return f"You predicted {guess}. This machine can't tell.", False
    if guess.among:
        return _of_names(guess, _names(found))
    low, high, truth = guess.low, guess.high, guesses.truth_in(guess.unit, found)
    said = f"You predicted {guess}. It is {guesses.written(guess.unit, found)}: "
    if guess.id in _exact:
        is_right = low == high == truth
        return said + ("you foresaw it." if is_right else "not what you foresaw."), is_right
    if low < high and low <= truth <= high:
        small, large = sorted(map(abs, (low, high)))
        is_narrow = low * high > 0 and large <= WIDE * small
        wide = "" if is_narrow else ", but a range so wide foresees little"
        return f"{said}within your range{wide}.", is_narrow
    if low == high == truth:
        return f"{said}you foresaw it.", True
    nearest, side = (low, "high") if low > truth else (high, "low")
    if guess.unit in TOLERANCES:
        off = abs(nearest - truth)
        is_near = low == high and off <= TOLERANCES[guess.unit]
        return f"{said}you were ≈ {off:.3g} {guess.unit} too {side}.", is_near
    if nearest * truth <= 0:
        return f"{said}that was too {side}.", False
    factor = max(nearest / truth, truth / nearest)
    off_by = (
        "you foresaw it" if factor < 1.1 else f"you were ≈ {guesses.short(factor)} times too {side}"
    )
    return f"{said}{off_by}.", low == high and factor <= NEAR


def _of_names(guess: Guess, right: frozenset[str]) -> tuple[str, bool]:
    said = f"You chose {guess}. It is {', '.join(n for n in guess.among if n in right) or 'none'}: "
    if guess.named == right:
        return f"{said}you foresaw it.", True
    if len(right) == len(guess.named) == 1:
        return f"{said}not what you chose.", False
    both, missed = len(guess.named & right), len(right - guess.named)
    return f"{said}{both} right, {len(guess.named - right)} too many, {missed} missed.", False


def _names(found: str | Collection[str]) -> frozenset[str]:
    return frozenset([found] if isinstance(found, str) else found)
