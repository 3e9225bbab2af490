"""Peak rates, against the mistakes that others made."""

import pytest

from course_utils.core import gpus
from course_utils.core.evidence import EvidenceError
from course_utils.core.gpus import GPUS, explain_unknown, gpu_specs
from course_utils.judging import judge

pytestmark = pytest.mark.without_torch
DENSE_BF16 = {  # the makers' sheets also print twice as much: "with sparsity"
    "A10G": 70,
    "L4": 121,
    "RTX 3090": 71,
    "RTX 4090": 165.2,
    "A100 80 GB SXM": 312,
    "H100 SXM": 989,
    "H100 PCIe": 756,
    "H200": 989,
    "B200": 2250,
}


def test_rates_are_dense_and_not_sparse():
    assert {name: gpu_specs(name).bf16 for name in DENSE_BF16} == pytest.approx(
        DENSE_BF16, rel=0.01
    )
    h200 = gpu_specs("nvidia h200")
    assert (h200.memory_gb, h200.memory_gb_per_s, h200.bf16) == (141, 4800, 989)


@pytest.mark.parametrize("specs", GPUS, ids=lambda s: s.title)
def test_every_gpu_has_a_source_gigabytes_as_sold_and_rates_that_double_with_half_the_format(specs):
    assert specs.source
    assert specs.memory_gb == int(specs.memory_gb)  # a GiB count wouldn't be whole
    assert 200 <= specs.memory_gb_per_s <= 8000
    if specs.bf16:
        assert specs.fp16 == specs.bf16
        assert specs.bf16 / specs.tf32 == pytest.approx(2, rel=0.03)
        assert specs.fp8 is None or specs.fp8 / specs.bf16 == pytest.approx(2, rel=0.01)


def test_neighbours_differ_where_their_data_sheets_do_and_unknown_ones_get_a_sentence():
    for name, neighbour in (
        ("NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB"),
        ("NVIDIA A100 80GB PCIe", "NVIDIA A100-SXM4-80GB"),
        ("NVIDIA H100 PCIe", "NVIDIA H100 80GB HBM3"),
        ("NVIDIA H100 80GB HBM3", "NVIDIA H200"),
    ):
        assert gpu_specs(name).memory_gb_per_s < gpu_specs(neighbour).memory_gb_per_s
    for name in ("NVIDIA A10", "NVIDIA H100 NVL", "NVIDIA H200 NVL", "NVIDIA GeForce RTX 3090 Ti"):
        assert gpu_specs(name) is None
        assert name in explain_unknown(name) and "data/gpus.toml" in explain_unknown(name)
    names = [n.lower() for specs in GPUS for n in (specs.title, *specs.names)]
    assert len(names) == len(set(names))


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
    (objection,) = judge.too_fast(content)
    assert objection.startswith("row 2: ") and "dense peak in INT4" in objection


@pytest.mark.parametrize(
    "old, new, says",
    [("[[gpu]]", "[gpu", "line 17"), ("memory_gb = 141\n", "memory_gib = 131\n", "'memory_gib'")],
)
def test_a_broken_data_file_says_what_is_wrong(changed, old, new, says):
    with pytest.raises(EvidenceError, match=f"data/gpus.toml can't be read: .*{says}"):
        changed(old, new)
