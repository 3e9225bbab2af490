"""Wrong answers to chapter 16's exercises, each as a student might write it."""

from tests.support.patches import changed


def any_name_of_all(environment):
    launchers = ("", "OMPI_COMM_WORLD_", "SLURM_")
    names = [("RANK", "PROCID"), ("LOCAL_RANK", "LOCALID"), ("WORLD_SIZE", "SIZE", "NTASKS")]
    found = [[environment.get(a + b) for a in launchers for b in some] for some in names]
    return tuple(int(next(filter(None, one), len(one) > 6)) for one in found)


def begins_with_the_interval_it_had(stops, length, interval, save_seconds, restart_seconds):
    gone = sum(restart_seconds for stop in stops if stop < length)
    return interval * max(0, (length - gone) // (interval + save_seconds))


TORCHRUN, MPIRUN, SRUN = "(torchrun[0], torchrun)", "(mpirun[0], mpirun)", "(srun[2], srun)"
MARKED = f"({TORCHRUN}, {MPIRUN}, {SRUN})"
MISSING = 'raise ValueError(f"{mark} is set, but {name} is missing")'
FOUND = "return rank, local_rank, count"
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
    "beyond_one_machine.who": [
        any_name_of_all,
        *changed(
            "beyond_one_machine.who",
            reads_its_own_environment={
                "    torchrun =": "    import os\n\n    environment = os.environ\n    torchrun ="
            },
            knows_torchrun_only={MARKED: f"({TORCHRUN},)"},
            knows_no_mpirun={MARKED: f"({TORCHRUN}, {SRUN})"},
            srun_wins={MARKED: f"({SRUN}, {MPIRUN}, {TORCHRUN})"},
            srun_before_mpirun={MARKED: f"({TORCHRUN}, {SRUN}, {MPIRUN})"},
            mpirun_wins={MARKED: f"({MPIRUN}, {TORCHRUN}, {SRUN})"},
            a_batch_script_is_a_rank={SRUN: "(srun[0], srun)", "STEP_NUM_TASKS": "NTASKS"},
            a_batch_script_lacks_a_name={SRUN: "(srun[0], srun)"},
            counts_the_jobs_tasks={SRUN: '(srun[2], (*srun[:2], "SLURM_NTASKS"))'},
            the_rank_is_the_gpu={FOUND: "return rank, rank, count"},
            gpu_before_rank={FOUND: "return local_rank, rank, count"},
            alone_is_nobody={"return 0, 0, 1": "return None"},
            floats={"int(environment[name])": "float(environment[name])"},
            as_one_digit={FOUND: "return rank % 10, local_rank % 10, count % 10"},
            a_half_is_none={"if mark in environment": "if set(names) <= set(environment)"},
            a_half_has_zeros={MISSING: 'environment = environment | {name: "0"}'},
            a_half_is_a_key_error={"raise ValueError": "raise KeyError"},
            a_half_is_no_number={MISSING: 'int("")'},
            a_half_lacks_something={"but {name} is": "but one of {names} is"},
            forgets_the_local_rank={
                "if name not in environment": 'if name not in environment and "LOCAL" not in name',
                "int(environment[name])": "int(environment.get(name, 0))",
            },
            takes_what_it_reads={"environment[name]": "environment.pop(name)"},
        ),
    ],
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
