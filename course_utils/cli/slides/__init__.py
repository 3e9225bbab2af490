"""Slides of a chapter or a syllabus, in one HTML file that needs no network.

`choose` says which slides there are, `parts` how each part looks; nbconvert turns text and code
into HTML, and `deck` has the template with reveal.js (6.0.2, MIT licence) in `vendored`.
"""

import html
from pathlib import Path

from jinja2 import Environment, FileSystemLoader
from pygments.formatters import HtmlFormatter

from course_utils.cli import sections, syllabus
from course_utils.cli.slides import choose, parts
from course_utils.cli.slides.choose import Slide
from course_utils.core import files

DECK = Path(__file__).parent / "deck"
SLIDES = files.ROOT / "build" / "slides"


def make(path: Path, folder: Path = SLIDES, code: bool = True) -> Path:
    """Writes the slides of a notebook as stored; returns the file, named as the notebook is.

    Raises: OSError, ValueError where the notebook can't be read or the file not be written.
    """
    found = sections.of(path)
    plan = {one.title: one.minutes for one in found}
    return _write(folder / f"{path.stem}.html", path.stem, of_sections(found, plan, code))


def make_syllabus(name: str, folder: Path = SLIDES, code: bool = True) -> Path:
    """Writes one deck for all parts of a syllabus, in its order; returns the file.

    Raises: NotebookError if the syllabus doesn't fit the pages.
    """
    read, slides = syllabus.read(name), []
    for title, some in read.by_day():
        slides.append(_agenda(title, [one.in_words() for one in some]))
        clock = 0
        for part in some:
            if part.chapter:
                found, plan = sections.of(part.path), part.plan()
                slides += of_sections(found, plan, code, part.exercises, clock)
                clock += sum(plan.values())
            else:
                clock += part.minutes
                slides.append(Slide("pause", [f"<h2>{html.escape(part.activity)}</h2>"]))
                slides[-1].body.append(parts.markdown(f"{part.minutes} minutes"))
    return _write(folder / f"{name}.html", read.title, slides)


def of_sections(
    found: list[sections.Section],
    plan: dict[str, int],
    code: bool,
    exercises: list[int] | None = None,
    clock: int = 0,
) -> list[Slide]:
    """The slides of a chapter's sections in `plan`, which has the minutes of each.

    At most 45 for 60 minutes, which begin at minute `clock`. `exercises` are the numbers of those
    to solve in class; all if None.
    """
    chosen: list[Slide] = []
    opening = found[0]
    for section in found:
        minutes = plan.get(section.title, 0)
        if section.title not in plan and section is not opening:
            continue
        if section is opening:
            slides = _of_opening(section)
        elif section.title == sections.EXERCISES:
            slides = _of_exercises(section, exercises)
        elif section.title == sections.REMEMBER:
            slides = _of_remember(section)
        else:
            slides = choose.Chooser(section, code).read()
        for slide in slides:
            slide.heading = section.title
            slide.timing = (
                f"{section.title or 'Opening'}: {minutes} minutes, from minute {clock} on"
            )
        clock += minutes
        chosen += slides
    taught = sum(minutes for title, minutes in plan.items() if title != sections.EXERCISES)
    return choose.within(chosen, int(taught * choose.SLIDES_A_MINUTE))


def _agenda(title: str, rows: list[str]) -> Slide:
    listed = "".join(f"<li>{html.escape(row)}</li>" for row in rows)
    return Slide("agenda", [f"<h1>{html.escape(title)}</h1>", f"<ul>{listed}</ul>"])


def _of_opening(section: sections.Section) -> list[Slide]:
    first, *others = parts.blocks(section.text)
    slide = Slide("title", [f"<h1>{html.escape(first.lstrip('# '))}</h1>"], notes=others[1:])
    for text in others[:1]:
        shown, left = parts.shortened(text, choose.TITLE_WORDS)
        slide.body.append(parts.markdown(shown))
        slide.notes.insert(0, left)
    return [slide]


def _of_exercises(section: sections.Section, numbers: list[int] | None) -> list[Slide]:
    rows = [
        f"<li><b>{number} · {html.escape(title)}</b>, {minutes} minutes</li>"
        for number, (title, minutes) in section.exercises().items()
        if numbers is None or number in numbers
    ]
    body = ["<h2>Exercises</h2>", f'<ul class="exercises">{"".join(rows)}</ul>']
    return [Slide("exercises", body, notes=parts.blocks(section.text)[1:])]


def _of_remember(section: sections.Section) -> list[Slide]:
    title, *others = parts.blocks(section.text)
    shown = [one for one in others if parts.is_list(one)][:1]
    body = [f"<h2>{html.escape(title.lstrip('# '))}</h2>", *map(parts.markdown, shown)]
    return [Slide("remember", body, notes=[one for one in others if one not in shown])]


def _write(target: Path, name: str, slides: list[Slide]) -> Path:
    template = Environment(loader=FileSystemLoader(DECK), autoescape=True, trim_blocks=True)
    style = HtmlFormatter(style="default").get_style_defs(".highlight")
    deck = {one.name: one.read_text("utf-8") for one in DECK.rglob("*.*s")}
    page = template.get_template("index.html.j2")
    files.write_whole(target, page.render(name=name, slides=slides, style=style, deck=deck))
    return target
