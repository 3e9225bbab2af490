"""What is said of ranks that failed or disagree: the cause first, in few words."""

from notebook_ranks.messages import Call, Collective, Failure
from notebook_ranks.watch import report
from notebook_ranks.watch.report import Outcome


def failure(kind, at, message="it failed"):
    return Outcome(at, Failure(kind=kind, name="RuntimeError", message=message))


def test_the_first_true_cause_isnt_the_first_to_be_heard():
    closed = failure("group", 1.0)
    assert report.first_cause({0: closed, 1: failure("python", 2.0), 2: closed}) == 1
    assert report.first_cause({0: closed, 1: failure("died", 2.0)}) == 1
    assert report.first_cause({0: failure("python", 2.0), 1: failure("python", 1.0)}) == 1
    assert report.first_cause({3: failure("python", 1.0), 2: failure("python", 1.01)}) == 2
    assert report.first_cause({0: failure("stop", 1.0), 1: failure("group", 3.0)}) == 1


def test_what_gloo_says_becomes_a_sentence_and_ranks_are_named_briefly():
    said = (
        "[/build/gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:29344. "
        "This is typically caused by a remote worker crashing."
    )
    text = report.failed({0: failure("group", 1.0, message=said)}, {})
    assert text.splitlines()[0] == "✗ rank 0: RuntimeError: Connection closed by peer"
    words = (
        "what():  [enforce fail at pair.cc:456] op.preamble.length <= op.nbytes. 8 vs 4. Received"
    )
    assert "sent 8 bytes where it expected 4" in report.died(1, -6, words, None).message
    assert report.died(1, -36, "", None).message == "killed by signal 36"
    for ranks, names in (([3], "rank 3"), ([2, 0], "ranks 0 and 2"), ([0, 1, 2, 3], "ranks 0–3"),
                         ([0, 1, 3], "ranks 0, 1 and 3")):  # fmt: skip
        assert report.names(ranks) == names


def called(seq, name="all_reduce", group="0", types=("Float",), shapes=((2,),)):
    return Collective(name, group, seq, list(types), [list(s) for s in shapes])


def asked(number, name="allreduce", operator="", root=0, splits=(), ranks=(0, 1)):
    return Call("0", 1, [*ranks], number, number, name, operator, root, list(splits))


def disagreed(*by_rank):
    return report.disagreement({r: Outcome(0, **found) for r, found in enumerate(by_rank)})


def test_ranks_that_disagree_about_a_collective_are_told():
    same = {"records": [called(1), called(2)]}
    assert disagreed(same, same) is None
    text = disagreed(same, {"records": [called(1), called(2, types=["Int"])]}, same)
    assert text.index("ranks 0 and 2") < text.index("rank 1")
    assert "ranks 0 and 2: all_reduce of float32 [2]" in text
    assert "rank 1: all_reduce of int32 [2]" in text


def test_what_may_differ_between_ranks_is_no_disagreement():
    root, other = called(1, "scatter", shapes=[(2,), (2,)]), called(1, "scatter", shapes=[])
    assert disagreed({"records": [root]}, {"records": [other]}) is None
    here, there = called(1, group="1"), called(1, group="2", shapes=[(9,)])
    assert disagreed({"records": [here]}, {"records": [there]}) is None
    without_members = asked(1, operator="MAX", ranks=[])  # torch forgot them
    assert disagreed({"calls": [without_members]}, {}) is None
    lost = {"records": [called(2, shapes=[(3,)])]}  # the recorder lost the oldest
    assert disagreed({"records": [called(1), called(2, shapes=[(3,)])]}, lost) is None


def test_another_operator_root_or_split_is_a_disagreement():
    text = disagreed({}, {"calls": [asked(4, operator="MAX")]})
    assert "with different operators; results are wrong" in text
    assert "rank 0: all_reduce by SUM" in text and "rank 1: all_reduce by MAX" in text
    same = {"calls": [asked(1, operator="MAX")]}
    assert disagreed(same, same) is None
    text = disagreed({"calls": [asked(1, "broadcast", root=1)]}, {})
    assert "rank 0: broadcast from rank 1" in text and "rank 1: broadcast from rank 0" in text
    sends = asked(1, "alltoall_base", splits=([2, 2], [1, 3]))
    text = disagreed({"calls": [sends]}, {"calls": [sends]})
    assert "ranks 0 and 1: sends [1, 3], expects [2, 2]" in text
    fits = asked(1, "alltoall_base", splits=([1, 2], [1, 3]))
    back = asked(1, "alltoall_base", splits=([3, 2], [2, 2]))
    assert disagreed({"calls": [fits]}, {"calls": [back]}) is None
