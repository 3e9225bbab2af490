"""Places of ranks and records of their collectives, as the engine hears of them."""

NOWHERE = {"line": None, "text": "", "inside": "", "call": None, "tensors": ""}


def entry(backend, record, name="all_reduce", **also):
    """What a flight recorder says of a collective of two float32."""
    return {
        "record_id": record, "profiling_name": f"{backend}:{name}", "state": "scheduled",
        "retired": True, "process_group": ["0", "default_pg"], "is_p2p": False,
        "input_dtypes": ["Float"], "input_sizes": [[2]], "collective_seq_id": record + 1,
        "p2p_seq_id": 0, "time_created_ns": 100 * record + (backend == "nccl"), **also,
    }  # fmt: skip
