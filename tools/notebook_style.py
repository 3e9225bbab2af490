"""The style of the code on the pages: the rules in notebooks/.ruff.toml, and a statement a line.

`python -m tools.notebook_style` says what is wrong in any notebook;
`… --format 03` formats the solutions of a chapter, then says what is left. Solutions have ruff's
layout; a page's calls are wrapped by hand, since one argument a line nearly doubles its length.

Ruff skips a cell under a magic that it doesn't know, and takes the names made there for undefined
elsewhere. So it is given `%%ranks` as `%%debug`, which is as long, which it knows, and which no
cell of a page begins with. What `ranks.push` gives to the ranks is known there.
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
    """The pages and the solutions whose file name begins so (`03`)."""
    found = (sorted(NOTEBOOKS.glob(f"{part}{name}*.ipynb")) for part in ("", "solutions/"))
    return [path for part in found for path in part]


def problems(path: Path) -> str:
    """Problems of a notebook's code: rules broken, and a diff of a solution's layout."""
    asked = [_ruff(path, "check", "--output-format", "concise")]
    if path.parent != NOTEBOOKS:
        asked.append(_ruff(path, "format", "--diff"))
    said = "".join(part for done in asked for part in (done.stdout, done.stderr))
    return said.replace("%%debug", "%%ranks") + "".join(_several_on_a_line(path))


def _several_on_a_line(path: Path) -> Iterator[str]:
    """Calls side by side in a tuple, or in a list that nobody keeps."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    for number, source in enumerate(code, 1):
        with suppress(SyntaxError):  # of which ruff has spoken
            for node in ast.walk(ast.parse(re.sub(r"^\s*[%!].*$", "pass", source, flags=re.M))):
                value = getattr(node, "value", None) if isinstance(node, ast.Expr) else None
                calls = any(isinstance(one, ast.Call) for one in getattr(value, "elts", ()))
                if (isinstance(value, ast.Tuple) and calls) or isinstance(value, ast.ListComp):
                    where = f"{path.name}:cell {number}:{node.lineno}"
                    yield f"{where}: several statements on one line\n"


def format_cells(path: Path) -> None:
    """Formats a solution's code; all else stays, byte for byte, as does what ruff can't read."""
    done = _ruff(path, "format")
    if path.parent != NOTEBOOKS and done.returncode == 0:
        path.write_text(_renamed("debug", "ranks", done.stdout), encoding="utf-8")


def _renamed(magic: str, new: str, text: str) -> str:
    """A stored notebook in which the cells that begin with one magic begin with another."""
    return re.sub(rf'("source": \[\s*"%%){magic}\b', rf"\g<1>{new}", text)


def _ruff(path: Path, command: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Runs a command of ruff on the text of a notebook; status 2: it can't read the text."""
    text = path.read_text(encoding="utf-8")
    known = tomllib.loads(RULES.read_text(encoding="utf-8"))["builtins"]
    known += re.findall(r"\branks\.push\((\w+)=", text)
    how = ["--quiet", "--config", str(RULES), "--config", f"builtins = {json.dumps(known)}"]
    command_line = [sys.executable, "-m", "ruff", command, *how, "--stdin-filename", str(path)]
    return subprocess.run(
        [*command_line, *options, "-"], cwd=ROOT, input=_renamed("ranks", "debug", text),
        capture_output=True, encoding="utf-8",
    )  # fmt: skip


def main(arguments: list[str]) -> int:
    """Prints every problem; the exit status is 0 where there is none, 2 for an unknown name."""
    parser = argparse.ArgumentParser(prog="python -m tools.notebook_style")
    parser.add_argument("names", nargs="*", default=[""], help="such as 03; else all")
    parser.add_argument("--format", action="store_true", help="format the solutions first")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.names if not notebooks(name)]:
        print(f"No notebook's name begins with {', '.join(unknown)}.")
        return 2
    chosen = [path for name in options.names for path in notebooks(name)]
    for path in chosen if options.format else []:
        format_cells(path)
    found = [said for path in chosen if (said := problems(path))]
    print("".join(found) or f"{len(chosen)} notebooks keep the rules of {RULES.name}.")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
