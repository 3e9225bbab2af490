"""What the page's cells need besides the lesson."""

import os

import pytest
import torch

from course_utils.chapters import compile_and_graphs as chapter
from course_utils.chapters.compile_and_graphs.page_cells import loop_in, readable
from course_utils.workloads import GPT, GPTConfig


@pytest.fixture
def inductors_cache(monkeypatch):
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)
    yield
    os.environ.pop("TORCHINDUCTOR_CACHE_DIR", None)


def test_without_a_compiler_the_page_says_what_is_skipped(monkeypatch, capsys, inductors_cache):
    monkeypatch.setenv("CXX", "/nowhere/c++")
    assert not chapter.can_compile()
    said = capsys.readouterr().out
    assert "no C++ compiler was found" in said and "skipped" in said


def test_inductor_keeps_what_it_compiled_below_build_unless_the_reader_names_a_place(
    monkeypatch, inductors_cache
):
    chapter.can_compile()
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"].endswith(os.path.join("build", "inductor"))
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/elsewhere")
    chapter.can_compile()
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == "/elsewhere"


def test_the_loop_is_taken_out_of_the_python_around_it():
    written = "f = compile(['float*'], r'''\nvoid kernel() {\n}\n''')\ncall(f)"
    assert loop_in(written) == "void kernel() {\n}"
    assert loop_in("call(extern_kernels.mm)") == "call(extern_kernels.mm)"


def test_a_peak_is_what_was_held_at_once_and_not_what_was_asked_for_in_all():
    def call():
        one = torch.empty(10**6)
        del one
        two = torch.empty(2 * 10**6)
        return two + 1  # both are there

    assert chapter.peak_bytes(call) == pytest.approx(16e6, abs=100)  # and a Python number's 12
    assert chapter.peak_bytes(lambda: None) == 0


def test_what_was_there_before_is_no_part_of_the_peak():
    held = torch.empty(10**6)
    assert chapter.peak_bytes(lambda: held.add_(1)) < 100


def test_an_exported_model_runs_in_a_process_that_has_never_heard_of_its_class(tmp_path):
    model = GPT(GPTConfig.tiny()).eval()
    tokens = torch.randint(10, (2, 8))
    torch.export.save(torch.export.export(model, (tokens,)), tmp_path / "gpt.pt2")
    with torch.no_grad():
        wanted = model(tokens)
    assert torch.equal(chapter.run_elsewhere(tmp_path / "gpt.pt2", tokens), wanted)


def test_a_file_that_is_no_exported_model_is_a_sentence_of_the_other_process(tmp_path):
    (tmp_path / "not.pt2").write_bytes(b"nothing")
    with pytest.raises(RuntimeError, match="the other process failed: "):
        chapter.run_elsewhere(tmp_path / "not.pt2", torch.ones(1))


def test_rates_carry_their_mark_and_a_peak_that_nobody_counted_a_dash():
    eager = {"way": "eager", "texts": 1, "tokens_per_s": 3177.4, "peak_bytes": 417672}
    graphs = {"way": "graphs", "texts": 1, "tokens_per_s": 6354.8, "peak_bytes": None}
    first, second = readable([eager, graphs])
    assert list(first.values()) == ["eager", 1, "≈ 3,177", "≈ 1.00", "0.42"]
    assert list(second.values()) == ["graphs", 1, "≈ 6,355", "≈ 2.00", "–"]


def test_the_reason_for_a_break_is_one_line_and_a_function_given_up_says_so():
    def decides(x):
        return x if x.sum() > 0 else -x

    def loops(x):
        for _ in range(2):
            print(end="")
        return x

    explain = torch._dynamo.explain
    assert chapter.first_reason(explain(lambda x: x + 1)(torch.ones(1))) == "–"
    assert "\n" not in chapter.first_reason(explain(decides)(torch.ones(1)))
    assert "nothing is compiled" in chapter.first_reason(explain(loops)(torch.ones(1)))


def test_what_never_pays_is_never():
    assert chapter.steps_in_words(607.4) == "607"
    assert chapter.steps_in_words(float("inf")) == "never"
