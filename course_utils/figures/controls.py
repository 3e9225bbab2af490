"""Widgets of sliders and lists over a picture that is redrawn when they change."""

from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as widgets

from course_utils.figures.style import Picture

LOOK: dict[str, Any] = {"style": {"description_width": "150px"}, "layout": {"width": "460px"}}
NARROW: dict[str, Any] = {"style": {"description_width": "120px"}, "layout": {"width": "390px"}}


class Controls(widgets.VBox):
    """Named controls above a picture and a line of HTML.

    `draw` is called with the controls' values by name, at every change, and returns both. Without a
    kernel (GitHub, a reopened notebook) the page shows the picture for the initial values, or the
    text `alt`.
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


class TwoColumns(Controls):
    """Controls in two columns, so that they and the picture fit on a small screen together."""

    def __init__(self, *args: Any, **controls: widgets.ValueWidget) -> None:
        super().__init__(*args, **controls)
        named, half = list(controls.values()), (len(controls) + 1) // 2
        columns = widgets.HBox([widgets.VBox(named[:half]), widgets.VBox(named[half:])])
        self.children = [columns, self._picture, self._reading]


def choice(text: str, values: Sequence[Any], value: Any) -> Any:
    """A drop-down list as wide as a column."""
    return widgets.Dropdown(options=values, value=value, description=text, **NARROW)


def slider(text: str, values: Sequence[Any], value: Any) -> Any:
    """A slider over `values`; the picture is redrawn when it is released."""
    if isinstance(values, range):
        return widgets.IntSlider(
            value, values[0], values[-1], description=text, continuous_update=False, **LOOK
        )
    return widgets.SelectionSlider(
        options=values, value=value, description=text, continuous_update=False, **LOOK
    )
