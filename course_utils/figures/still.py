"""The frame of every widget: controls over a picture, which stays where no kernel runs."""

import base64
from typing import Any

import ipywidgets as widgets


class Still(widgets.VBox):
    """A box of widgets that shows its picture as a PNG where widgets can't be shown.

    On a page without a kernel (GitHub, a reopened notebook) the reader sees the default state.
    """

    def __init__(self, children: list[Any], picture: widgets.Image, alt: str) -> None:
        super().__init__(children)
        self._picture, self._alt = picture, alt

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle = super()._repr_mimebundle_(**kwargs)
        bundle["image/png"] = base64.b64encode(self._picture.value).decode()
        bundle["text/plain"] = f"[widget] {self._alt}"
        return bundle
