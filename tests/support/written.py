"""Notebooks that a test writes."""

import nbformat


def notebook(path, *cells):
    made = [
        nbformat.v4.new_code_cell(source, id=f"c{i}", outputs=list(outputs))
        for i, (source, *outputs) in enumerate(cells)
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=made), path)
    return path
