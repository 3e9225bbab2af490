"""Chapter 04, "Compile and graphs"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "fusion": "fuse",
        "graph_view": "draw_graph graph_widget",
        "native": "cpp_function cxx",
        "page_cells": "first_reason first_use inductor_text logged passes_in",
    },
)
