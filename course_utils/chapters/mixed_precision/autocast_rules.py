"""Which dtype comes out of an operator under CUDA's autocast, on a machine without CUDA.

Autocast is a layer of the dispatcher: it casts an operator's arguments by the device's list before
the operator runs (torch: aten/src/ATen/autocast_mode.h). Fake tensors have a device, dtype and
shape and no data, so they pass that layer and come out with the dtype that real ones would have.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.nn import functional as F

MATRIX, IMAGE, KERNELS = (8, 8), (2, 4, 8, 8), (4, 4, 3, 3)
OPERATORS: dict[str, tuple[Callable[..., Tensor], tuple[tuple[int, ...], ...]]] = {
    "linear": (F.linear, (MATRIX, MATRIX)),
    "conv2d": (F.conv2d, (IMAGE, KERNELS)),
    "attention": (F.scaled_dot_product_attention, (IMAGE, IMAGE, IMAGE)),
    "x + x": (torch.add, (MATRIX, MATRIX)),
    "relu": (F.relu, (MATRIX,)),
    "gelu": (F.gelu, (MATRIX,)),
    "mean": (torch.mean, (MATRIX,)),
    "batch_norm": (lambda x: F.batch_norm(x, None, None, training=True), (IMAGE,)),
    "softmax": (lambda x: F.softmax(x, -1), (MATRIX,)),
    "log_softmax": (lambda x: F.log_softmax(x, -1), (MATRIX,)),
    "layer_norm": (lambda x: F.layer_norm(x, MATRIX[1:]), (MATRIX,)),
    "rms_norm": (lambda x: F.rms_norm(x, MATRIX[1:]), (MATRIX,)),
    "group_norm": (lambda x: F.group_norm(x, 2), (IMAGE,)),
    "exp": (torch.exp, (MATRIX,)),
    "sum": (torch.sum, (MATRIX,)),
    "pow": (lambda x: torch.pow(x, 2), (MATRIX,)),
    "cross_entropy": (F.cross_entropy, (MATRIX, MATRIX)),
    "binary_cross_entropy": (F.binary_cross_entropy, (MATRIX, MATRIX)),
}
INPUTS = torch.float32, torch.bfloat16
REFUSED = ("binary_cross_entropy",)
ERRORS = ("unsafe to autocast",)


def inputs_of(
    name: str, dtype: torch.dtype, device: torch.device | str = "cpu"
) -> tuple[Tensor, ...]:
    """Random inputs, from 0 to 1, for one of OPERATORS; LookupError, with their names, else."""
    if name not in OPERATORS:
        raise LookupError(f"no operator {name!r}; there are {', '.join(OPERATORS)}")
    return tuple(torch.rand(shape, device=device, dtype=dtype) for shape in OPERATORS[name][1])


def dtype_by_rules(
    op: Callable[..., Tensor], *arguments: Tensor, device_type: str = "cuda"
) -> torch.dtype | str:
    """The dtype of `op(*arguments)` under autocast to BF16 on `device_type`; nothing computes.

    The arguments' shapes and dtypes count, not their values. Where autocast refuses the operator
    (binary_cross_entropy on CUDA), the answer is "error".
    Raises: RuntimeError where an operator has no fake version.
    """
    mode = FakeTensorMode()
    with mode:
        meta = [torch.empty(a.shape, dtype=a.dtype, device="meta") for a in arguments]
        fake = [FakeTensor(mode, m, torch.device(device_type)) for m in meta]
        # switched on afterwards: torch refuses where it finds no such device
        rules = torch.autocast(device_type, torch.bfloat16, enabled=False)
        rules._enabled = True
        with rules:
            try:
                return op(*fake).dtype
            except RuntimeError as error:
                if any(words in str(error) for words in ERRORS):
                    return "error"
                raise RuntimeError(f"{op} on a fake {device_type} tensor: {error}") from error


def cuda_dtype(name: str, dtype: torch.dtype) -> torch.dtype | str:
    """The output dtype of one of OPERATORS for inputs of `dtype` under CUDA's autocast to BF16."""
    return dtype_by_rules(OPERATORS[name][0], *inputs_of(name, dtype))


def autocast_table(
    here: Callable[[str, torch.dtype], torch.dtype],
) -> list[dict[str, str]]:
    """For each of OPERATORS: the dtypes that come out, of `here(name, dtype)` and on CUDA."""
    columns = {"CPU": here, "CUDA": cuda_dtype}
    inputs = {"FP32": torch.float32, "BF16": torch.bfloat16}
    return [
        {"operator": name}
        | {
            f"{word} in, {where}": _word(find(name, dtype))
            for where, find in columns.items()
            for word, dtype in inputs.items()
        }
        for name in OPERATORS
    ]


def dtypes_on_gpu() -> list[dict[str, str]]:
    """Output dtypes of OPERATORS on this GPU under autocast to BF16."""
    return _dtypes(lambda op, *inputs: _dtype_on("cuda", op, *inputs))


def dtypes_by_rules() -> list[dict[str, str]]:
    """The same rows as `dtypes_on_gpu`, by CUDA's rules and without a GPU."""
    return _dtypes(dtype_by_rules)


def _dtypes(find: Callable[..., torch.dtype | str]) -> list[dict[str, str]]:
    """A row for each operator that isn't refused and each dtype of its inputs."""
    cases = [
        (name, _word(dtype), op, inputs_of(name, dtype))
        for name, (op, _) in OPERATORS.items()
        for dtype in INPUTS
        if name not in REFUSED
    ]
    return [
        {"operator": name, "dtype_in": given, "dtype_out": _word(find(op, *inputs))}
        for name, given, op, inputs in cases
    ]


def _dtype_on(device: str, op: Callable[..., Tensor], *inputs: Tensor) -> torch.dtype | str:
    """The output dtype of `op` for these inputs under autocast to BF16, by running it."""
    try:
        with torch.autocast(device, dtype=torch.bfloat16):
            return op(*(tensor.to(device) for tensor in inputs)).dtype
    except RuntimeError:
        return "error"


def _word(dtype: torch.dtype | str) -> str:
    return str(dtype).removeprefix("torch.")
