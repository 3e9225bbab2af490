"""Right answers to chapter 16's exercises, in other ways than the worked solutions."""

import numpy as np


def second_by_second(stops, length, interval, save_seconds, restart_seconds):
    kept, restarting, working = 0, 0, 0
    for second in range(length):
        if second in stops:
            restarting, working = restart_seconds, 0
        if restarting > 0:
            restarting -= 1
            continue
        working += 1
        if working == interval + save_seconds:
            kept, working = kept + interval, 0
    return kept


def save_by_save(stops, length, interval, save_seconds, restart_seconds):
    kept, now, left = 0, 0, [stop for stop in stops if stop <= length]
    while now + interval + save_seconds <= length:
        done = now + interval + save_seconds
        if left and left[0] < done:
            now = left.pop(0) + restart_seconds
        else:
            kept, now = kept + interval, done
    return kept


def all_at_once(stops, length, interval, save_seconds, restart_seconds):
    ends = np.minimum([*stops, length], length)
    begins = np.concatenate([[0], ends[:-1] + restart_seconds])
    return interval * np.clip((ends - begins) // (interval + save_seconds), 0, None).sum()


def by_sorted_lines(log):
    lines = sorted((int(line.split()[2]), line) for line in log if "completed" not in line)
    number = lines[0][0]
    names = [line.split()[3] for one, line in lines if one == number]
    name = max(names, key=names.count)
    fine = {line.split()[1] for one, line in lines if one == number and f" {name} " in line}
    (guilty,) = {line.split()[1] for line in log} - fine
    return [int(guilty[:-1]), number, name]


RIGHT = {
    "beyond_one_machine.held_up": [by_sorted_lines],
    "beyond_one_machine.kept_seconds": [second_by_second, save_by_save, all_at_once],
}
