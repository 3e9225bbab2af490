"""Recordings for those who judge and show them: declared experiments, good rows, forged files."""

import json

from course_utils.core import evidence
from course_utils.core.measurement import Measurement

FIVE = Measurement((1.0, 2.0, 3.0, 4.0, 5.0), 6, 0.0, "host").per(1000)
CHAPTER = "02_async_execution"


DECLARED = {
    "speed": ["what", "run_seconds"],
    "rates": ["format", "tflop_per_s"],
    "flops": ["format", "n", "flop_per_s"],
    "copies": ["way", "gb_per_s"],
    "host_device_copies": ["way", "gb_per_s", "n_bytes"],
    "stream": ["operation", "gb_per_s"],
    "roofline_points": ["operator", "format", "flops", "n_bytes", "seconds"],
    "nccl_allreduce": ["gpus", "n_bytes", "seconds"],
    "tokens": ["way", "tokens_per_s"],
    "peaks": ["model", "peak_bytes", "outside_mib"],
    "snapshot": ["file", "file_sha256"],
}


def forge(path, change):
    """The file with another content and the right checksum."""
    content = json.loads(path.read_text())
    change(content)
    content.pop("sha256", None)
    content["sha256"] = evidence.digest(content)
    path.write_text(json.dumps(content))
    return path


GOOD = {
    "speed": [{"what": "a", "run_seconds": FIVE}],
    "rates": [
        {"format": "BF16", "tflop_per_s": 760.0},
        {"format": "FP8 E4M3", "tflop_per_s": 1400},
    ],
    "flops": [{"format": "FP32", "n": 4096, "flop_per_s": 52e12}],
    "copies": [{"way": "pinned", "gb_per_s": 55.0}],
    "host_device_copies": [
        {"way": "host to host", "gb_per_s": 90.0, "n_bytes": 2**27},
        {"way": "within a device", "gb_per_s": 2000.0, "n_bytes": 2**31},
        {"way": "device to device", "gb_per_s": 400.0, "n_bytes": 2**31},
    ],
    "stream": [{"operation": "copy, a = b (GPU)", "gb_per_s": 4300.0}],
    "roofline_points": [
        {"operator": "GELU", "format": "BF16", "flops": 10**9, "n_bytes": 2**30, "seconds": 3e-4},
        {"operator": "in halves", "format": "BF16", "flops": 1, "n_bytes": 2**38, "seconds": 1},
        {"operator": "in L2", "format": "BF16", "flops": 1, "n_bytes": 2**20, "seconds": 1e-7},
    ],
    "nccl_allreduce": [{"gpus": 2, "n_bytes": 2**30, "seconds": 0.004}],
    "peaks": [{"model": "small", "peak_bytes": 10**10, "outside_mib": 500}],
    "claims": [{"id": "as-fast", "claim": "as fast as m/s", "needs": None, "held": False}],
}


def put(value, *keys):
    def change(content):
        for name in keys[:-1]:
            content = content[name]
        content[keys[-1]] = value

    return change
