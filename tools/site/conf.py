"""Sphinx's configuration of the site. Nothing on a page comes from another host."""

from docutils import nodes
from latex2mathml.converter import convert

project = "Where the Time and the Memory Go"
html_title = project
author = copyright = "the authors of the course"
language = "en"
extensions = ["myst_nb"]
exclude_patterns = ["_extra", "_static"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
myst_update_mathjax = False
nb_execution_mode = "off"
nb_merge_streams = True
html_theme = "sphinx_book_theme"
html_theme_options = {"use_download_button": False, "use_fullscreen_button": False}
html_static_path = ["_static"]
html_extra_path = ["_extra"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_math_renderer = "mathml"
html_copy_source = html_show_sphinx = False
suppress_warnings = ["misc.highlighting_failure"]
linkcheck_anchors = False


def formula(display):
    def visit(writer, node):
        writer.body.append(convert(node.astext(), display=display))
        raise nodes.SkipNode

    return visit, None


def setup(app):
    """Formulas become MathML, which browsers draw without a script."""
    app.add_html_math_renderer("mathml", formula("inline"), formula("block"))
