"""Words that compare: which way each points, and where in a sentence one compares.

`uses(sentence)` gives a `Use` for each. Its readings are families with a sign ("quicker" is speed
+1; "saves" is worth +1 and amount -1), turned round where it is denied ("no slower"). It is strong
where it compares by itself ("quicker than", "grows", "over 5%"), and needs a claim; weak where it
may only describe ("a smaller format", "before the step"), and is held against claims alone.
"""

import re
from dataclasses import dataclass
from functools import cache

PAIRS = {
    "speed": """quicker/slower faster/slower quickest/slowest fastest/slowest quickly/slowly
        sooner/later shorter/longer shortest/longest fast/slow quick/slow short/long gain/lose
        gains/loses""",
    "amount": """more/less more/fewer most/least most/fewest larger/smaller largest/smallest
        greater/smaller greatest/smallest bigger/smaller biggest/smallest higher/lower
        highest/lowest wider/narrower widest/narrowest grows/shrinks grow/shrink climbs/falls
        climb/fall rises/falls rise/fall doubles/halves double/halve doubled/halved
        doubling/halving over/under above/below large/small wide/narrow high/low many/few
        much/little twice/half longer/shorter longest/shortest cost/save costs/saves""",
    "worth": "gains/loses gain/lose saves/costs save/cost",
    "order": "before/after earlier/later early/late first/last",
    "quality": """better/worse best/worst nearer/farther nearest/farthest closer/farther
        closest/farthest finer/coarser further/nearer""",
    "price": "cheaper/dearer cheapest/dearest",
    "denial": """does/doesn't do/don't is/isn't are/aren't can/can't did/didn't has/hasn't
        have/haven't everything/nothing everybody/nobody everyone/nobody always/never all/none
        both/neither much/hardly""",
}
READINGS: dict[str, dict[str, int]] = {}
OPPOSITE: dict[str, str] = {}
for _family, _pairs in PAIRS.items():
    for _plus, _minus in (pair.split("/") for pair in _pairs.split()):
        READINGS.setdefault(_plus, {})[_family] = 1
        READINGS.setdefault(_minus, {})[_family] = -1
        OPPOSITE.setdefault(_plus, _minus)
        OPPOSITE.setdefault(_minus, _plus)


def word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


BASE = word_set("fast slow quick short long large small wide narrow high low many few much little")
TRENDS = word_set(
    """grows shrinks grow shrink climbs falls climb rises doubles halves gains gain loses lose
    saves save"""
)
DESCRIBING = word_set("cost costs doubled halved doubling halving double halve rise fall")
BOUNDS = word_set("over under above below least most")
PLACING = word_set("before after cost costs doubled halved doubling halving")
COMES = word_set("come comes came go goes begin begins is are")
AFFIRMED = word_set(
    "does do is are can did has have all both much everything everybody everyone always"
)
DENIED = word_set(
    "doesn't don't isn't aren't can't didn't hasn't haven't nothing nobody never none"
)
DENIED |= word_set("neither hardly")
FRACTION = word_set("half third quarter fifth tenth twice hundred thousand million")
FOLLOWS = word_set(
    """than in at on for from by to with when where while if as and or but so of because through
    still only here there too"""
)
DETERMINER = word_set(
    "the a an its their his your our this that these each every some any no what how"
)
STOP = word_set(
    """a an the and or but so as at by for from in into of off on onto out over under to up with
    without than then this that these those it its they them their there here he she you your we
    our us was were be been being had could may might must will would should not no nor one's what
    which who whom whose when where while if because how why also too very only even still yet
    once every each any some such other another same own s n t time times take takes took say says
    said make makes made give gives get gets got go goes published number numbers at about"""
)
WORD = re.compile(r"[^\W\d_]+(?:'t)?|\d[\d,.]*\d|\d|[^\w\s]")
SUPERLATIVE = re.compile(r"\w+est|most|least|best|worst")
DENYING = re.compile(r"\w+n't|nothing|never|none|neither|nobody|cannot|hardly|not|no|nor|without")
UNORDERED = word_set("and as or each one all in of on there")
SIZED = word_set("than over under above below least most by a one the within first second")
THE_MORE = re.compile(r"\bthe (?:\w{3,}er|more|less)\b")
HIDDEN = re.compile(r"`[^`]*`|“[^”]*”|\"[^\"]*\"|\*+")
ENDS = re.compile(r"[,;(]\s|\b(?:and|but|while)\s")


@dataclass(frozen=True)
class Use:
    """A comparing word at a place of its sentence; `about` weighs the words around it.

    `sides` are the words before it and those after its "than", where it has one.
    """

    word: str
    at: int
    readings: tuple[tuple[str, int], ...]
    strong: bool
    about: tuple[tuple[str, float], ...]
    sides: tuple[frozenset[str], ...]


@cache
def uses(sentence: str, before: str = "", strict: bool = False) -> tuple[Use, ...]:
    """The comparing words of a sentence; `before` is the one that its pronouns may speak of.

    Where `strict`, as in a title, whatever compares or denies is strong.
    """
    hidden = HIDDEN.sub(lambda found: _blank(found[0]), sentence)
    places = [(m[0].lower(), m.start()) for m in WORD.finditer(hidden)]
    words = [word for word, _ in places]
    return tuple(
        Use(
            word,
            at,
            _readings(words, i),
            strong or (strict and word not in AFFIRMED | PLACING),
            _about(sentence, at, before),
            _sides(sentence, at) if word not in BOUNDS | AFFIRMED | DENIED else (),
        )
        for i, (word, at) in enumerate(places)
        if word in READINGS and (strong := _strong(words, i)) is not None
    )


def _blank(hidden: str) -> str:
    """A word where code or a quotation stood, nothing where emphasis did."""
    inside = hidden.strip("*")
    return " " + "x" * (len(inside) - 2) + " " if inside else " " * len(hidden)


@cache
def content(text: str) -> frozenset[str]:
    """The stems of a text that say what it is about: no comparing words, no small ones."""
    found = re.findall(r"[^\W_]+(?:[.,]\d+|'\w)*", text)
    silent = STOP | (READINGS.keys() - BASE)
    return frozenset(_stem(word) for word in found if word.lower() not in silent) - {""}


@cache
def _stem(word: str) -> str:
    word = word.lower().removesuffix("'s").removesuffix("'")
    for end in ("ations", "ation", "ing", "ied", "ies", "ed", "es", "s", "ly"):
        if word.endswith(end) and len(word) - len(end) >= 3:
            word = word.removesuffix(end)
            break
    return re.sub(r"(.)\1$", r"\1", word.removesuffix("e").removesuffix("y"))


def _about(sentence: str, at: int, before: str) -> tuple[tuple[str, float], ...]:
    """1 for a word of the same clause, less for the rest of the sentence and the one before."""
    begins = [0, *(m.end() for m in ENDS.finditer(sentence)), len(sentence)]
    start = max(b for b in begins if b <= at)
    end = min(b for b in begins if b > at)
    found = dict.fromkeys(content(before), 0.3) | dict.fromkeys(content(sentence), 0.7)
    return tuple((found | dict.fromkeys(content(sentence[start:end]), 1.0)).items())


def _sides(sentence: str, at: int) -> tuple[frozenset[str], ...]:
    than = re.search(r"\bthan\b", sentence[at:])
    return (content(sentence[:at]), content(sentence[at + than.end() :])) if than else ()


def _readings(words: list[str], i: int) -> tuple[tuple[str, int], ...]:
    """What the word says here: denied just before, or by what follows a trend, it is turned."""
    word = words[i]
    turned = -1 if word in ("least", "most") and words[i - 1 : i] == ["at"] else 1
    if word not in AFFIRMED | DENIED:
        for earlier in reversed(words[max(0, i - 3) : i]):
            if earlier in ";:,().":
                break
            turned *= -1 if DENYING.fullmatch(earlier) else 1
        turned *= -1 if word in BASE and "half" in words[max(0, i - 2) : i] else 1
        turned *= -1 if word in TRENDS and DENYING.fullmatch("".join(words[i + 1 : i + 2])) else 1
    return tuple((family, turned * sign) for family, sign in READINGS[word].items())


def _strong(words: list[str], i: int) -> bool | None:
    """Whether the word at i compares by itself; None where it doesn't compare at all."""
    word, before = words[i], words[i - 1] if i else ""
    after, later = [*words[i + 1 : i + 3], "", ""][:2]
    if word in BASE and not (word == "much" and before != "as"):
        return True if before == "as" and {"times", "twice", "half"} & set(words[:i]) else None
    if word in ("half", "twice"):
        return None if after == "as" or before in SIZED else False
    if word in BOUNDS - {"least", "most"}:
        if re.search(r"^[\d,.]+ (days|hours|minutes|seconds|steps|epochs)", f"{after} {later}"):
            return None
        number = after[:1].isdigit() and later not in tuple("·×/")
        return True if number or {after, later} & FRACTION else None
    if word in ("more", "less", "fewer", "later") and (
        before in ("one", "once", "or", "for") or words[i - 2 : i] == ["more", "and"]
    ):
        return None
    if word == "more" and after.endswith("ly"):
        return None
    if word in ("first", "last"):
        return True if before in COMES and not after.isalpha() else None
    if word in ("before", "after"):
        apart = not {before, after} & UNORDERED and later != "other" and not before.isdigit()
        return apart and after.isalpha()
    if word in AFFIRMED | DENIED | DESCRIBING:
        return False
    if word in ("early", "late") or (before == "at" and word in ("least", "most")):
        return True
    clause = words[i + 1 : next((k for k in range(i, len(words)) if words[k] in ".;:,"), None)]
    if word in TRENDS:
        return before not in DETERMINER and not {"what", "how", "whether"} & set(words[:i])
    if before == "the" and len(THE_MORE.findall(" ".join(words))) > 1:
        return True
    alone = not after.isalpha() or after in FOLLOWS - (
        {"to"} if word in ("more", "less") else set()
    )
    if word == "most":
        return alone and before not in DETERMINER | {"to"}
    if SUPERLATIVE.fullmatch(word):
        return True
    return alone or "than" in clause
