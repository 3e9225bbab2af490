"""Wrong answers to chapter 14's exercises, each as a student might write it."""

from tests.chapters.beyond_one_machine import whos, wrong_plans


def as_if_never_stopped(stops, length, interval, save_seconds, restart_seconds):
    return interval * (length // (interval + save_seconds))


def computes_from_stop_to_stop(stops, length, interval, save_seconds, restart_seconds):
    kept = begin = 0
    for stop in [*stops, length]:
        kept += max(0, stop - begin - restart_seconds)
        begin = stop
    return kept


def forgets_the_restart(stops, length, interval, save_seconds, restart_seconds):
    return _kept(stops, length, interval, save_seconds, 0)


def saves_take_no_time(stops, length, interval, save_seconds, restart_seconds):
    return _kept(stops, length, interval, 0, restart_seconds)


def restarts_at_the_start(stops, length, interval, save_seconds, restart_seconds):
    return _kept(stops, length, interval, save_seconds, restart_seconds, restart_seconds)


def a_cut_save_counts(stops, length, interval, save_seconds, restart_seconds):
    kept = begin = 0
    for stop in [*stops, length]:
        working = min(stop, length) - begin
        kept += interval * max(0, (working + save_seconds - 1) // (interval + save_seconds))
        begin = stop + restart_seconds
    return kept


def a_save_cut_as_it_ends_is_lost(stops, length, interval, save_seconds, restart_seconds):
    kept = begin = 0
    for stop in [*stops, length]:
        working = min(stop, length) - begin
        kept += interval * max(0, (working - 1) // (interval + save_seconds))
        begin = stop + restart_seconds
    return kept


def a_stop_in_a_restart_undoes_saves(stops, length, interval, save_seconds, restart_seconds):
    kept = begin = 0
    for stop in [*stops, length]:
        working = min(stop, length) - begin
        kept += interval * (working // (interval + save_seconds))
        begin = stop + restart_seconds
    return kept


def a_restart_is_finished_before_the_next(stops, length, interval, save_seconds, restart_seconds):
    kept = begin = 0
    for stop in [*stops, length]:
        working = min(stop, length) - begin
        kept += interval * max(0, working // (interval + save_seconds))
        begin = max(begin, stop) + restart_seconds
    return kept


def runs_on_after_the_length(stops, length, interval, save_seconds, restart_seconds):
    kept = begin = 0
    for stop in [*stops, length]:
        kept += interval * max(0, (stop - begin) // (interval + save_seconds))
        begin = stop + restart_seconds
    return kept


def forgets_what_is_after_the_last_stop(stops, length, interval, save_seconds, restart_seconds):
    return _kept([s for s in stops if s < length][:-1], 0, interval, save_seconds, restart_seconds)


def begins_with_the_interval_it_had(stops, length, interval, save_seconds, restart_seconds):
    gone = sum(restart_seconds for stop in stops if stop < length)
    return interval * max(0, (length - gone) // (interval + save_seconds))


def changes_the_callers_list(stops, length, interval, save_seconds, restart_seconds):
    stops.append(length)
    return _kept(stops[:-1], length, interval, save_seconds, restart_seconds)


def _kept(stops, length, interval, save_seconds, restart_seconds, begin=0):
    kept = 0
    for stop in [*stops, length]:
        kept += interval * max(0, (min(stop, length) - begin) // (interval + save_seconds))
        begin = stop + restart_seconds
    return kept


WRONG = {
    **whos.WRONG,
    "beyond_one_machine.kept_seconds": [
        as_if_never_stopped,
        computes_from_stop_to_stop,
        forgets_the_restart,
        saves_take_no_time,
        restarts_at_the_start,
        a_cut_save_counts,
        a_save_cut_as_it_ends_is_lost,
        a_stop_in_a_restart_undoes_saves,
        a_restart_is_finished_before_the_next,
        runs_on_after_the_length,
        forgets_what_is_after_the_last_stop,
        begins_with_the_interval_it_had,
        changes_the_callers_list,
    ],
    **wrong_plans.WRONG,
}
