"""When ranks are stuck, and when they are only slow: samples of blocked ranks, and a verdict."""

import pytest
from msgspec.structs import replace

from notebook_ranks.messages import Call, Collective, Messages, Need, Place, State
from notebook_ranks.watch.stall import HURRY_SECONDS, PATIENCE_SECONDS, Watch

CALL = PATIENCE_SECONDS["call"]


def done(me, joined=0, **also):
    """What a rank did so far: `joined` collectives of the default group of two."""
    told = [summed(seq) for seq in range(1, joined + 1)]
    state = State(me=me, groups={"0": [0, 1]}, joined={"gloo:0": joined}, made={"0": joined},
                  history=told)  # fmt: skip
    return replace(state, **also)


def summed(seq, name="all_reduce", shapes=((2,),)):
    return Collective(name, "gloo:0", seq, ["Float"], [*map(list, shapes)])


def need(kind, **also):
    return Need(**{"kind": kind, "ranks": [0, 1], **also})


def joins(collective, seconds=0.0):
    """What a rank needs that waits in a collective."""
    return need("collective", group=collective.group, collective=collective, seconds=seconds)


def at(me, *needs, joined=0, wait="call", acting=(), **did):
    """A sample of a rank that waits for the needs."""
    state = done(me, joined, **did)
    wait = wait if needs else None
    return Place(wait=wait, mark="m", needs=[*needs], acting=[*acting], state=state)


def in_sum(me, seq, **also):
    return at(me, joins(summed(seq)), joined=seq, **also)


def in_get(me, **also):
    return at(me, need("key", keys=["k"], ranks=[]), **also)


def verdict(places, ended=None, seconds=CALL):
    """Whether ranks that stand so for that long are stuck, and why not."""
    watch = Watch(0.0)
    for rank, state in (ended or {}).items():
        watch.end(rank, state, 0.0)
    for step in range(int(seconds / 0.5) + 1):
        for rank, place in enumerate(places):
            watch.add(rank, place, step * 0.5)
    unfinished = set(range(len(places)))
    return watch.stuck(unfinished, False), "; ".join(watch.doubts(unfinished))


def test_who_waits_for_a_collective_that_a_finished_or_dead_rank_never_joined_is_stuck():
    assert verdict([in_sum(0, 1)], {1: done(1)}) == (True, "")
    assert verdict([in_sum(0, 1)], {1: None}) == (True, "")
    early = verdict([in_sum(0, 1)], {1: done(1)}, CALL - 0.5)
    assert early == (False, "they have waited for a moment only")


def test_a_collective_that_all_have_joined_is_slow_and_one_that_doesnt_match_never_ends():
    stuck, why = verdict([in_sum(0, 4), in_sum(1, 4)], seconds=60)
    assert not stuck and "rank 0 is in one all_reduce with all of its group" in why
    assert not verdict([in_sum(0, 4)], {1: done(1, joined=4)}, seconds=60)[0]
    for also in ({"name": "broadcast"}, {"shapes": [(3,)]}):
        other = summed(1, **also)
        assert verdict([in_sum(0, 1), at(1, joins(other), joined=1, history=[other])])[0]


@pytest.mark.parametrize(
    "why, place",
    [
        ("rank 1 works", at(1)),
        ("a thread of rank 1 may act: sender", in_get(1, acting=["sender"])),
        ("rank 1 was stopped by a signal", replace(in_get(1), frozen=True)),
    ],
)
def test_while_somebody_may_act_nobody_is_stuck_and_the_cell_does_not_rest(why, place):
    places = [in_sum(0, 1), place]
    assert why in verdict(places, seconds=60)[1]
    assert verdict([in_sum(0, 1), in_get(1)])[0]
    assert "rank 1 may act: t" in verdict([in_sum(0, 1)], {1: done(1, acting=["t"])}, 60)[1]
    for second, rests in ((place, False), (in_get(1), True)):
        watch = Watch(0.0)
        watch.add(0, in_sum(0, 1), 1.0)
        watch.add(1, second, 1.0)
        assert watch.rests({0, 1}) is rests


def moving(change):
    """Whether a rank is stuck that changes with every sample, beside one that waits."""
    watch = Watch(0.0)
    for step in range(20):
        watch.add(0, in_sum(0, 1), step)
        watch.add(1, replace(in_get(1), **change(step)), step)
    return watch.stuck({0, 1}, failed=False)


def test_who_moves_on_or_uses_the_processor_is_slow_and_a_device_may_spin():
    assert moving(lambda _: {})
    assert not moving(lambda step: {"mark": str(step)})
    assert not moving(lambda step: {"cpu": step / 2})
    assert moving(lambda step: {"cpu": float(step), "wait": "device"})


def test_all_must_have_waited_through_one_stretch_of_time():
    watch = Watch(0.0)
    watch.add(0, in_sum(0, 1), 0.0)
    watch.add(0, in_sum(0, 1), 10.0)
    watch.add(1, in_get(1), 9.0)  # and then it says nothing more
    assert not watch.stuck({0, 1}, failed=False)
    watch.add(1, in_get(1), 9.0 + CALL)
    assert not watch.stuck({0, 1}, failed=False)  # rank 0 was last seen at 10
    watch.add(0, in_sum(0, 1), 9.0 + CALL)
    assert watch.stuck({0, 1}, failed=False)
    watch.freeze(0)  # it was stopped, and goes on
    watch.add(0, in_sum(0, 1), 20.0)
    watch.add(1, in_get(1), 20.0)
    assert not watch.stuck({0, 1}, failed=False)


def test_who_waits_for_a_rank_that_finishes_is_given_time_and_less_once_one_failed():
    watch = Watch(0.0)
    for second in range(9):
        watch.add(0, in_sum(0, 1), second)
    watch.end(1, done(1), 8.0)
    assert not watch.stuck({0}, failed=False)
    watch.add(0, in_sum(0, 1), 8.1 + HURRY_SECONDS["call"])
    assert watch.stuck({0}, failed=True) and not watch.stuck({0}, failed=False)


def test_a_wait_that_gives_up_of_itself_is_left_to_give_up():
    for seconds, stuck in ((5.0, False), (70.0, True)):
        patient = at(0, joins(summed(1), seconds), joined=1)
        assert verdict([patient], {1: done(1)}, seconds=60)[0] is stuck


def message(kind, peer, number, tag=0):
    return need(kind, group="0", peer=peer, tag=tag, number=number)


def test_messages_are_counted_by_peer_and_tag():
    receives = at(0, message("recv", 1, 2))
    for sent, tag, stuck in ((1, 0, True), (2, 0, False), (2, 7, True)):
        messages = [Messages("0", "send", 0, tag, sent)]
        assert verdict([receives], {1: done(1, messages=messages)})[0] is stuck
    sends = at(0, message("send", 1, 1))
    assert verdict([sends, at(1, message("send", 0, 1))])[0]
    for peer in (0, None):  # rank 1 receives from rank 0, or from anybody
        messages = [Messages("0", "recv", peer, 0, 1)]
        assert not verdict([sends], {1: done(1, messages=messages)})[0]
    anybody = at(0, message("recv", None, 1))
    sent = done(1, messages=[Messages("0", "send", 0, 0, 1)])
    assert not verdict([anybody], {1: sent})[0]
    taken = at(0, message("recv", None, 1), messages=[Messages("0", "recv", 1, 0, 1)])
    assert verdict([taken], {1: sent})[0]


def test_groups_are_set_up_by_all_of_their_ranks():
    def setting(me, ranks, group="1"):
        return at(me, need("set-up", group=group, ranks=ranks), wait="set-up")

    assert verdict([setting(0, [0, 1])], {1: done(1)})[0]
    assert not verdict([setting(0, [0, 1]), setting(1, [0, 1])])[0]
    assert not verdict([setting(0, [0, 1])], {1: done(1, groups={"1": [0, 1]})})[0]
    assert verdict([setting(0, [0, 1]), setting(1, [0, 1], "2")])[0]
    assert "aren't of this notebook" in verdict([setting(0, [0, 1, 2]), setting(1, [0, 1, 2])])[1]


def test_a_key_is_set_by_nobody_but_perhaps_by_a_process_that_a_rank_started():
    assert verdict([in_get(0)], {1: done(1)})[0]
    child = at(0, need("key", keys=["k"], ranks=[], children=True))
    assert "a process which it started" in verdict([child], {1: done(1)})[1]


def test_calls_that_dont_return_are_matched_by_number_and_name():
    def calls(me, name):
        made = {"made": {"0": 1}, "calls": [Call("0", 1, [0, 1], 1, 1, name)]}
        return at(me, need("call", group="0", number=1, name=name), **made)

    assert not verdict([calls(0, "barrier"), calls(1, "barrier")])[0]
    assert verdict([calls(0, "barrier"), calls(1, "allreduce")])[0]
    assert verdict([calls(0, "barrier")], {1: done(1)})[0]
