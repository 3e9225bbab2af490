"""What a kernel does, by its name: the first rule that fits, in words a reader knows.

The names are those that cuDNN, cuBLAS, CUTLASS, NCCL, FBGEMM, Triton and ATen give their kernels.
A convolution may be computed as a matrix product: by such a kernel's name it is one.
"""

import re

import numpy as np

from snapshots_and_traces.traces.trace import Kind, Trace

RULES = {  # in this order: cuDNN's batch norm isn't a convolution, an `implicit_gemm` is
    "communication": r"nccl|rccl",
    "copy": r"^Mem(cpy|set)|direct_copy|CatArray|nchwToNhwc|nhwcToNchw|copy_async|transpose",
    "optimizer": r"multi_tensor_apply|fused_?adam|fused_?sgd",
    "batch norm": r"batch_?norm|\bbn_(fw|bw)",
    "layer norm": r"layer_?norm|GammaBeta|rms_?norm",
    "attention": r"attention|flash|fmha",
    "convolution": r"conv|cudnn|winograd|[dw]grad_|wgrad|fprop|implicit_gemm|fft2d",
    "matrix product": r"(?<!fb)gemm|gemv|cutlass|cublas|splitKreduce|matmul|nvjet",
    "pooling": r"(max|average|avg)_pool",
    "softmax and loss": r"softmax|nll_loss|cross_entropy",
    "embedding": r"embedding|_embs_|bounds_check_indices",
    "indexing": r"index|scatter|gather|searchsorted|permute_|offsets_range|dense_representation",
    "sorting and scanning": r"\bcub::|sort|scan",
    "reduction": r"reduce|triton_(red|per)",
    "elementwise": r"elementwise|dropout|triton_poi|Functor",
}
OTHER = "other"
_PATTERNS = {name: re.compile(rule, re.IGNORECASE) for name, rule in RULES.items()}


def kernel_class(name: str) -> str:
    """Which of RULES a kernel's or copy's name fits first; OTHER where none does."""
    return next((what for what, rule in _PATTERNS.items() if rule.search(name)), OTHER)


def seconds_by_class(trace: Trace, device: int) -> dict[str, float]:
    """Seconds of a device's kernels and copies by class, most first; those beside others too."""
    which = trace.on(device, Kind.KERNEL, Kind.COPY)
    by_name = np.bincount(trace.name[which], trace.seconds[which], len(trace.names))
    found: dict[str, float] = {}
    for place in np.unique(trace.name[which]):
        what = kernel_class(trace.names[place])
        found[what] = found.get(what, 0.0) + float(by_name[place])
    return dict(sorted(found.items(), key=lambda one: -one[1]))
