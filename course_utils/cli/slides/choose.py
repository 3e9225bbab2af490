"""Chooses the slides of a section from what its cells are, and a deck's from those of its sections.

A section gives its title, and for each prediction a question and, on the next slide, its answer:
the last figure, table or text before the cell that answers, with the claims' lines. Short code
stands on the question's slide; other key code has a slide before it. Set-up, imports and bare
`predict` calls have none. A cell tagged `slide` keeps its slide, one tagged `skip-slide` has none.
All other text goes into the notes of the slide before it.
"""

import html
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from course_utils.cli import notebooks, sections
from course_utils.cli.handout import CLAIMS
from course_utils.cli.slides import parts
from course_utils.lesson import catalog

SLIDES_A_MINUTE = 45 / 60
TASK = re.compile(r"\*\*(?:Predict|Find|Count|Try)\b")
ADVICE = re.compile(r"\*\*Do this")
ANSWERED = re.compile(r"\banswer\(\s*\"([\w.]+)\"")
ALWAYS, OFTEN, ADVISED, SELDOM = range(4)  # ranks: the largest is left out first
LEAD_WORDS, TASK_WORDS, ADVICE_WORDS = 60, 95, 75
SHORT_QUESTION, CONTEXT_WORDS, TITLE_WORDS = 22, 50, 90


@dataclass(eq=False)
class Slide:
    """One slide: its HTML in `body`, and in `notes` the text that is left off."""

    kind: str
    body: list[str] = field(default_factory=list)
    rank: int = ALWAYS
    notes: list[str] = field(default_factory=list)
    heading: str = ""
    timing: str = ""
    visual: str = ""
    said: list[str] = field(default_factory=list)
    reading: list[str] = field(default_factory=list)

    def has_content(self) -> bool:
        return bool(self.body or self.visual or self.said)

    def parts(self) -> list[str]:
        """The parts of the slide, from the top."""
        shown = [*self.body, *filter(None, [self.visual])]
        return [*shown, *parts.results(self.said, self.visual), *self.reading]

    def is_under_its_title(self) -> bool:
        """True for a slide that needs no line above that says its section."""
        return any(part.startswith(("<h1", "<h2")) for part in self.body)

    def take(self, text: str) -> bool:
        """Puts a text that explains the results on the slide, if there is room."""
        if not self.said or parts.is_wide(text):
            return False
        self.reading.append(parts.markdown(text))
        fits = parts.height(self.parts()) <= parts.ROOM
        if not fits:
            self.reading.pop()
        return fits


class Chooser:
    """Reads a section's cells in order; `slides` are its slides."""

    def __init__(self, section: sections.Section, code: bool) -> None:
        self.section, self.with_code = section, code
        self.slides: list[Slide] = []
        self.code: list[Any] = []  # seen since the last evidence
        self.asked: dict[str, Slide] = {}  # the answer's slide, by the prediction
        self.open: Slide | None = None  # the answer's slide of the last question, until answered
        self.evidence: Slide | None = None  # the slide that takes the next results

    def read(self) -> list[Slide]:
        """The section's slides, and the answers behind their questions."""
        for cell in self.section.cells:
            tags = cell.metadata.get("tags", [])
            if "skip-slide" in tags or cell.get("id", "").startswith(catalog.EXERCISE):
                continue
            if cell.cell_type == "markdown":
                self._text(cell.source)
            elif cell.cell_type == "code" and not re.search(r"^start\(", cell.source, re.M):
                self._code(cell, "slide" in tags)
        self._place_code()
        kept: list[Slide] = []
        for slide in self.slides:
            if slide.has_content():
                kept.append(slide)
            elif kept:
                kept[-1].notes += slide.notes
        return kept

    def _add(self, slide: Slide) -> Slide:
        self.slides.append(slide)
        return slide

    def _text(self, source: str) -> None:
        blocks, last = parts.blocks(source), ""
        while blocks:
            block = blocks.pop(0)
            if block.startswith("## "):
                self._open(block.removeprefix("## "), blocks)
            elif TASK.search(block) and not parts.is_math(block):
                self._ask(block, blocks, last)
            elif ADVICE.search(block):
                self._advise(block)
            else:
                self._read(block)
            last = block

    def _open(self, title: str, blocks: list[str]) -> None:
        slide = self._add(Slide("section", [f"<h2>{html.escape(title)}</h2>"]))
        if blocks and not TASK.search(blocks[0]) and not parts.is_wide(blocks[0]):
            shown, left = parts.shortened(blocks.pop(0), LEAD_WORDS)
            slide.body.append(parts.markdown(shown))
            self._note(left)

    def _ask(self, block: str, blocks: list[str], before: str = "") -> None:
        """Begins a question's slide and its answer's; a short question shows what precedes it."""
        self._place_code()
        left, shown = parts.last_words(block, TASK_WORDS, TASK)
        self._note(left)
        question = self._add(Slide("question", [parts.markdown(shown)]))
        if len(shown.split()) < SHORT_QUESTION and not before.startswith("## "):
            question.body[:0] = parts.context(before, CONTEXT_WORDS)
        if blocks and parts.is_list(blocks[0]) and len(blocks[0].splitlines()) <= 7:
            question.body.append(parts.markdown(blocks.pop(0)))
        for more in [one for one in blocks if "?" in one and not parts.is_wide(one)][:1]:
            question.body += parts.context(more, CONTEXT_WORDS)
        self.evidence, self.open = None, self._add(Slide("answer"))

    def _advise(self, block: str) -> None:
        left, shown = parts.last_words(block, ADVICE_WORDS, ADVICE)
        is_taken = bool(self.slides) and self.slides[-1].take(shown)
        self._note(left)
        if not is_taken:
            self._add(Slide("advice", [parts.markdown(shown)], ADVISED))

    def _read(self, block: str) -> None:
        shown, left = parts.shortened(block, LEAD_WORDS)
        told = self.slides and self.slides[-1].said and not self.slides[-1].reading
        if told and self.slides[-1].take(shown):
            self._note(left)
        else:
            self._note(block)

    def _note(self, text: str) -> None:
        if text and self.slides:
            self.slides[-1].notes.append(text)

    def _code(self, cell: Any, is_wanted: bool) -> None:
        if catalog.is_question(cell.source):
            self._options(cell)
            return
        if any(output.output_type == "stream" for output in cell.outputs) and any(
            name in cell.source for name in CLAIMS
        ):
            self._results(cell)
        shows = [*parts.visuals(cell)]
        told = shows or ("record" in cell.source and "def " not in cell.source)
        told = told or notebooks.is_hidden(cell) or any(name in cell.source for name in CLAIMS)
        source = parts.without_imports(cell.source)
        if source and (is_wanted or not told):
            self.code.append((source, is_wanted))
        if shows:
            self._place_code()
        for rank, visual in shows:
            self._show(ALWAYS if is_wanted else rank, visual)

    def _options(self, cell: Any) -> None:
        """Puts the boxes of a prediction on the question's slide."""
        asked = [one for one in self.slides if one.kind == "question"]
        if not asked:
            self._ask("**Predict.** What will come out?", [])
            asked = self.slides[-2:-1]
        asked[-1].body.append(parts.options(cell))
        answer = self.slides[self.slides.index(asked[-1]) + 1]
        self.asked |= dict.fromkeys(re.findall(catalog.PREDICT, cell.source, re.M), answer)

    def _show(self, rank: int, visual: str) -> None:
        answer = self.open
        told = self.evidence  # an answer that had nothing to show until now
        if not answer and told and told is self.slides[-1] and told.kind == "answer":
            answer = None if told.visual or told.reading else told
        if answer and answer.visual:  # the last evidence is the answer's
            self._add(Slide("figure", rank=SELDOM, visual=answer.visual, said=answer.said))
            answer.said = []
        if answer:
            answer.visual, self.evidence = visual, answer
            self.open = answer if answer in self.asked.values() else None
        else:
            self.evidence = self._add(Slide("figure", rank=rank, visual=visual))

    def _results(self, cell: Any) -> None:
        self._place_code()
        answers = [one for one in ANSWERED.findall(cell.source) if one in self.asked]
        if answers:
            self.evidence, self.open = self.asked[answers[0]], None
        elif self.open:
            self.evidence = self.open
        elif not self.evidence:
            self.evidence = self._add(Slide("figure", rank=SELDOM))
        self.evidence.said += parts.lines(cell)
        for one in answers:
            self.asked.pop(one)

    def _place_code(self) -> None:
        """Puts the code since the last evidence on the question's slide, or on one before it."""
        found, self.code = self.code, []
        if not self.with_code:
            return
        at = next((n for n, one in enumerate(self.slides) if one is self.open), 0)
        question = self.slides[at - 1] if at else None
        first = not any(one.kind == "code" for one in self.slides)
        for source, is_wanted in found:
            shown = parts.code(source)
            if question and parts.height([*question.body, shown]) <= parts.ROOM:
                question.body.insert(-1, shown)
                continue
            rank = ALWAYS if is_wanted else OFTEN if first else SELDOM
            slide = Slide("code", [shown], rank)
            self.slides.insert(at - 1 if question else len(self.slides), slide)
            at, first = at + bool(question), False


def within(slides: list[Slide], most: int) -> list[Slide]:
    """At most so many slides, as far as titles and answers permit.

    Leaves out those of the largest rank first, from the section that has most; then joins titles
    of sections with the question behind them (always, where there is only a title); at last it
    leaves out questions. What is left out is in the notes of the slide before.
    """
    slides = list(slides)
    for rank in (SELDOM, ADVISED):
        _leave_out(slides, rank, most)
    for n in reversed(range(len(slides) - 1)):
        title, question = slides[n : n + 2]
        fits = parts.height([*title.body[:1], *question.body]) <= parts.ROOM
        wanted = len(slides) > most or len(title.body) == 1
        if wanted and fits and (title.kind, question.kind) == ("section", "question"):
            slides.pop(n + 1)
            title.notes += [*map(parts.as_text, title.body[1:]), *question.notes]
            title.kind, title.body = "question", title.body[:1] + question.body
    _leave_out(slides, OFTEN, most)
    for slide in slides:
        if slide.kind == "question" and not slide.is_under_its_title():
            slide.rank = SELDOM
    _leave_out(slides, SELDOM, most)
    return slides


def _leave_out(slides: list[Slide], rank: int, most: int) -> None:
    while len(slides) > most and any(one.rank == rank for one in slides):
        sizes = Counter(one.heading for one in slides)
        found = [n for n, one in enumerate(slides) if one.rank == rank]
        at = max(found, key=lambda n: (sizes[slides[n].heading], n))
        gone = slides.pop(at)
        if at:
            shown = [] if gone.kind in ("code", "figure") else map(parts.as_text, gone.body)
            slides[at - 1].notes += [*shown, *gone.said, *gone.notes]
