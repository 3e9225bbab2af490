"""Kernels by what they do: the operator that launched one must be able to do that."""

import re

import numpy as np
import pytest

from course_utils.traces.kernel_classes import OTHER, RULES, kernel_class, seconds_by_class
from course_utils.traces.trace import Kind
from tests.support.traces import launched, micro, read, real

CONVOLUTION = "cudnn_convolution|convolution_backward"
LOOKUP = "Lookup|embedding|lookup|bounds_check|permute_pooled|PermutePooled"
LAUNCHED_BY = {  # class: which operators launch its kernels; any the rest
    "communication": "record_param_comms",
    "optimizer": "_foreach|None",
    "batch norm": "cudnn_batch_norm",
    "layer norm": "native_layer_norm",
    "convolution": CONVOLUTION,
    "matrix product": f"mm|{CONVOLUTION}",
    "pooling": "pool",
    "softmax and loss": "softmax|nll_loss",
    "embedding": LOOKUP,
    "indexing": f"index|gather|scatter|bucketize|permute|offsets_range|dense|{LOOKUP}",
    "sorting and scanning": "sort|scan|cumsum|permute|dense|sum|Lookup",
    "reduction": "sum|mean|nll_loss",
}
ONLY = {"aten::cudnn_batch_norm": "batch norm", "aten::native_layer_norm": "layer norm"}


@pytest.mark.parametrize(
    "name", ["ddp-resnet50-2xA100", "resnet-1xV100", "dlrm-8xA100", "alexnet-1xA100"]
)
def test_the_operator_that_launched_it_does_such_things(name):
    trace = real(name)
    for i in np.flatnonzero(trace.on(trace.devices[0], Kind.KERNEL, Kind.COPY)):
        what, by = kernel_class(trace.names[trace.name[i]]), operator_around(trace, trace.launch[i])
        assert re.search(LAUNCHED_BY.get(what, ""), by), (trace.names[trace.name[i]], what, by)
        assert what == ONLY.get(by, what) and what != OTHER


def operator_around(trace, call):
    """The innermost operator in which a call was made."""
    inside = (trace.kind == Kind.OPERATOR) & (trace.thread == trace.thread[call])
    inside &= (trace.start <= trace.start[call]) & (trace.end >= trace.end[call])
    places = np.flatnonzero(inside)
    return trace.names[trace.name[places[trace.start[places].argmax()]]] if len(places) else "None"


@pytest.mark.parametrize("name, what", [
    ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "communication"),
    ("Memset (Device)", "copy"), ("ampere_sgemm_128x64_nn", "matrix product"),
    ("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_TNT", "matrix product"),
    ("void cutlass_cudnn_infer::Kernel<cutlass_tensorop_s1688dgrad>", "convolution"),
    ("pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128>>", "attention"),
    ("triton_poi_fused_add_relu_0", "elementwise"), ("triton_red_fused_sum_1", "reduction"),
    ("void fbgemm_gpu::permute_2D_lengths_kernel<int>(int, int)", "indexing"), ("mystery", OTHER),
])  # fmt: skip
def test_names_of_other_versions_and_makers(name, what):
    assert kernel_class(name) == what and what in {*RULES, OTHER}


def test_seconds_are_summed_by_class_and_the_largest_comes_first(tmp_path):
    events = [
        *launched(1, 0, 5, 2, "sgemm"), *launched(2, 1, 7, 2, "relu_elementwise_kernel"),
        *launched(3, 2, 9, 4, "add_elementwise_kernel"), *launched(4, 3, 9, 9, "sgemm", device=1),
        *launched(5, 4, 20, 1, "Memcpy DtoH", cat="gpu_memcpy"),
    ]  # fmt: skip
    found = seconds_by_class(read(tmp_path, events), 0)
    assert list(found.items()) == [("elementwise", micro(6)), ("matrix product", micro(2)),
                                   ("copy", micro(1))]  # fmt: skip
