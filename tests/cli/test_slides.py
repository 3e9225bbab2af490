"""Slides show what the page shows: a collapsed cell's output without its source."""

import nbformat

from course_utils.cli import slides


def test_a_slide_has_no_source_of_collapsed_cells_and_of_questions(tmp_path):
    def code(source, said, **metadata):
        output = nbformat.v4.new_output("stream", text=said)
        return nbformat.v4.new_code_cell(source, outputs=[output], metadata=metadata)

    cells = [
        nbformat.v4.new_markdown_cell("# 99 · A chapter"),
        code("seen = 1", "shown"),
        code("claim('secret')", "✓ it holds", jupyter={"source_hidden": True}),
        code("predict('a.b', ...)", "Your prediction: [____]"),
    ]
    path = tmp_path / "99_a_chapter.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    text = slides.make(path, tmp_path).read_text(encoding="utf-8")
    assert all(said in text for said in ("seen", "shown", "✓ it holds", "Your prediction:"))
    assert "secret" not in text and "predict(" not in text
