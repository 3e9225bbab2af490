"""FLOPs and bytes against torch's counter, real tensors and hands; the roof; its widget."""

import math

import pytest
import torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from course_utils.chapters.your_machine import latency_trials, operations
from course_utils.chapters.your_machine.latency_trials import (
    CHASE,
    LINE,
    chain,
    disk_reads,
    gpu_chain_step,
    line_chain,
    loopback_message,
)
from course_utils.chapters.your_machine.roofline import SIZES, Roof, gpu_roof, layer, turning_batch
from course_utils.chapters.your_machine.roofline_figure import (
    draw_parts,
    draw_rooflines,
    draw_sweep,
    measured_panel,
    recorded_panel,
)
from course_utils.chapters.your_machine.roofline_widget import dtypes, roofline_point
from course_utils.chapters.your_machine.time_ruler import draw_ruler
from course_utils.core.evidence import Recording, published
from course_utils.core.gpus import GPUS, gpu_specs
from course_utils.core.measurement import Measurement
from course_utils.figures.compare import compare_lines

ROOF = Roof(100e9, 10e9, 5e-6)


def counted(call):
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        call()
    return counter.get_total_flops()


def n_bytes(*tensors):
    return sum(tensor.nbytes for tensor in tensors)


@pytest.mark.parametrize("m, k, n", [(1, 7, 1), (64, 64, 64), (3, 50, 9)])
def test_a_product_has_torchs_flops_and_its_tensors_bytes(m, k, n):
    a, b = torch.ones(m, k), torch.ones(k, n)
    found = operations.product(m, k, n, 4)
    assert (found.flops, found.n_bytes) == (counted(lambda: a @ b), n_bytes(a, b, a @ b))


def test_attention_has_torchs_flops_and_its_tensors_bytes():
    q, k, v = torch.randn(3, 2, 3, 40, 8)
    found = operations.attention(2, 3, 40, 8, 4)
    with sdpa_kernel(SDPBackend.MATH):
        flops = counted(lambda: F.scaled_dot_product_attention(q, k, v))
    out = F.scaled_dot_product_attention(q, k, v)
    assert (found.flops, found.n_bytes) == (flops, n_bytes(q, k, v, out))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_bytes_are_those_of_the_tensors_read_and_written(dtype):
    x, w, size = torch.randn(6, 16, dtype=dtype), torch.ones(16, dtype=dtype), dtype.itemsize
    norm = F.layer_norm(x, (16,), w, w)
    assert operations.layer_norm(6, 16, size).n_bytes == n_bytes(x, w, w, norm)
    assert operations.softmax(6, 16, size).n_bytes == n_bytes(x, F.softmax(x, -1))
    assert operations.gelu(96, size).n_bytes == n_bytes(x, F.gelu(x))
    assert (
        operations.addition(96, size).n_bytes
        == operations.triad(96, size).n_bytes
        == n_bytes(x, x, x + x)
    )
    assert operations.copy(96, size).n_bytes == n_bytes(x, x.clone())


def test_adam_moves_its_parameter_its_states_and_its_gradient():
    p = torch.nn.Parameter(torch.randn(50))
    p.grad, adam = torch.ones(50), torch.optim.Adam([p], fused=True)
    adam.step()
    m, v = (adam.state[p][name] for name in ("exp_avg", "exp_avg_sq"))
    assert operations.adam(50, 4).n_bytes == n_bytes(p, p.grad, m, v) + n_bytes(p, m, v)


def test_flops_written_out_by_hand_are_as_many():
    """Each operation of a row of 4 numbers, one by one."""
    count = 0

    def op(value):
        nonlocal count
        count += 1
        return value

    row = [1.0, 2.0, 4.0, 9.0]
    mean = total = 0.0
    for x in row:
        mean = op(mean + x)
    mean /= 4
    for x in row:
        off = op(x - mean)
        square = op(off * off)
        total = op(total + square)
    scale = 1 / math.sqrt(total / 4 + 1e-5)
    out = [op(op(op(op(x - mean) * scale) * 1.0) + 0.0) for x in row]
    assert torch.allclose(torch.tensor(out), F.layer_norm(torch.tensor(row), (4,)))
    assert count == operations.layer_norm(1, 4, 4).flops
    count = 0
    for x in row:
        op(op(x * 0.5) * op(1 + op(math.erf(op(x / math.sqrt(2))))))
    assert count == operations.gelu(4, 4).flops


def test_a_bf16_product_of_8192_has_2731_flop_a_byte_and_not_256():
    intensity = operations.product(8192, 8192, 8192, 2).intensity
    assert intensity == pytest.approx(8192 / 3) and round(intensity) == 2731


def test_left_of_the_ridge_memory_decides_and_right_of_it_the_peak():
    assert ROOF.ridge == 10
    assert ROOF.attainable(5) == 50e9
    assert ROOF.attainable(10) == ROOF.attainable(1e6) == 100e9


def test_a_time_has_three_parts_a_sum_and_a_maximum():
    some = operations.Work(flops=1_000_000, n_bytes=200_000)
    assert ROOF.parts(some) == {"memory": 20e-6, "math": 10e-6, "latency": 5e-6}
    assert ROOF.sum_seconds(some) == pytest.approx(35e-6)
    assert ROOF.max_seconds(some) == pytest.approx(25e-6)


@pytest.mark.parametrize(
    "flops, moved, waits", [(10**9, 1, "compute"), (1, 10**9, "memory"), (1, 1, "overhead")]
)
def test_the_longest_part_is_what_an_operator_waits_for(flops, moved, waits):
    assert ROOF.waits_for(operations.Work(flops, moved)) == waits


@pytest.mark.parametrize("rates", [(0, 1), (1, 0), (-1, 1), (1, 1, -1), (math.nan, 1)])
def test_a_roof_of_nonsense_is_refused(rates):
    with pytest.raises(ValueError, match="positive rates and a latency from 0"):
        Roof(*rates)


@pytest.mark.parametrize("specs", GPUS, ids=lambda s: s.title)
@pytest.mark.parametrize("n_in, n_out", [(4096, 4096), (512, 8192), (64, 64)])
def test_the_turning_batch_is_the_first_at_which_math_takes_longer(specs, n_in, n_out):
    for dtype in dtypes(specs):
        roof, size = gpu_roof(specs, dtype), SIZES[dtype]
        batch = turning_batch(n_in, n_out, size, roof.flop_per_s, roof.bytes_per_s)

        def computes(b, roof=roof, size=size):
            parts = roof.parts(layer(b, n_in, n_out, size))
            return parts["math"] >= parts["memory"] * (1 - 1e-12)

        if batch is None:
            assert not computes(10**9)
        else:
            assert computes(batch) and (batch == 1 or not computes(batch - 1))


def test_an_h200_needs_230_lines_for_a_layer_of_4096_in_bf16():
    roof = gpu_roof(gpu_specs("H200"), "BF16")
    assert turning_batch(4096, 4096, 2, roof.flop_per_s, roof.bytes_per_s) == 230


def test_a_dtype_that_a_gpu_lacks_is_refused_with_what_to_do():
    with pytest.raises(ValueError, match="T4 has no unit for BF16; choose another"):
        gpu_roof(gpu_specs("T4"), "BF16")
    with pytest.raises(ValueError, match="no rate is kept for 'FP4'; there are FP32"):
        gpu_roof(gpu_specs("T4"), "FP4")
    with pytest.raises(LookupError, match="Known: T4"):
        roofline_point(gpu="a GPU of tomorrow")


def test_the_widgets_point_crosses_the_ridge_at_the_turning_batch():
    widget = roofline_point(batch=128)
    _, batch, n_in, n_out, picture, reading = widget.children
    before = picture.value
    assert "waits for <b>memory</b>" in reading.value and "from batch <b>230</b>" in reading.value
    batch.value = 256
    assert "waits for <b>compute</b>" in reading.value and picture.value != before
    n_in.value = n_out.value = 64
    assert "waits for <b>memory</b>" in reading.value and "at <b>no</b> batch" in reading.value


def test_the_widget_offers_the_dtypes_of_the_gpu_and_keeps_to_them():
    widget = roofline_point(dtype="FP8")
    gpu, dtype = widget.children[0].children
    gpu.value = "A100 80 GB SXM"
    assert dtype.options == ("FP32", "TF32", "FP16", "BF16") and dtype.value in dtype.options
    gpu.value = "T4"
    assert dtype.options == ("FP32", "FP16")


def test_the_figures_draw_what_they_are_given():
    works = {"product": operations.product(64, 64, 64, 4), "copy": operations.copy(1000, 4)}
    times = {"product": 1e-5, "copy": 2e-5}
    panel = measured_panel(ROOF, works, times)
    assert panel.points == {"product": (works["product"].intensity, 524288 / 1e-5)}
    assert draw_rooflines("A roof", panel).png and draw_parts("Parts", ROOF, works, times).png
    plain = compare_lines("Lines", [("one", {1: 1, 2: 4})], x_label="x", y_label="y")
    marked = compare_lines(
        "Lines", [("one", {1: 1, 2: 4})], x_label="x", y_label="y", marks={2: "L1"}
    )
    assert plain.png != marked.png


def test_a_ruler_leaves_out_what_wasnt_measured_and_says_where_numbers_are_from():
    live = {"a read": Measurement((1e-9, 3e-9, 2e-9), 3, None, "host"), "a disk": None}
    assert draw_ruler("A ruler", live).png == draw_ruler("A ruler", {"a read": 2e-9}).png
    assert (
        draw_ruler("A ruler", live, published("latencies")).png != draw_ruler("A ruler", live).png
    )


def test_a_measurement_of_many_things_is_that_of_one_times_their_number():
    many = Measurement((4e-6, 8e-6), 3, 0.1, "host")
    assert many.per(4) == Measurement((1e-6, 2e-6), 3, 0.1, "host")


def test_a_recorded_roof_is_that_of_the_format_its_operators_ran_in():
    def kept(*rows):
        return Recording(list(rows), "H200", "2026-11-21", {"torch": "2.11.0"})

    points = {
        "operator": "product",
        "format": "BF16",
        "flops": 6e9,
        "n_bytes": 2e9,
        "seconds": 1e-3,
    }
    rates = [{"format": "BF16", "flop_per_s": 7e14}, {"format": "FP8", "flop_per_s": 1e15}]
    streams = [
        {"operation": "copy", "gb_per_s": 4000.0},
        {"operation": "triad", "gb_per_s": 4100.0},
    ]
    panel = recorded_panel(kept(points), kept(*rates), kept(*streams))
    assert panel.roof == Roof(7e14, 4.1e12)
    assert panel.points == {"product": (3.0, 6e12)} and panel.kind == "recorded"
    assert draw_rooflines("Recorded", panel).png
    assert recorded_panel(kept(points), kept(*rates), None) is None


FP32_OF = {"A100 40GB": "A100 40 GB SXM", "A100 80GB": "A100 80 GB SXM"}


def sheet(gpu):
    return gpu_specs(FP32_OF.get(gpu, gpu))


def test_what_others_measured_stays_below_the_data_sheets():
    """An edited or misread number in data/published would stand out here."""
    for row in published("gpu_roofline").rows:
        roof = gpu_roof(sheet(row["gpu"]), "FP32")
        assert row["gflop_per_s"] * 1e9 < roof.attainable(row["flop_per_byte"])
        assert row["gflop_per_s"] == pytest.approx(row["gb_per_s"] * row["flop_per_byte"], rel=0.01)
        assert row["watts"] < 700 and 1000 < row["mhz"] < 2500
    for row in published("gpu_bandwidth").rows:
        if row["n_bytes"] > 2**27:
            assert row["gb_per_s"] < sheet(row["gpu"]).memory_gb_per_s
    for row in published("gpu_stream").rows:
        rates = [rate for name, rate in row.items() if name.endswith("gb_per_s")]
        assert max(rates) < sheet(row["gpu"]).memory_gb_per_s
    for row in published("gpu_latency").rows:
        assert 15e-9 < row["seconds"] < 500e-9


def test_a_sweep_is_drawn_under_its_data_sheets():
    sweep, roof = published("gpu_roofline"), gpu_roof(gpu_specs("H200"), "FP32")
    one, two = (draw_sweep("A sweep", sweep, {g: roof for g in gpus}).png
                for gpus in (["H200"], ["H200", "A100 40GB"]))  # fmt: skip
    assert one != two


@pytest.mark.parametrize("n", [8, 64, 4096])
def test_a_chain_comes_back_after_it_has_been_everywhere(n):
    table, place, seen = chain(8 * n), 0, set()
    for _ in range(n):
        seen.add(place)
        place = table[place]
    assert place == 0 and len(seen) == n


@pytest.mark.parametrize("n", [8, 4096])
def test_a_gpus_chain_goes_from_line_to_line_and_comes_back_after_all_of_them(n):
    table, place, seen = line_chain(128 * n, torch.device("cpu")).tolist(), 0, set()
    for _ in range(n):
        seen.add(place // LINE)
        place = table[place]
    assert place == 0 and len(seen) == n
    with pytest.raises(ValueError, match="power of two of bytes"):
        line_chain(128 * n + 8, torch.device("cpu"))


def test_the_gpus_chase_is_a_function_that_torch_can_read():
    parsed = torch.cuda.jiterator._CodeParser(CHASE)
    assert (parsed.function_name, parsed.function_params) == ("chase", "(T at, T table, T key)")
    assert parsed.template_params == "<typename T>"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpus_chain_is_slower_through_its_memory_than_through_its_first_cache():
    near, apart = gpu_chain_step(2**14), gpu_chain_step(2**28)
    assert 5e-9 < near.median < apart.median < 5e-6


@pytest.mark.parametrize("size", [0, 32, 100, 96])
def test_a_chain_of_another_size_is_refused(size):
    with pytest.raises(ValueError, match="power of two of bytes"):
        chain(size)


def test_a_message_takes_some_time_and_its_process_is_gone_afterwards(monkeypatch):
    started = []
    real = latency_trials.subprocess.Popen
    monkeypatch.setattr(
        latency_trials.subprocess, "Popen", lambda *a: started.append(real(*a)) or started[-1]
    )
    assert 0 < loopback_message().median < 1
    assert [process.poll() is not None for process in started] == [True]


def test_without_a_network_there_is_no_message(monkeypatch):
    def refuse(*_):
        raise PermissionError("no sockets here")

    monkeypatch.setattr(latency_trials.socket, "create_server", refuse)
    assert loopback_message() is None


def test_the_disk_is_left_out_where_nobody_can_tell_it_from_the_page_cache(monkeypatch, tmp_path):
    monkeypatch.setattr(latency_trials, "_can_ask", lambda: False)
    reads = disk_reads(str(tmp_path))
    assert reads["disk"] is None and 0 < reads["page cache"].median < 1
    assert list(tmp_path.iterdir()) == []


def test_a_page_cache_that_answers_nevertheless_is_not_called_a_disk(monkeypatch, tmp_path):
    monkeypatch.setattr(latency_trials, "_in_memory", lambda file, place: True)
    assert disk_reads(str(tmp_path))["disk"] is None


def test_where_no_file_can_be_written_nothing_is_read(tmp_path):
    assert disk_reads(str(tmp_path / "missing")) == {"page cache": None, "disk": None}
