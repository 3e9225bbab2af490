"""A box under a cell for a guess: a field to type into, or names to choose from."""

import html
from collections.abc import Sequence
from typing import Any

import ipywidgets as widgets

from course_utils.lesson import predictions


class Box(widgets.HBox):
    """A question's field and what there is to say of the guess; Enter, or leaving it, takes it."""

    def __init__(self, id: str, unit: str, among: Sequence[str]) -> None:
        self._about = id, unit, tuple(among)
        self._said = widgets.HTML()
        self.field = _field(among)
        parts = [widgets.HTML("Your prediction:"), self.field, widgets.HTML(unit), self._said]
        super().__init__(parts, layout={"align_items": "center", "flex_flow": "row wrap"})
        self.field.observe(self._take, "value")

    @property
    def said(self) -> str:
        return self._said.value

    def _take(self, change: Any) -> None:
        id, unit, among = self._about
        self._said.value = html.escape(predictions.take(id, change["new"], unit, among))

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle = super()._repr_mimebundle_(**kwargs)
        bundle["text/plain"] = f"Your prediction: … {self._about[1]}".rstrip()
        return bundle


def show_box(id: str, unit: str, among: Sequence[str]) -> None:
    """Shows the box of one question under the cell that runs."""
    from IPython.display import display

    display(Box(id, unit, among))


def _field(among: Sequence[str]) -> Any:
    """A line to type into, or a list of which Ctrl or Shift chooses several."""
    if not among:
        hint = "a number, or 2 to 5"
        return widgets.Text(placeholder=hint, continuous_update=False, layout={"width": "11em"})
    return widgets.SelectMultiple(options=among, rows=len(among), layout={"width": "auto"})
