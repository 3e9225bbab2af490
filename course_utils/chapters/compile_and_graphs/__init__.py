"""Chapter 04, "Compile and graphs"."""

from course_utils.core.public_names import public_names

MODULE_OF, __getattr__, __dir__ = public_names(
    __name__,
    {
        "fusion": "fuse",
        "graph_view": "draw_graph graph_widget",
        "native": "cpp_function cxx",
        "page_cells": (
            "can_compile first_reason loop_in peak_bytes readable run_elsewhere steps_in_words "
            "texts_that_fit"
        ),
    },
)
