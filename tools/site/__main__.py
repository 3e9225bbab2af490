"""`make site`: the course as a website in build/site, from the outputs that are stored.

The pages are copied to build/site-source and changed there for visitors, who have no kernel; then
Sphinx builds them in .venv-site. A link without a target ends the build. `--links` asks the hosts
of the external links instead.
"""

import base64
import html
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell

from course_utils.cli.handout import gives_away
from course_utils.core import files
from course_utils.core.files import ROOT
from course_utils.lesson import catalog
from tools import publication

HERE = Path(__file__).parent
SOURCE, SITE = ROOT / "build" / "site-source", ROOT / "build" / "site"
SOLUTIONS = Path("notebooks/solutions/index.md")
TEXTS = ("*.md", "docs/*.md", "packages/*/*.md")
LINK = re.compile(r"(!?)\[((?:[^][]|\[[^]]*\])*)\]\(([^()\s]+)\)")
ASKED, ANSWERED = re.compile(catalog.PREDICT, re.M), re.compile(r'\banswer\(\s*"([\w.]+)"')
LIVE = "<p class='live'>A stored picture; the widget is live in the notebook.</p>"
TABLE = "<div class='wide' role='region' aria-label='Table' tabindex='0'>{}</div>"
IN_ORDER = "\n```{{toctree}}\n:caption: {}\n:hidden:\n\n{}\n```\n"
RUN = """<details class='run'><summary>Run this page</summary>
<p>On your machine, in the folder of the course (<a href="{up}index.html">how to get it</a>):</p>
<pre tabindex='0'>make lab</pre>
<p>then open <code>{path}</code>. {services} hosted notebook: upload
<a href="{name}" download>this notebook</a>{hosted}
</details>"""
PASTE = " and paste this above its first cell:</p>\n<pre tabindex='0'>{}</pre>"


FETCHES = "; its first cell fetches the course.</p>"


def fold(cells: list[Any]) -> None:
    """Closes what gives a prediction away, from its question to the cell that answers it.

    A cell that shows or tells the result is closed wholly; one that only prints, its output. Where
    nothing is asked, only the source of claims is closed, as in the notebook.
    """
    asked: set[str] = set()
    for cell in cells:
        if cell.cell_type != "code":
            continue
        answers = ANSWERED.findall(cell.source)
        if asked and gives_away(cell):
            _close(cell, "cell", "Show the answer" if answers else "Show what came out")
        elif asked and cell.outputs and not catalog.is_question(cell.source):
            _close(cell, "output", "Show what it printed")
        elif cell.metadata.get("jupyter", {}).get("source_hidden"):
            _close(cell, "input", "Show the code of these claims")
        asked = (asked | {*ASKED.findall(cell.source)}) - {*answers}


def _close(cell: Any, what: str, prompt: str) -> None:
    cell.metadata["tags"] = [*cell.metadata.get("tags", []), f"hide-{what}"]
    cell.metadata["mystnb"] = {"code_prompt_show": prompt, "code_prompt_hide": "Hide it"}


def picture(data: Any, name: str, up: str) -> str:
    """HTML of an output's picture, whose file is written; its words are the alternative text."""
    png = base64.b64decode(data["image/png"])
    _write(SOURCE / "_static" / "figures" / name, png)
    width, height = (int.from_bytes(png[at : at + 4], "big") for at in (16, 20))
    words = html.escape(data["text/plain"]).replace("\n", "&#10;")
    image = f"<img src='{up}_static/figures/{name}' alt='{words}' width='{width}'"
    image += f" height='{height}' loading='lazy'>"
    return image + LIVE * data["text/plain"].startswith("[widget]")


def page(path: Path, hosted: str) -> Any:
    """The notebook of `path` (from the course's folder) as the site shows it."""
    notebook, up = nbformat.read(ROOT / path, 4), "../" * (len(path.parts) - 1)
    fold(notebook.cells)
    cells = []
    for cell in notebook.cells:
        cells.append(cell)
        if cell.cell_type == "markdown":
            cell.source = resolved(cell.source, path)
            continue
        for n, output in enumerate(cell.outputs):
            data = output.get("data", {})
            if "image/png" in data:
                output.data = {"text/html": picture(data, f"{path.stem}-{cell.id}-{n}.png", up)}
            elif "<table" in data.get("text/html", ""):
                output.data = {"text/html": TABLE.format(data["text/html"])}
            elif "text/markdown" in data:
                cells.append(new_markdown_cell(data["text/markdown"]))
        cell.outputs = [one for one in cell.outputs if "text/markdown" not in one.get("data", {})]
    chapter = ROOT / path in files.chapters()
    links = publication.services(publication.address(), path.stem) if chapter else {}
    opened = " or ".join(f'<a href="{to}">{name}</a>' for name, to in links.items())
    box = RUN.format(
        up=up,
        path=path,
        name=path.name,
        services=f"Or open it in {opened}. On another" if opened else "On Colab or another",
        hosted=FETCHES if publication.address() else PASTE.format(html.escape(hosted)),
    )
    notebook.cells = [cells[0], new_markdown_cell(box), *cells[1:]]
    return notebook


def to_upload(path: Path, hosted: str) -> str:
    """A notebook's text for a hosted service: once the course has an address, it fetches it."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if not publication.address():
        return text
    notebook = nbformat.reads(text, 4)
    notebook.cells.insert(0, new_code_cell(hosted, id="fetch-the-course"))
    return nbformat.writes(notebook)


def resolved(text: str, path: Path) -> str:
    """A page's text whose links to files that the site doesn't show are plain words."""

    def link(found: re.Match[str]) -> str:
        mark, words, target = found.groups()
        place, _, anchor = target.partition("#")
        if mark or not place or not (there := (ROOT / path).parent / place).exists():
            return found[0]
        to = there.resolve().relative_to(ROOT)
        if to == SOLUTIONS.parent:
            return f"[{words}]({place.rstrip('/')}/index.md)"
        if to == Path("README.md"):
            return f"[{words}]({place.replace('README', 'index')}{'#' * bool(anchor)}{anchor})"
        return found[0] if to in pages() else words

    fenced = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
    return "".join(part if k % 2 else LINK.sub(link, part) for k, part in enumerate(fenced))


def pages() -> list[Path]:
    """Everything that the site shows, from the course's folder."""
    found = [*(path for one in TEXTS for path in sorted(ROOT.glob(one)))]
    found += [files.INDEX, *files.chapters(), *sorted(files.SOLUTIONS.glob("*.ipynb"))]
    return [path.relative_to(ROOT) for path in found if path.name != "AGENTS.md"]


def contents() -> dict[Path, str]:
    """The list of pages at the side, at the end of the first page; and the list of solutions."""
    chapters: dict[str, list[str]] = {"Start": ["The map <notebooks/00_index>"]}
    for one in catalog.chapters():
        chapters.setdefault(one.part, []).append(f"notebooks/{one.stem}")
    others = [p.with_suffix("").as_posix() for p in pages() if p.suffix == ".md"]
    others.remove("README")
    chapters["Beside the chapters"] = ["notebooks/solutions/index", *others]
    first = resolved((ROOT / "README.md").read_text(encoding="utf-8"), Path("README.md"))
    first += "".join(IN_ORDER.format(part, "\n".join(of)) for part, of in chapters.items())
    solved = "# Solutions\n\nTry an exercise first.\n\n```{toctree}\n:glob:\n\n*_*\n```\n"
    return {Path("index.md"): first, SOLUTIONS: solved}


def prepare() -> None:
    """Writes build/site-source."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    texts = contents()
    of_the_map = "\n".join(cell.source for cell in nbformat.read(files.INDEX, 4).cells)
    (hosted,) = re.findall(r"^```python\n(ADDRESS = .*?)\n```$", of_the_map, re.M | re.S)
    for path in pages():
        if path.suffix == ".md" and path != Path("README.md"):
            texts[path] = resolved((ROOT / path).read_text(encoding="utf-8"), path)
        elif path.suffix == ".ipynb":
            texts[path] = nbformat.writes(page(path, hosted))
            _write(SOURCE / "_extra" / path, to_upload(path, hosted).encode())
    for path, text in texts.items():
        _write(SOURCE / path, text.encode())
    shutil.copytree(ROOT / "docs" / "pictures", SOURCE / "docs" / "pictures")
    for name, to in (("conf.py", "."), ("site.css", "_static"), ("site.js", "_static")):
        shutil.copy(HERE / name, SOURCE / to)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def main(links: bool) -> int:
    """Builds the site, or checks its external links; the exit status is Sphinx's."""
    start, to = time.perf_counter(), ROOT / "build" / "site-links" if links else SITE
    prepare()
    shutil.rmtree(to, ignore_errors=True)
    command = [sys.executable, "-m", "sphinx", "--quiet", "--jobs", "auto", "--fail-on-warning"]
    kind = "linkcheck" if links else "html"
    status = subprocess.run([*command, "--keep-going", "-b", kind, str(SOURCE), str(to)]).returncode
    count, size = (
        len([p for p in to.rglob("*.html") if "_static" not in p.parts]),
        sum(p.stat().st_size for p in to.rglob("*.*")),
    )
    took = time.perf_counter() - start
    print(f"{to.relative_to(ROOT)}: {count} pages, {size / 1e6:.0f} MB, {took:.0f} s")
    return status


if __name__ == "__main__":
    sys.exit(main("--links" in sys.argv[1:]))
