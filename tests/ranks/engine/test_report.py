"""What is said of ranks that failed or disagree: the cause first, in few words."""

import pytest

from course_utils.ranks.engine import report
from course_utils.ranks.engine.report import Outcome
from tests.support.flights import NOWHERE


def failure(kind, at, **also):
    name = also.pop("name", "RuntimeError")
    return Outcome(at, NOWHERE | {"kind": kind, "name": name, "message": kind} | also)


def test_the_first_true_cause_isnt_the_first_to_be_heard():
    closed = failure("group", 1.0)
    assert report.first_cause({0: closed, 1: failure("python", 2.0), 2: closed}) == 1
    assert report.first_cause({0: closed, 1: failure("died", 2.0)}) == 1
    assert report.first_cause({0: failure("python", 2.0), 1: failure("python", 1.0)}) == 1
    assert report.first_cause({3: failure("python", 1.0), 2: failure("python", 1.01)}) == 2
    assert report.first_cause({0: failure("stop", 1.0), 1: failure("group", 3.0)}) == 1


def test_a_message_of_gloo_loses_its_addresses():
    said = (
        "[/build/gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:29344. "
        "This is typically caused by a remote worker crashing."
    )
    text = report.failed({0: failure("group", 1.0, message=said)}, {}, gone=True)
    assert text.splitlines()[0] == "✗ rank 0: RuntimeError: Connection closed by peer"


def test_last_words_of_gloo_become_a_sentence():
    words = (
        "what():  [enforce fail at pair.cc:456] op.preamble.length <= op.nbytes. 8 vs 4. Received"
    )
    assert "sent 8 bytes where it expected 4" in report.died(1, -6, words, None)["message"]
    assert report.died(1, None, "", None)["message"] == "its process is gone"


@pytest.mark.parametrize(
    "ranks, words",
    [([3], "rank 3"), ([2, 0], "ranks 0 and 2"), ([0, 1, 2, 3], "ranks 0–3"),
     ([0, 1, 3], "ranks 0, 1 and 3")],
)  # fmt: skip
def test_ranks_are_named_briefly(ranks, words):
    assert report.names(ranks) == words


def called(name="all_reduce", group="0", types=("Float",), shapes=((2,),)):
    return {"name": name, "group": group, "types": list(types), "shapes": [list(s) for s in shapes]}


def test_ranks_that_disagree_about_a_collective_are_told():
    same = Outcome(0, records=[called(), called()])
    assert report.disagreement({0: same, 1: same}) is None
    other = Outcome(0, records=[called(), called(types=["Int"])])
    text = report.disagreement({1: other, 2: same, 0: same})
    assert text.index("ranks 0 and 2") < text.index("rank 1")
    assert "ranks 0 and 2: all_reduce of float32 [2]" in text
    assert "rank 1: all_reduce of int32 [2]" in text


def test_what_may_differ_between_ranks_is_no_disagreement():
    root, other = called("scatter", shapes=[(2,), (2,)]), called("scatter", shapes=[])
    assert (
        report.disagreement({0: Outcome(0, records=[root]), 1: Outcome(0, records=[other])}) is None
    )
    here, there = called(group="1"), called(group="2", shapes=[(9,)])
    assert (
        report.disagreement({0: Outcome(0, records=[here]), 1: Outcome(0, records=[there])}) is None
    )
