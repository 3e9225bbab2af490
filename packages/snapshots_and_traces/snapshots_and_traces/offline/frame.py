"""A page inside a notebook's page: an iframe that the kernel fills, and that no notebook stores."""

import traitlets
from anywidget import AnyWidget

SCRIPT = """
function render({ model, el }) {
    const frame = document.createElement("iframe")
    frame.title = model.get("title")
    frame.setAttribute("sandbox", "allow-scripts")
    frame.style.cssText = `width: 100%; height: ${model.get("height")}px; border: 1px solid #8888`
    frame.srcdoc = model.get("page")
    el.append(frame)
}
export default { render }
"""


class Frame(AnyWidget):
    """Shows a whole HTML page, shut off from the notebook's: it may run its script and no more.

    A widget and not an output of HTML: that would be stored, and Jupyter drops what is over a
    megabyte a second. `title` says what it is to those who can't see it.
    """

    _esm = SCRIPT
    page = traitlets.Unicode().tag(sync=True)
    title = traitlets.Unicode().tag(sync=True)
    height = traitlets.Int(760).tag(sync=True)

    def __init__(self, page: str, title: str, height: int) -> None:
        super().__init__()
        self.page, self.title, self.height = page, title, height
