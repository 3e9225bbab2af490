"""A box under a cell for a guess: a field to type into, or names to choose from."""

import html
from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as widgets

from course_utils.core.guesses import Guess

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
