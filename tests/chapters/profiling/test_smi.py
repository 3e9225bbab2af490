"""What nvidia-smi says of a GPU, asked while something runs on it (here both are pretended)."""

import time

import pytest

from course_utils.chapters.profiling import smi
from course_utils.core.measurement import Measurement


@pytest.fixture
def told(monkeypatch):
    """Pretends a GPU, and an nvidia-smi that takes its time to tell what is in the list."""
    told, asked = ["100"], []

    def answer(*question):
        asked.append(question)
        time.sleep(0.05)
        return told

    monkeypatch.setattr(smi, "SECONDS", 0.02)
    monkeypatch.setattr(smi, "_gpu", lambda: "GPU-of-torch")
    monkeypatch.setattr(smi, "synchronize", lambda: time.sleep(0.001))
    monkeypatch.setattr(smi, "measure", lambda fn, clock: Measurement((0.001,), 1, None, clock))
    monkeypatch.setattr(smi, "nvidia_smi", answer)
    return told, asked


def test_the_gpu_has_work_until_nvidia_smi_has_answered(told):
    _, asked = told
    meanwhile = []
    found = smi.busy_by_smi(lambda: meanwhile.append(len(asked)))
    assert found["nvidia_smi_percent"] == 100 and found["seconds"].median == 0.001
    assert "--id=GPU-of-torch" in asked[0]
    assert meanwhile.count(0) >= smi.AHEAD and meanwhile.count(1) >= 5 * smi.AHEAD


@pytest.mark.parametrize("said", [["[N/A]"], []])
def test_a_part_of_a_gpu_or_no_nvidia_smi_has_no_utilisation(told, said):
    told[0][:] = said
    with pytest.raises(ValueError, match="no utilisation of GPU-of-torch"):
        smi.busy_by_smi(lambda: None)
