"""`predict` takes the reader's guess before the run, `answer` says afterwards how far off it was.

A page reads as well where nobody guesses: then neither says a word.
"""

import html
import math
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

import ipywidgets as widgets

from course_utils.core import guesses
from course_utils.core.guesses import NEAR, Guess, GuessError
from course_utils.core.running import is_attended
from course_utils.lesson import progress

# ---- A box under a cell for a guess: a field to type into, or names to choose from.

Take = Callable[[Any], str]


class Box(widgets.HBox):
    """A question's field and what there is to say of the guess; Enter, or leaving it, takes it."""

    def __init__(
        self, take: Take, unit: str, among: Sequence[str], guess: Guess | None = None
    ) -> None:
        self._take, self._unit = take, unit
        self._said = widgets.HTML()
        self.field = _field(among)
        if guess:
            kept = str(guess).removesuffix(f" {unit}")
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


def show_box(take: Take, unit: str, among: Sequence[str], guess: Guess | None) -> None:
    """Shows the box of one question under the cell that runs.

    `take` gets what was typed or chosen, and returns what there is to say of it; `guess` is what
    stood there before the cell ran again.
    """
    from IPython.display import display

    display(Box(take, unit, among, guess))


def _field(among: Sequence[str]) -> Any:
    """A line to type into, or a list of which Ctrl or Shift chooses several."""
    if not among:
        hint = "a number, or 2 to 5"
        return widgets.Text(placeholder=hint, continuous_update=False, layout={"width": "11em"})
    return widgets.SelectMultiple(options=among, rows=len(among), layout={"width": "auto"})


ID = re.compile(r"[a-z_]+\.[a-z0-9_]+")
WIDE = NEAR * NEAR  # a range whose ends are further apart foresees nothing
LATE = "(You had seen the answer, so it doesn't count.)"
TOLERANCES = {"dB": 3}  # of units that are logarithms: 3 dB are a factor of 2
_exact: set[str] = set()  # the questions whose answers can be told without measuring
_found: dict[str, Any] = {}  # what this kernel has answered


def predict(id: str, guess: Any = ..., unit: str = "", among: Sequence[str] = ()) -> None:
    """Takes your guess: write it in place of `...`, or into the box under the cell.

    A guess is a number in `unit`, or a range (2, 5); where there are names to choose from
    (`among`), one of them, or a list of several. One that can't be read is said to be none, and
    the page goes on.
    Raises: ValueError for an id that isn't `chapter.what`.
    """
    if not ID.fullmatch(id):
        raise ValueError(f"a prediction is called `chapter.what`, such as async.launch, not {id!r}")
    typed_before = guesses.of(id) if guess is ... else None
    said = "" if typed_before else take(id, guess, unit, among)
    if said:
        print(said)
    elif is_attended():
        from course_utils.lesson.predictions import show_box

        show_box(lambda typed: take(id, typed, unit, among), unit, among, typed_before)


def take(id: str, guess: Any, unit: str, among: Sequence[str]) -> str:
    """Keeps a guess; what there is to say of it, which is nothing where there is none."""
    try:
        made = guesses.make(id, guess, unit, among)
    except GuessError as problem:
        return f"✗ Your prediction isn't kept: {problem}."
    if made is None:
        return ""
    if id in _found:
        return f"{verdict(made, _found[id])} {LATE}"
    return f"Kept: {made}."


def answer(id: str, found: Any, exact: bool = False) -> None:
    """Says how far the guess was from what was `found`; nothing where there was no guess.

    A number is in seconds, bytes or as a share where the question's unit is one of time, of bytes
    or %, else in that unit. Where names were to choose from, it is a name, or several of them.
    None says that this machine can't tell. `exact` says that only the very number is near: it can
    be told without measuring. The first guess at each question, made before its answer, is kept
    for your calibration.
    """
    guess = guesses.of(id)
    _found[id] = found
    if exact:
        _exact.add(id)
    if guess is None:
        progress.saw(id)
        return
    is_late = progress.is_seen(id)
    print(f"{verdict(guess, found)} {LATE}" if is_late else verdict(guess, found))
    if not is_late and found is not None:
        progress.predicted(id, near=is_near(guess, found), factor=factor_off(guess, found))


def verdict(guess: Guess, found: Any) -> str:
    """The guess beside what was found, in a sentence or two."""
    if found is None:
        return f"You predicted {guess}. This machine can't tell."
    if guess.among:
        return _chosen(guess, found)
    said = f"You predicted {guess}. It is {guesses.written(guess.unit, found)}: "
    low, high, truth = guess.low, guess.high, guesses.truth_in(guess.unit, found)
    if guess.id in _exact:
        return said + ("you foresaw it." if is_near(guess, found) else "not what you foresaw.")
    if low < high and low <= truth <= high:
        narrow = "" if is_near(guess, found) else ", but a range so wide foresees little"
        return f"{said}within your range{narrow}."
    side, factor = "high" if low > truth else "low", factor_off(guess, found)
    if low == high == truth or (factor and factor < 1.1):
        return f"{said}you foresaw it."
    if guess.unit in TOLERANCES:
        off = max(low - truth, truth - high)
        return f"{said}you were ≈ {off:.3g} {guess.unit} too {side}."
    if factor is None:
        return f"{said}that was too {side}, and no factor says by how much."
    return f"{said}you were ≈ {factor:,.3g} times too {side}."


def factor_off(guess: Guess, found: Any) -> float | None:
    """How many times too high or too low the guess was, at least 1; of a range, its nearer end.

    None for names, exact answers and units that are logarithms, and where a sign differs or one of
    the two is zero.
    """
    if guess.among or guess.id in _exact or guess.unit in TOLERANCES:
        return None
    truth = guesses.truth_in(guess.unit, found)
    nearest = min(max(truth, guess.low), guess.high)
    if nearest == truth:
        return 1.0
    if nearest * truth <= 0 or not math.isfinite(truth):
        return None
    factor = max(nearest / truth, truth / nearest)
    return factor if math.isfinite(factor) else None


def is_near(guess: Guess, found: Any) -> bool:
    """Within 2 times; a range no wider than 4 times with the truth in it; just the right names."""
    if guess.among:
        return guess.named == _names(found)
    if guess.id in _exact:
        return guess.low == guess.high == guesses.truth_in(guess.unit, found)
    if guess.unit in TOLERANCES and guess.low == guess.high:
        return abs(guess.low - guesses.truth_in(guess.unit, found)) <= TOLERANCES[guess.unit]
    factor = factor_off(guess, found)
    if guess.low == guess.high:
        return factor is not None and factor <= NEAR
    small, large = sorted(map(abs, (guess.low, guess.high)))
    is_inside = guess.low <= guesses.truth_in(guess.unit, found) <= guess.high
    return is_inside and guess.low * guess.high > 0 and large <= WIDE * small


def _chosen(guess: Guess, found: Any) -> str:
    right = _names(found)
    said = f"You chose {guess}. It is {', '.join(n for n in guess.among if n in right) or 'none'}: "
    if guess.named == right:
        return f"{said}you foresaw it."
    if len(right) == len(guess.named) == 1:
        return f"{said}not what you chose."
    both, missed = len(guess.named & right), len(right - guess.named)
    return f"{said}{both} right, {len(guess.named - right)} too many, {missed} missed."


def _names(found: str | Collection[str]) -> frozenset[str]:
    return frozenset([found] if isinstance(found, str) else found)
