"""The style of the code on the pages: the rules in notebooks/.ruff.toml, and a statement a line.

`python -m tools.notebook_style` says what is wrong in any notebook;
`… --format 03` formats the solutions of a chapter, then says what is left. Solutions have ruff's
layout; a page's calls are wrapped by hand, since one argument a line nearly doubles its length.

Ruff skips a cell under a magic that it doesn't know, and takes the names made there for undefined
elsewhere. So it is given `%%ranks` as `%%debug`, which is as long, which it knows, and which no
cell of a page begins with: a page runs unattended. What `ranks.push` gives to the ranks is known
there.
"""

import argparse
import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "notebooks"
RULES = NOTEBOOKS / ".ruff.toml"


def notebooks(name: str = "") -> list[Path]:
    """The pages and the solutions whose file name begins so (`03`), without Jupyter's copies."""
    return [
        p for part in ("", "solutions/") for p in sorted(NOTEBOOKS.glob(f"{part}{name}*.ipynb"))
    ]


def problems(path: Path) -> str:
    """What is wrong with a notebook's code: rules broken, and a diff of a solution's layout; or "".

    A statement that is a tuple, or a list made for its effect, is several on one line.
    """
    text = path.read_text(encoding="utf-8")
    asked = [_ruff(path, text, "check", "--output-format", "concise")]
    if is_laid_out_by_ruff(path):
        asked.append(_ruff(path, text, "format", "--diff"))
    said = [part for done in asked for part in (done.stdout, done.stderr)]
    return "".join([*said, *_several_on_a_line(path, text)]).replace("%%debug", "%%ranks")


def is_laid_out_by_ruff(path: Path) -> bool:
    """Solutions are; on a page calls are wrapped by hand."""
    return path.parent != NOTEBOOKS


def _several_on_a_line(path: Path, text: str) -> Iterator[str]:
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells, 1):
        code = re.sub(r"^\s*[%!].*$", "pass", "".join(cell["source"]), flags=re.M)
        with suppress(SyntaxError):  # of which ruff has spoken
            for node in ast.walk(ast.parse(code)):
                if isinstance(node, ast.Expr) and _is_several(node.value):
                    where = f"{path.name}:code cell {number}:{node.lineno}"
                    yield f"{where}: several statements on one line: give each a line of its own\n"


def _is_several(value: ast.expr) -> bool:
    """Calls side by side in a tuple, or in a list that nobody keeps."""
    calls = isinstance(value, ast.Tuple) and any(isinstance(e, ast.Call) for e in value.elts)
    return calls or isinstance(value, ast.ListComp)


def format_cells(path: Path) -> None:
    """Formats a solution's code; all else stays, byte for byte, as does what ruff can't read."""
    if not is_laid_out_by_ruff(path):
        return
    text = path.read_text(encoding="utf-8")
    done = _ruff(path, text, "format")
    formatted = _with_cells_under("ranks", "debug", done.stdout)
    if done.returncode == 0 and formatted != text:
        path.write_text(formatted, encoding="utf-8")


def _with_cells_under(magic: str, other: str, text: str) -> str:
    """A stored notebook in which the cells that begin with another magic begin with this one."""
    return re.sub(rf'("source": \[\s*"%%){other}\b', rf"\g<1>{magic}", text)


def _ruff(path: Path, text: str, command: str, *options: str) -> subprocess.CompletedProcess[str]:
    """What a command of ruff says to the text of a notebook; status 2: it can't read the text."""
    how = ["--quiet", "--config", str(RULES), "--stdin-filename", str(path)]
    known = tomllib.loads(RULES.read_text(encoding="utf-8"))["builtins"]
    pushed = re.findall(r"\branks\.push\((\w+)=", text)
    how += ["--config", f"builtins = {json.dumps([*known, *pushed])}"]
    return subprocess.run(
        [sys.executable, "-m", "ruff", command, *how, *options, "-"],
        cwd=ROOT,
        input=_with_cells_under("debug", "ranks", text),
        capture_output=True,
        encoding="utf-8",
    )


def main(arguments: list[str]) -> int:
    """Prints every problem; the exit status is 0 where there is none, 2 for an unknown name."""
    parser = argparse.ArgumentParser(prog="python -m tools.notebook_style")
    parser.add_argument("names", nargs="*", help="such as 03; else all")
    parser.add_argument("--format", action="store_true", help="format the solutions first")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.names if not notebooks(name)]:
        print(f"No notebook's name begins with {', '.join(unknown)}.")
        return 2
    chosen = [path for name in options.names for path in notebooks(name)] or notebooks()
    if options.format:
        for path in chosen:
            format_cells(path)
    found = [said for path in chosen if (said := problems(path))]
    print("".join(found) or f"{len(chosen)} notebooks keep the rules of {RULES.name}.")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
