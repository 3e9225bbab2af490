"""Kernels by what they do."""

import pytest

from snapshots_and_traces.tests.support.traces import launched, micro, op, read
from snapshots_and_traces.traces.kernel_classes import OTHER, RULES, kernel_class, seconds_by_class


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


def test_the_operator_that_launched_a_kernel_says_more_than_its_name(tmp_path):
    events = [
        op("aten::conv2d", 0, 40), op("aten::cudnn_convolution", 1, 20),
        *launched(1, 2, 50, 8, "ampere_sgemm_128x64_nn"), *launched(2, 5, 58, 4, "nchwToNhwc"),
        op("aten::add_", 25, 9), *launched(3, 26, 62, 2, "vectorized_elementwise_kernel"),
        op("autograd::engine::evaluate_function: ConvolutionBackward0", 100, 20),
        op("ConvolutionBackward0", 100, 20), *launched(4, 105, 120, 3, "cutlass_gemm"),
        op("aten::linear", 130, 20), op("aten::addmm", 131, 9),
        *launched(5, 133, 150, 1, "sgemm"),
        op("symm_mem::two_thing", 160, 9), *launched(6, 161, 170, 16, "triton_my_kernel"),
    ]  # fmt: skip
    trace = read(tmp_path, events)
    assert trace.messages.sum() == 1
    found = seconds_by_class(trace, 0)
    assert found["convolution"] == micro(8 + 4 + 2 + 3), "with the bias that aten::conv2d adds"
    assert found["matrix product"] == micro(1)
