"""Wrong answers to chapter 16's exercises, each as a student might write it."""

from tests.support.patches import changed


def begins_with_the_interval_it_had(stops, length, interval, save_seconds, restart_seconds):
    gone = sum(restart_seconds for stop in stops if stop < length)
    return interval * max(0, (length - gone) // (interval + save_seconds))


NOT_HERE = "names.get(rank) != usual"
FIRST = 'min(number for _, number, _, state in lines if state != "completed")'
WRONG = {
    "beyond_one_machine.held_up": changed(
        "beyond_one_machine.held_up",
        a_queued_one_counts={FIRST: FIRST.replace("min", "max")},
        the_last_completed={FIRST: FIRST.replace("min", "max").replace("!=", "==")},
        numbers_as_text={FIRST: f"int({FIRST.replace('(number', '(str(number)')})"},
        the_ranks_that_wait={NOT_HERE: "rank in names"},
        never_another_collective={NOT_HERE: "rank not in names"},
        always_another_collective={NOT_HERE: "rank in names and names[rank] != usual"},
        what_the_guilty_one_called={"first, usual": "first, names.get(rank, usual)"},
        the_lowest_ranks_name={"mode(names.values())": "names[min(names)]"},
        lines_of_the_first_ranks_only={"in log": "in log[:3]"},
        ranks_as_text={"(int(rank), ": "(rank, "},
        returns_nothing={"return ": ""},
    ),
    "beyond_one_machine.kept_seconds": [
        begins_with_the_interval_it_had,
        *changed(
            "beyond_one_machine.kept_seconds",
            as_if_never_stopped={"[*stops, length]": "[length]"},
            computes_from_stop_to_stop={
                "interval * max(0, working // (interval + save_seconds))": "max(0, working)"
            },
            restarts_at_the_start={"begin = 0, 0": "begin = 0, restart_seconds"},
            a_cut_save_counts={"working //": "(working + save_seconds - 1) //"},
            a_save_cut_as_it_ends_is_lost={"working //": "(working - 1) //"},
            a_stop_in_a_restart_undoes_saves={"max(0, working //": "(working //"},
            a_restart_is_finished_before_the_next={"begin = stop": "begin = max(begin, stop)"},
            runs_on_after_the_length={"min(stop, length)": "stop"},
            forgets_what_is_after_the_last_stop={"[*stops, length]": "stops"},
            changes_the_callers_list={"[*stops, length]": "stops.append(length) or stops"},
        ),
    ],
}
