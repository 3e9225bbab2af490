"""Figures and HTML of ranks, in a real kernel: shown under the rank, as a notebook shows them."""

import base64

import pytest

from notebook_ranks.cells.shell import LIMIT_BYTES

HELLO = "class Hello:\n    def __repr__(self):\n        return 'plain'\n"
HELLO += "    def _repr_html_(self):\n        return f'<b>{rank}</b>'\n"


def shown(kernel, code):
    """What the page keeps of a cell, in order: text, or what is displayed by media type."""
    found = []
    for kind, content in kernel.heard(code):
        assert kind != "error", content
        if kind == "clear_output":
            found.clear()
        elif kind == "stream":
            found.append(content["text"])
        elif kind in ("display_data", "update_display_data"):
            found.append(content["data"])
    return found


def html(text):
    return {"text/plain": "plain", "text/html": text}


def test_a_figure_is_shown_where_plt_show_is_called_or_the_cell_ends(kernel):
    plot = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nprint('before')\nplt.show()\n"
    found = shown(kernel, f"%%ranks 2\n{plot}print('after')\nfigure, axes = plt.subplots()")
    text = "".join(one if isinstance(one, str) else "(it)" for one in found)
    wanted = "[rank {r}] before\n[rank {r}]\n(it)[rank {r}] after\n[rank {r}]\n(it)"
    assert text == wanted.format(r=0) + wanted.format(r=1)
    for figure in (one for one in found if isinstance(one, dict)):
        assert base64.b64decode(figure["image/png"]).startswith(b"\x89PNG")
    assert kernel.cell("plt.get_fignums()").text == "[rank 0] []\n[rank 1] []\n"


@pytest.mark.parametrize(
    "code", ["Hello()", "display(Hello())", "from IPython.display import display as d\nd(Hello())"]
)
def test_html_is_shown_under_its_rank_and_can_be_looked_at_after_the_cell(kernel, code):
    found = shown(kernel, f"%%ranks 2\n{HELLO}print('first')\n{code}")
    assert "".join(map(str, found)) == "".join(
        f"[rank {r}] first\n[rank {r}]\n{html(f'<b>{r}</b>')}" for r in (0, 1)
    )
    assert shown(kernel, "ranks.output(1)") == ["first\n", html("<b>1</b>")]
    kernel.run("ranks.pull('rank')")  # has no output of its own
    assert kernel.run("ranks.output(1).text, ranks.output(1).displays").text == (
        "('first\\n', [{'text/plain': 'plain', 'text/html': '<b>1</b>'}])"
    )
    assert "only ranks 0 and 1" in kernel.run("ranks.output(2)").error


def test_a_display_is_updated_and_output_is_cleared(kernel):
    code = "shown = display(Hello(), display_id='mine')\nrank = 'new'\nshown.update(Hello())\n"
    found = shown(kernel, f"%%ranks 2 --only 0\n{HELLO}{code}rank = 0")
    assert found == ["[rank 0]\n", html("<b>0</b>"), html("<b>new</b>")]
    clear = "from IPython.display import clear_output\nprint('gone')\nclear_output()\nprint('kept')"
    assert kernel.cell(clear, "2").text.endswith("[rank 0] kept\n[rank 1] kept\n")
    assert "gone" not in str(shown(kernel, "ranks.output(1)"))


def test_too_much_of_it_is_a_sentence_and_text(kernel):
    code = f"from IPython.display import HTML\nHTML('x' * {LIMIT_BYTES})"
    assert kernel.cell(code, "2 --only 1").text == (
        f"[rank 1] … more than {LIMIT_BYTES:,} bytes of figures and HTML in one cell: the rest as "
        "text\n[rank 1] <IPython.core.display.HTML object>\n"
    )


def test_where_nobody_watches_it_is_text(said):
    assert said(f"{HELLO}Hello()", 2) == "[rank 0] plain\n[rank 1] plain\n"
