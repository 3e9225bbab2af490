"""CUDA's autocast for the fake GPU: the same lists, at the same layer of the dispatcher.

Source of the rules: torch, aten/src/ATen/autocast_mode.h and .cpp. An operator's arguments are
cast before it runs: to 16 bits (LOWER), to the widest dtype among them (WIDEST), to FP32 (every
other that CUDA has a rule for, of which those in TO_FP32_BY_DTYPE are asked for an FP32 result
instead). A 16-bit copy of an FP32 weight is kept until the outermost autocast ends, but in
inference mode for one operator only. torch's own rules act on CUDA's tensors alone, and without
CUDA only single operators run on fake ones (chapter 7's `autocast_rules`), no model. So the rules
are written here again; a test compares them with torch's.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map_only

KEY = "AutocastPrivateUse1"
DEVICE = "fakegpu"


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


LOWER = _names(
    """
    _convolution _convolution.deprecated convolution conv1d conv2d conv3d conv_tbc
    conv_transpose1d conv_transpose2d.input conv_transpose3d.input cudnn_convolution
    cudnn_convolution_transpose prelu addmm addmv addr matmul einsum mm mv linalg_vecdot
    linear addbmm baddbmm bmm chain_matmul linalg_multi_dot _thnn_fused_lstm_cell
    _thnn_fused_gru_cell lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell
    _scaled_dot_product_flash_attention scaled_dot_product_attention
    """
)
WIDEST = _names(
    """
    addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot scatter_add
    """
)
TO_FP32_BY_DTYPE = _names(
    """
    prod prod.dim_int softmax.int log_softmax.int cumprod cumsum linalg_vector_norm
    linalg_matrix_norm linalg_matrix_norm.str_ord sum sum.dim_IntList
    """
)
FROM_FP16 = {  # the softmaxes that CUDA computes in FP32 without an FP32 copy of their input
    "softmax.int": torch.ops.aten._softmax,
    "log_softmax.int": torch.ops.aten._log_softmax,
}
REFUSED = frozenset({"binary_cross_entropy"})
_copies: dict[int, tuple[Tensor, Tensor]] = {}


def operators() -> list[str]:
    """The names, such as "linear" or "sum.dim_IntList", of all operators with a rule on CUDA."""
    has_rule = torch._C._dispatch_has_kernel_for_dispatch_key
    names = [name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")]
    return sorted(name[len("aten::") :] for name in names if has_rule(name, "AutocastCUDA"))


def register() -> list[torch.library.Library]:
    """Gives every one of `operators()` its rule on the fake GPU, and the others none.

    They hold for as long as what this returns. Raises: whatever torch raises where it has changed
    its private parts; `fake_gpu` explains.
    """
    rules, others = torch.library.Library("aten", "IMPL"), torch.library.Library("_", "IMPL")
    for name in operators():
        rules.impl(name, _rule(name), KEY)
    others.fallback(torch.library.fallthrough_kernel, KEY)
    return [rules, others]


@contextmanager
def weight_cache() -> Iterator[None]:
    """Inside, the copies of weights are dropped when torch drops its own: as autocast ends."""
    clear = torch.clear_autocast_cache

    def clear_both() -> None:
        _copies.clear()
        clear()

    with mock.patch.object(torch, "clear_autocast_cache", clear_both):
        try:
            yield
        finally:
            _copies.clear()


def _rule(name: str) -> Callable[..., Any]:
    packet, _, overload = name.partition(".")
    operator: Any = getattr(getattr(torch.ops.aten, packet), overload or "default")
    key = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, KEY))
    cast = _caster(name, operator)
    fused = FROM_FP16.get(name)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(key):
            args, kwargs = cast(args, kwargs)
            if fused and args[0].dtype is torch.float16 and len(args) == 2:
                return fused(args[0], args[1], True)
            return operator(*args, **kwargs)

    return kernel


def _caster(name: str, operator: Any) -> Callable[[Any, Any], tuple[Any, Any]]:
    if name in LOWER:
        return lambda args, kwargs: _to(torch.get_autocast_dtype(DEVICE), args, kwargs)
    if name in WIDEST:
        return lambda args, kwargs: _to(_widest(args, kwargs), args, kwargs)
    if name in REFUSED:
        return lambda args, kwargs: _refuse(name)
    if name in TO_FP32_BY_DTYPE:
        place = [argument.name for argument in operator._schema.arguments].index("dtype")
        return lambda args, kwargs: _with_fp32_result(place, args, kwargs)
    return lambda args, kwargs: _to(torch.float32, args, kwargs)


def _to(dtype: torch.dtype, args: Any, kwargs: Any) -> tuple[Any, Any]:
    return tree_map_only(Tensor, lambda t: _cast(t, dtype), (args, kwargs))


def _cast(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    if not _eligible(tensor) or tensor.dtype is dtype:
        return tensor
    weight = tensor.dtype is torch.float32 and tensor.requires_grad and tensor.is_leaf
    is_kept = (
        weight
        and not tensor._is_view()
        and dtype is torch.get_autocast_dtype(DEVICE)
        and torch.is_autocast_cache_enabled()
        and not torch.is_inference_mode_enabled()  # CUDA's autocast keeps no copy then either
    )
    if not is_kept:
        return tensor.to(dtype)
    if id(tensor) not in _copies:
        _copies[id(tensor)] = tensor, tensor.to(dtype)
    return _copies[id(tensor)][1]


def _eligible(tensor: Tensor) -> bool:
    """Autocast leaves integers, FP64, and other devices' tensors as they are."""
    return (
        tensor.device.type == DEVICE
        and tensor.is_floating_point()
        and tensor.dtype is not torch.float64
    )


def _widest(args: Any, kwargs: Any) -> torch.dtype:
    tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
    if any(_eligible(one) and one.dtype is torch.float32 for one in tensors):
        return torch.float32
    return torch.get_autocast_dtype(DEVICE)


def _with_fp32_result(place: int, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """Asks for FP32 where no dtype is asked for; `dtype` is the operator's argument `place`."""
    given = args[place] if len(args) > place else kwargs.get("dtype")
    if given is None and _eligible(args[0]):
        args, kwargs = args[:place], {**kwargs, "dtype": torch.float32}
    return args, kwargs


def _refuse(name: str) -> Any:
    raise RuntimeError(f"torch.nn.functional.{name} is unsafe to autocast")
