"""A comparison in words stands next to the claim that tests it, and points the same way."""

import ast
from collections import Counter

import pytest

from course_utils.core import files
from tests.support.bounds_in_words import contradictions
from tests.support.comparing_words import uses
from tests.support.comparisons import Claim, Page, Statement, problems, read, reasons, reversals

chapters = pytest.mark.parametrize("path", files.chapters(), ids=lambda p: p.stem)


@chapters
def test_every_comparison_of_a_page_has_its_claim_or_a_reason(path):
    found, stale = problems(read(path), reasons().get(path.stem[:2], {}))
    lines = [*map(str, found), *(f"excuses nothing: {quote}" for quote in stale)]
    assert not lines, "\n".join(lines)


@chapters
def test_a_claims_words_say_the_bound_that_it_tests(path):
    assert [wrong for claim in read(path).claims for wrong in claim.wrong] == []


def test_reasons_are_for_chapters_that_there_are_and_say_why():
    assert set(reasons()) <= {path.stem[:2] for path in files.chapters()}
    assert all(len(why.split()) > 2 for quotes in reasons().values() for why in quotes.values())


def test_most_comparisons_turned_round_stand_against_their_claims():
    caught = Counter(
        any(f.what != "covered" for f in page.judge(turned))
        for page in map(read, files.chapters())
        for _, turned in reversals(page)
    )
    assert caught[True] >= 0.8 * caught.total() > 0


def outcomes(text, *claims):
    page = Page(tuple(Claim(c, 1, "[1]") for c in claims), (Statement(text, (1,), "[0]"),))
    return [finding.what for finding in page.findings()]


QUEUE = "queueing small products is at least 1.3 times faster than waiting"


def test_a_claim_covers_a_sentence_that_points_the_same_way():
    assert outcomes("Small products get faster by queueing.", QUEUE) == ["covered"]
    assert outcomes("Small products get quicker by queueing.", QUEUE) == ["covered"]


def test_a_sentence_turned_round_stands_against_the_claim():
    assert outcomes("Small products get slower by queueing.", QUEUE) == ["against a claim"]
    assert outcomes("Small products get no faster by queueing.", QUEUE) == ["against a claim"]


def test_a_claim_about_something_else_covers_nothing():
    assert outcomes("A copy over the link gets faster when pinned.", QUEUE) == ["no claim"]


def test_things_compared_may_change_places_with_the_word():
    claim = "torch is over 3 times quicker than a loop of Python"
    assert outcomes("A loop of Python takes longer than torch.", claim) == ["covered"]
    assert outcomes("A loop of Python is quicker than torch.", claim) == ["against a claim"]


def test_of_two_claims_the_nearer_one_decides():
    other = "queueing large products is slower than waiting for products"
    assert outcomes("Queueing small products is slower.", QUEUE, other) == ["against a claim"]


@pytest.mark.parametrize(
    "said",
    [
        "Half of it is **quicker** than before",
        "Its busbw is over 5% of the rest",
        "The larger the batch, the more it saves",
        "It gains nothing",
        "It is 3 times as fast",
        "The call returns before the work is done",
    ],
)
def test_a_comparison_is_strong(said):
    assert any(use.strong for use in uses(said))


@pytest.mark.parametrize(
    "said",
    [
        "Take a smaller format",
        "It goes over NCCL, two GPUs or more, over 54 days",
        "The first cell, the last layer, a slow link",
        "`slow_train` and “faster than light”",
        "What FP16 loses, others found",
    ],
)
def test_a_description_needs_no_claim(said):
    assert not any(use.strong for use in uses(said))


def test_a_title_denies_only_with_a_claim():
    assert not any(use.strong for use in uses("Reads in order don't"))
    assert any(use.strong for use in uses("Reads in order don't", strict=True))


def test_a_reason_excuses_what_it_quotes_and_goes_when_the_word_turns():
    page = Page((), (Statement("On SXM it has a higher power than on a card.", (1,), "[0]"),))
    why = {"a higher power than on a card": "the maker's data sheet"}
    assert problems(page, why) == ([], [])
    turned = Page((), (Statement("On SXM it has a lower power than on a card.", (1,), "[0]"),))
    found, stale = problems(turned, why)
    assert [f.use.word for f in found] == ["lower"] and stale == list(why)


def test_a_reason_without_the_comparing_word_excuses_nothing():
    page = Page((), (Statement("On SXM it has a higher power than on a card.", (1,), "[0]"),))
    found, stale = problems(page, {"On SXM it has a": "the maker's data sheet"})
    assert len(found) == len(stale) == 1


def wrong(code):
    (call,) = (n for n in ast.walk(ast.parse(code)) if isinstance(n, ast.Call))
    return list(contradictions(call.args[1].value, call))


@pytest.mark.parametrize(
    "code",
    [
        'claim("a-b", "at least 3 times as fast", r, above=3)',
        'claim("a-b", "at least 3 times slower", r, below=1 / 3)',
        'claim("a-b", "within 15% of the model", r, below=0.15)',
        'claim("a-b", "within 15% of the model", r, below=1.15, above=0.85)',
        'claim("a-b", "over a quarter less at 32", r, below=0.75)',
        'claim("a-b", "less than twice as long", r, below=2)',
        'claim("a-b", "gains less than 20% by it", r, below=1.2)',
        'claim("a-b", "at 32 over 5% more", r, above=MOST)',
        'claim("a-b", "the launch is quicker", r, above=1)',
    ],
)
def test_words_and_bound_agree(code):
    assert wrong(code) == []


@pytest.mark.parametrize(
    "code",
    [
        'claim("a-b", "at least 3 times as fast", r, below=3)',
        'claim("a-b", "at least 30 times as fast", r, above=3)',
        'claim("a-b", "at least 3 times as fast", r, above=0.3)',
        'claim("a-b", "within 15% of the model", r, below=0.5)',
        'claim("a-b", "less than a tenth of it", r, below=0.5)',
        'claim("a-b", "at most 1.5 times as long", r, above=1.5)',
    ],
)
def test_words_that_say_another_bound_are_found(code):
    assert len(wrong(code)) == 1
