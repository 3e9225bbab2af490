"""Chapter 04, "Compile and graphs"."""

from course_utils.core.doors import door

ROOMS, __getattr__, __dir__ = door(
    __name__,
    {
        "fusion": "fuse",
        "native": "cpp_function cxx",
    },
)
