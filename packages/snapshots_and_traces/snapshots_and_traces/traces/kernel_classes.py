"""Classes of kernels, in words a reader knows: by the operator that launched it, else by its name.

The names are those that cuDNN, cuBLAS, CUTLASS, NCCL, FBGEMM, Triton and ATen give their kernels,
and torch's operators. A convolution is often computed by a kernel named as a matrix product: the
operator tells.
"""

import re

import numpy as np

from snapshots_and_traces.traces.trace import MESSAGE, Kind, Trace

OPERATORS = {  # the innermost operator around the launch that fits one, before the kernel's name
    "copy": r"aten::(copy_|clone|contiguous|_to_copy|to|cat|stack)$",
    "convolution": r"aten::\w*conv(olution|\d|_|$)|ConvolutionBackward|.*: ConvolutionBackward",
    "batch norm": r"aten::\w*batch_norm|aten::miopen_batch_norm",
    "layer norm": r"aten::(native_|_fused_)?(layer|rms)_norm",
    "attention": r"aten::\w*(dot_product|flash|efficient)_?\w*attention|.*flash_attn",
    "matrix product": r"aten::(mm|addmm|bmm|baddbmm|addbmm|addmv|mv|dot|_scaled_mm|_int_mm)$",
    "softmax and loss": r"aten::\w*(softmax|nll_loss|cross_entropy|mse_loss)",
    "embedding": r"aten::embedding",
}
RULES = {  # in this order: cuDNN's batch norm isn't a convolution, an `implicit_gemm` is
    "communication": MESSAGE.pattern,
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
_OPERATORS = {name: re.compile(rule) for name, rule in OPERATORS.items()}
_PATTERNS = {name: re.compile(rule, re.IGNORECASE) for name, rule in RULES.items()}


def kernel_class(name: str) -> str:
    """Which of RULES a kernel's or copy's name fits first; OTHER where none does."""
    return next((what for what, rule in _PATTERNS.items() if rule.search(name)), OTHER)


def seconds_by_class(trace: Trace, device: int) -> dict[str, float]:
    """Seconds of a device's kernels and copies by class, most first; those beside others too."""
    classes = [*RULES, OTHER]
    which = trace.on(device, Kind.KERNEL, Kind.COPY)
    sums = np.bincount(classes_of(trace)[which], trace.seconds[which], len(classes))
    found = {what: float(took) for what, took in zip(classes, sums, strict=True) if took}
    return dict(sorted(found.items(), key=lambda one: -one[1]))


def classes_of(trace: Trace) -> np.ndarray:
    """For each event the place of its class in RULES, as its launching operator says, else its
    name; what is no kernel and no copy is OTHER.
    """
    classes = [*RULES, OTHER]
    by_name = np.array([classes.index(kernel_class(name)) for name in trace.names], int)
    found = np.full(len(trace.start), len(RULES))
    ran = np.isin(trace.kind, (Kind.KERNEL, Kind.COPY))
    found[ran] = by_name[trace.name[ran]]
    by_operator = _operators(trace, classes)
    asked = ran & (trace.launch >= 0) & (found != 0)
    said = by_operator[trace.launch[asked]]
    found[asked] = np.where(said >= 0, said, found[asked])
    return found


def _operators(trace: Trace, classes: list[str]) -> np.ndarray:
    """For each event of the host the class that the operators around it say, or -1."""
    by_name = np.full(len(trace.names), -1)
    for place, name in enumerate(trace.names):
        fits = (what for what, rule in _OPERATORS.items() if rule.match(name))
        by_name[place] = next((classes.index(what) for what in fits), -1)
    operator = trace.kind == Kind.OPERATOR
    found = np.where(operator, by_name[trace.name], -1)
    around = trace.host.parent.copy()
    while (undecided := np.flatnonzero((found < 0) & (around >= 0))).size:
        outer = around[undecided]
        found[undecided] = found[outer]
        around[undecided] = around[outer]
    return found
