"""Right answers to chapter 16's exercises, in other ways than the worked solutions."""

import numpy as np


def by_ifs(environment):
    if "RANK" in environment:
        names = "RANK", "LOCAL_RANK", "WORLD_SIZE"
    elif "OMPI_COMM_WORLD_RANK" in environment:
        names = [f"OMPI_COMM_WORLD_{what}" for what in ("RANK", "LOCAL_RANK", "SIZE")]
    elif "SLURM_STEP_NUM_TASKS" in environment:
        names = "SLURM_PROCID", "SLURM_LOCALID", "SLURM_STEP_NUM_TASKS"
    else:
        return [0, 0, 1]
    try:
        return [int(environment[name]) for name in names]
    except KeyError as error:
        raise ValueError(f"{error} isn't in {sorted(environment)}") from None


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


def in_other_words(nodes, gpus, minutes):
    days, minutes = divmod(minutes, 1440)
    lines = f"""#!/bin/bash
# A comment, and an empty line.

#SBATCH -N{nodes} -n {nodes * gpus} --gres=gpu:{gpus}  # --nodes=1
#SBATCH --time {days}-{minutes // 60:02}:{minutes % 60:02}:00
#SBATCH --signal B:SIGUSR1@120
nodes=$(scontrol show hostnames)
MASTER_ADDR=$(head -n 1 <<< "$nodes")
MASTER_PORT=$((10000 + ${{SLURM_JOB_ID: -4}}))
export MASTER_ADDR MASTER_PORT"""
    return lines


RIGHT = {
    "beyond_one_machine.first_lines": [in_other_words],
    "beyond_one_machine.who": [by_ifs],
    "beyond_one_machine.kept_seconds": [second_by_second, save_by_save, all_at_once],
}
