"""A widget as its controls and its drawing: sliders over a picture that is redrawn as they move."""

from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as widgets

from course_utils.figures.style import Picture

LOOK: dict[str, Any] = {"style": {"description_width": "150px"}, "layout": {"width": "460px"}}


class Controls(widgets.VBox):
    """Named controls over a picture and a line of HTML.

    `draw` takes the controls' values by name and gives both; it is called again at every change.
    Where no kernel runs (GitHub, a reopened notebook) a page shows the picture of the values that
    the controls began with, or says `alt`.
    """

    def __init__(
        self, draw: Callable[..., tuple[Picture, str]], alt: str, **controls: widgets.ValueWidget
    ) -> None:
        self._draw, self._alt, self._controls = draw, alt, controls
        self._picture = widgets.Image(format="png", layout={"max_width": "800px"})
        self._reading = widgets.HTML()
        super().__init__([*controls.values(), self._picture, self._reading])
        for control in controls.values():
            control.observe(self._redraw, "value")
        self._redraw()

    def _redraw(self, _change: Any = None) -> None:
        values = {name: control.value for name, control in self._controls.items()}
        self._shown, self._reading.value = self._draw(**values)
        self._picture.value = self._shown.png

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle = super()._repr_mimebundle_(**kwargs)
        title = f"\n{self._shown.alt}" if self._shown.alt != self._alt else ""
        return bundle | self._shown.bundle(f"[widget] {self._alt}{title}")


def slider(text: str, values: Sequence[Any], value: Any) -> Any:
    """A slider along `values`; what hangs on it is redrawn when it is let go."""
    if isinstance(values, range):
        return widgets.IntSlider(
            value, values[0], values[-1], description=text, continuous_update=False, **LOOK
        )
    return widgets.SelectionSlider(
        options=values, value=value, description=text, continuous_update=False, **LOOK
    )
