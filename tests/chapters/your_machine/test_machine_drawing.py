"""A machine as a diagram: what its parts are called, and which links it shows."""

from dataclasses import replace

import pytest

from course_utils.chapters.your_machine.buses import GPULink
from course_utils.chapters.your_machine.inventory import look
from course_utils.chapters.your_machine.machine_drawing import (
    amount,
    draw_box,
    sketch,
    sketch_server,
)
from course_utils.core.evidence import published

KIB, MIB = 2**10, 2**20


def test_a_machine_with_gpus_shows_their_links():
    gpu = GPULink("NVIDIA H200", 141 * 10**9, "PCIe 5 x16", 63.0, 478.1)
    box = replace(look(), gpus=(gpu,) * 8)
    branch = sketch(box).branches[-1]
    assert (branch.part, branch.squares) == ("8 × H200, 141 GB", 8)
    assert branch.way == "PCIe 5 x16\n63 GB/s" and branch.between == "NVLink, 478 GB/s each"
    assert draw_box("Two", sketch(box), sketch_server(published("gpu_server"))).png


@pytest.mark.parametrize(
    "n_bytes, base, text",
    [
        (32 * KIB, 1024, "32 KiB"),
        (3 * MIB // 2, 1024, "1.5 MiB"),
        (141e9, 1000, "141 GB"),
        (0, 1000, "0 B"),
    ],
)
def test_an_amount_stands_in_the_unit_that_keeps_it_short(n_bytes, base, text):
    assert amount(n_bytes, base) == text


def test_the_text_of_two_machines_tells_the_published_one_alone_whatever_this_one_is():
    box, server = look(), sketch_server(published("gpu_server"))
    other = replace(box, processor="A processor with a much longer name " * 3, disks=())
    texts = {draw_box("Two", sketch(one), server).drawn for one in (box, other)}
    assert len(texts) == 1 and "Xeon" in texts.pop()
