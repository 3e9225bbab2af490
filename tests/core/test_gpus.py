"""Peak rates, against the mistakes that others made."""

import pytest

from course_utils.core import gpus
from course_utils.core.evidence import EvidenceError
from course_utils.core.gpus import GPUS, explain_unknown, gpu_specs
from course_utils.judging import plausible

pytestmark = pytest.mark.without_torch

TENSOR_CORE_GPUS = [specs for specs in GPUS if specs.bf16]


def test_the_h200_has_its_memory_its_bandwidth_and_its_dense_rate():
    h200 = gpu_specs("NVIDIA H200")
    assert (h200.memory_gb, h200.memory_gb_per_s, h200.bf16) == (141, 4800, 989)


@pytest.mark.parametrize(
    "name, dense_bf16, sparse_bf16",
    [
        ("A10G", 70, 140),
        ("L4", 121, 242),
        ("RTX 3090", 71, 142),
        ("RTX 4090", 165.2, 330.4),
        ("A100 80 GB SXM", 312, 624),
        ("H100 SXM", 989, 1979),
        ("H100 PCIe", 756, 1513),
        ("H200", 989, 1979),
        ("B200", 2250, 4500),
    ],
)
def test_rates_are_dense_and_not_sparse(name, dense_bf16, sparse_bf16):
    assert gpu_specs(name).bf16 == pytest.approx(dense_bf16, rel=0.01)
    assert gpu_specs(name).bf16 < 0.6 * sparse_bf16


@pytest.mark.parametrize("specs", TENSOR_CORE_GPUS, ids=lambda s: s.title)
def test_halving_the_format_doubles_the_rate_or_keeps_it(specs):
    assert specs.fp16 == specs.bf16
    assert specs.bf16 / specs.tf32 == pytest.approx(2, rel=0.03)
    assert specs.fp8 is None or specs.fp8 / specs.bf16 == pytest.approx(2, rel=0.01)


@pytest.mark.parametrize(
    "name, neighbour",
    [
        ("NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB"),
        ("NVIDIA A100 80GB PCIe", "NVIDIA A100-SXM4-80GB"),
        ("NVIDIA H100 PCIe", "NVIDIA H100 80GB HBM3"),
        ("NVIDIA H100 80GB HBM3", "NVIDIA H200"),
    ],
)
def test_neighbours_differ_where_their_data_sheets_do(name, neighbour):
    assert gpu_specs(name).memory_gb_per_s < gpu_specs(neighbour).memory_gb_per_s


@pytest.mark.parametrize(
    "name",
    [
        "NVIDIA A10",
        "NVIDIA H100 NVL",
        "NVIDIA H200 NVL",
        "NVIDIA GeForce RTX 3090 Ti",
        "NVIDIA L40",
    ],
)
def test_a_neighbour_that_is_not_in_the_table_gives_none_and_a_sentence(name):
    assert gpu_specs(name) is None
    assert name in explain_unknown(name) and "data/gpus.toml" in explain_unknown(name)


def test_names_are_found_in_any_case_and_belong_to_one_gpu_each():
    names = [n.lower() for specs in GPUS for n in (specs.title, *specs.names)]
    assert len(names) == len(set(names))
    assert gpu_specs("nvidia h200") is gpu_specs("H200")


@pytest.mark.parametrize("specs", GPUS, ids=lambda s: s.title)
def test_every_row_has_a_source_and_round_gigabytes(specs):
    assert specs.source
    assert specs.memory_gb == int(specs.memory_gb)  # GB as sold: a GiB count wouldn't be whole
    assert 200 <= specs.memory_gb_per_s <= 8000


@pytest.fixture
def changed(monkeypatch, tmp_path):
    """Gives the course a data file in which one text stands for another."""

    def change(old, new):
        text = gpus.FILE.read_text(encoding="utf-8")
        monkeypatch.setattr(gpus, "FILE", tmp_path / "gpus.toml")
        gpus.FILE.write_text(text.replace(old, new), encoding="utf-8")
        monkeypatch.setattr(gpus, "GPUS", gpus._read())

    return change


def test_a_new_format_is_a_figure_where_a_gpu_has_it(changed):
    with pytest.raises(AttributeError, match="has a 'int4'"):
        _ = gpu_specs("B200").int4
    changed("fp4 = 9000", "int4 = 9000")
    assert gpu_specs("B200").int4 == 9000 and gpu_specs("H200").int4 is None
    content = {"chapter": "08_quantization", "experiment": "rates"} | {
        "machine": {"gpus": [{"name": "NVIDIA B200"}]},
        "rows": [{"format": "INT4", "tflop_per_s": rate} for rate in (8900.0, 9500.0)],
    }
    (objection,) = plausible.too_fast(content)
    assert objection.startswith("row 2: ") and "dense peak in INT4" in objection


@pytest.mark.parametrize(
    "old, new, says",
    [
        ("[[gpu]]", "[gpu", "line 17"),
        ("memory_gb = 141\n", "", "'memory_gb'"),
        ("memory_gb = 141\n", "memory_gib = 131\n", "'memory_gib'"),
    ],
    ids=["no TOML", "a figure missing", "a figure in another unit"],
)
def test_a_broken_data_file_says_what_is_wrong(changed, old, new, says):
    with pytest.raises(EvidenceError, match=f"data/gpus.toml can't be read: .*{says}"):
        changed(old, new)
