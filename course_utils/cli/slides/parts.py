"""The parts of a slide as HTML: text, code, figures, tables and results, cut to what fits."""

import ast
import html
import re
from collections.abc import Iterator
from typing import Any

from nbconvert.filters import Highlight2HTML, markdown2html

MOST_LINES, MOST_ROWS, MOST_OUTPUT = 19, 8, 12  # of code, of a table, of printed text
MOST_COLUMNS = 88
MOST_RESULTS, BESIDE_VISUAL = 5, 2
LONG, ROOM = 220, 620  # characters of a text; px of a slide below its heading
WIDEST, PIXELS = 1150, 580  # what code may take, at most, in px
LARGEST_CODE, SMALLEST_CODE, CODE_WIDTH, CODE_HEIGHT = 28, 21.5, 0.602, 1.32
SENTENCE = re.compile(r"(?<=[.?!:)])\s+(?=[A-Z*`(])")
MEASURED = r"\[.*\]|\w+Error: .*|(?:[^()]|\([^()]*\))*margin[^()]*"  # behind a claim's text
RESULT = re.compile(rf"^([✓∴–]) (.+?)(?: \((?:{MEASURED})\))?$")
UNTESTED = re.compile(r": not tested here \(.*?held on (.+?), \d{4}-\d\d-\d\d\)$")
FENCED = re.compile(r"((?:^|\n)(?:> ?)?```.*?\n(?:> ?)?```(?=\n|$))", re.S)
HIGHLIGHT = Highlight2HTML(pygments_lexer="python")


def blocks(source: str) -> list[str]:
    """The paragraphs, lists, tables and code of a text; fenced code stays whole."""
    pieces = FENCED.split(source)
    found = [[piece] if n % 2 else re.split(r"\n\s*\n", piece) for n, piece in enumerate(pieces)]
    return [one.strip("\n") for some in found for one in some if one.strip()]


def markdown(text: str) -> str:
    """HTML of a text in Markdown, whose links lead nowhere; the class says if it is long."""
    size = "long" if len(text) > LONG else "short"
    return f'<div class="text {size}">{markdown2html(text)}</div>'


def as_text(part: str) -> str:
    """The words of a part that was HTML."""
    return html.unescape(re.sub(r"<[^>]*>", "", part)).strip()


def is_math(block: str) -> bool:
    """True for a block with a LaTeX formula: slides have no MathJax."""
    return bool(re.search(r"\$[^$]*\\[^$]*\$", block))


def is_list(block: str) -> bool:
    """True for a list or a table."""
    return bool(re.match(r"(?:[-*] |\d+\. |\|)", block))


def is_wide(block: str) -> bool:
    """True for what is no paragraph to open a section with."""
    return is_list(block) or is_math(block) or block.startswith(("```", "$$", "###", ">"))


def shortened(text: str, words: int) -> tuple[str, str]:
    """The first sentences, of at most so many words together (one at least), and the rest."""
    sentences = SENTENCE.split(text)
    shown = [sentences.pop(0)]
    while sentences and len(" ".join([*shown, sentences[0]]).split()) <= words:
        shown.append(sentences.pop(0))
    if len(shown) > 1 and shown[-1].endswith(":"):  # it introduces what isn't on this slide
        sentences.insert(0, shown.pop())
    cut = " ".join(shown).split(" ")
    if len(cut) > 2 * words:  # one endless sentence
        return " ".join([*cut[: 2 * words], "…"]), text
    return " ".join(shown), " ".join(sentences)


def context(text: str, words: int) -> list[str]:
    """A paragraph's last sentences, of at most so many words together, or a block of code."""
    if text.startswith("```"):
        return [code("\n".join(text.splitlines()[1:-1]))]
    sentences, shown = SENTENCE.split(text), ""
    while sentences and not is_wide(text) and len(f"{sentences[-1]} {shown}".split()) <= words:
        shown = f"{sentences.pop()} {shown}".strip()
    return [f'<div class="context">{markdown2html(shown)}</div>'] if shown else []


def last_words(text: str, words: int, marked: re.Pattern[str]) -> tuple[str, str]:
    """Splits the last sentences off a text: with `marked`, at most so many words.

    The marked sentence begins the second part where all of it would be too long.
    """
    if len(text.split()) <= words:
        return "", text
    at = re.search(rf"(?:^|(?<=[.?!:)]) ){marked.pattern}", text)
    before, after = (text[: at.start()], text[at.start() :].strip()) if at else ("", text)
    shown, left = shortened(after, words)
    return f"{before} {left}".strip(), shown


def code(source: str) -> str:
    """Highlighted code, at most `MOST_LINES` of it, as large as its longest line permits."""
    lines = [_narrow(line) for line in trimmed(source.rstrip().splitlines())]
    columns = max(map(len, lines))
    size = min(WIDEST / CODE_WIDTH / columns, PIXELS / CODE_HEIGHT / len(lines), LARGEST_CODE)
    size = max(size, SMALLEST_CODE)
    shown = HIGHLIGHT("\n".join(lines))
    return f'<div class="code" style="font-size: {size:.1f}px">{shown}</div>'


def trimmed(lines: list[str]) -> list[str]:
    """The first lines, up to the last empty one or end of a definition that leaves few enough."""
    if len(lines) <= MOST_LINES:
        return lines
    ends = [n for n in range(4, MOST_LINES) if _may_end(*lines[n - 1 : n + 1])]
    end = max(ends, default=MOST_LINES - 1)
    return [*lines[:end], f"# … {len(lines) - end} more lines on the page"]


def _narrow(line: str) -> str:
    return line if len(line) <= MOST_COLUMNS else line[: MOST_COLUMNS - 1] + "…"


def _may_end(last: str, following: str) -> bool:
    begins = re.match(r"\s{0,4}(?:def|class|@)\b", following) or not following.strip()
    return bool(begins) and not last.endswith(":") and not last.lstrip().startswith("@")


def without_imports(source: str) -> str:
    """The source without its imports at the top level; "" if there is nothing else."""
    lines = source.splitlines()
    plain = "\n".join(f"#{one}" if one.startswith("%") else one for one in lines)
    try:
        found = [
            one for one in ast.parse(plain).body if isinstance(one, ast.Import | ast.ImportFrom)
        ]
    except SyntaxError:
        return source
    gone = {n for one in found for n in range(one.lineno - 1, one.end_lineno or one.lineno)}
    return "\n".join(one for n, one in enumerate(lines) if n not in gone).strip("\n")


def options(cell: Any) -> str:
    """The boxes of a prediction, as the page shows them without a kernel."""
    shown = ""
    for output in cell.outputs:
        said = output.get("data", {}).get("text/plain", "")
        if row := re.sub(r"^Your prediction:? ?|\[_+\]", "", said).strip():
            boxes = re.split(r"\s+(?=☐)", row) if "☐" in row else [f"_____ {row}"]
            shown += f"<p>{''.join(f'<span>{html.escape(box)}</span> ' for box in boxes)}</p>"
    return f'<div class="options">{shown}</div>'


def height(shown: list[str]) -> float:
    """About how many px of the slide's `ROOM` the parts take, in the sizes of `deck.css`."""
    total = 0.0
    for part in shown:
        if 'class="figure"' in part:
            return 1000
        rows = max(part.count("<tr"), part.count("\n") if "<pre" in part else 0)
        total += 40 + rows * 40
        if not rows:
            paragraphs = re.split(r"</p>|</li>|<br", part)
            total += sum(44 * (1 + len(as_text(one)) // 62) for one in paragraphs if as_text(one))
    return total


def visuals(cell: Any) -> Iterator[tuple[int, str]]:
    """Each figure (rank 1), table and printed text (3) of a cell's outputs, as HTML."""
    for output in cell.outputs:
        data = output.get("data", {})
        if png := data.get("image/png"):
            words = html.escape(data.get("text/plain", ""))
            source = "data:image/png;base64," + png.replace("\n", "")
            yield 1, f'<div class="figure"><img alt="{words}" src="{source}"></div>'
        elif "<table" in (table := data.get("text/html", "")):
            yield 3, f'<div class="table">{_cut_table(table)}</div>'
        elif output.output_type == "stream":
            said = output.text.splitlines()
            if said and not any(map(_is_result, said)):
                shown = [*map(_narrow, said[:MOST_OUTPUT]), "…"]
                lines = "\n".join(shown[: len(said)])
                yield 3, f'<pre class="printed">{html.escape(lines)}</pre>'


def _is_result(line: str) -> bool:
    return bool(RESULT.match(line)) or line.startswith("Answer")


def _cut_table(table: str) -> str:
    rows = re.split(r"(?=<tr)", re.sub(r"_(?=[^<>]*</th>)", "_<wbr>", table))
    more = len(rows) - 1 - MOST_ROWS
    if more <= 0:
        return "".join(rows)
    return "".join(rows[: MOST_ROWS + 1]) + f"</table><p>… {more} more rows on the page</p>"


def lines(cell: Any) -> list[str]:
    """The lines of claims and answers that a cell printed, without margins."""
    said = "".join(one.text for one in cell.outputs if one.output_type == "stream").splitlines()
    said = [RESULT.sub(r"\1 \2", one) for one in said if _is_result(one)]
    return [UNTESTED.sub(r" (held on \1)", one) for one in said]


def results(said: list[str], visual: str) -> list[str]:
    """HTML of the answers and the most telling lines of claims: few beside a figure or table.

    Lines that differ only in numbers count once; what wasn't tested here comes last.
    """
    answers = [one for one in said if one.startswith("Answer")]
    alike = {re.sub(r"[\d.,]+", "", one): one for one in reversed(said) if one not in answers}
    claims = sorted(reversed(alike.values()), key=lambda one: one.startswith("–"))
    most = BESIDE_VISUAL if visual else MOST_RESULTS
    shown = "".join(f"<p>{_with_code(one)}</p>" for one in claims[: max(1, most - len(answers))])
    for one in answers:
        shown += f'<p class="answered {"long" * (len(one) > 110)}">{_with_code(one)}</p>'
    return [f'<div class="results">{shown}</div>'] if shown else []


def _with_code(line: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(line))
