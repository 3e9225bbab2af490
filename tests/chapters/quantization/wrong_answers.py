"""Wrong answers to chapter 8's exercises, each as a student might write it."""

from tests.support.patches import changed

REFUSED = """    if x.shape[1] * 127 * 128 >= 2**31:
        raise ValueError("INT32 may not hold the sum of so many products")
"""
HALVES = "torch.stack([packed % 16, packed // 16], dim=1).to(torch.int8).flatten()"
GROUPS = "vectors * math.ceil(head_dim / group)"
INTEGERS = "torch._int_mm(x_codes, codes.T) * steps * scales"
WRONG = {
    "quant.affine": changed(
        "quant.affine",
        leaves_0_out={".clamp(max=0)": "", ".clamp(min=0)": ""},
        leaves_0_out_above={".clamp(min=0)": ""},
        symmetric={"-low / scales": "torch.full_like(scales, top / 2)"},
        keeps_the_zero_point_real={"(-low / scales).round()": "-low / scales"},
        divides_by_the_count={"(high - low) / top": "(high - low) / (top + 1)"},
        divides_by_nothing={"scales.masked_fill(scales == 0, 1)": "scales"},
        never_clamps={".clamp(max=top)": ""},
        clamps_before_the_zero_point={
            "(groups / scales).round() + zeros).clamp(max=top)": (
                "(groups / scales).round().clamp(-top, top) + zeros)"
            )
        },
        truncates={"((groups / scales).round() + zeros)": "(groups / scales + zeros)"},
        subtracts_the_zero_point={".round() + zeros": ".round() - zeros"},
        codes_in_int8={"torch.uint8": "torch.int8"},
        real_codes={".to(torch.uint8)": ""},
        one_scale_for_all={
            "amin(-1, keepdim=True)": "amin().expand(*groups.shape[:-1], 1)",
            "amax(-1, keepdim=True)": "amax().expand(*groups.shape[:-1], 1)",
        },
        one_scale_for_a_row={
            "(-1, group)": "(-1, x.shape[-1])",
            "scales.squeeze(-1)": "scales.squeeze(-1).repeat_interleave(x.shape[-1] // group, -1)",
            "zeros.squeeze(-1)": "zeros.squeeze(-1).repeat_interleave(x.shape[-1] // group, -1)",
        },
        strided_groups={"(-1, (-1, group))": "(-1, (group, -1)).transpose(-1, -2)"},
    ),
    "quant.int8_linear": changed(
        "quant.int8_linear",
        multiplies_floats={INTEGERS: "(x_codes * steps) @ (codes.T * scales)"},
        multiplies_codes_as_floats={
            INTEGERS: "(x_codes.float() @ codes.float().T) * steps * scales"
        },
        one_scale_for_all_tokens={"amax(1, keepdim=True)": "amax()"},
        rescales_by_the_largest={" * steps": " * 127 * steps"},
        truncates={".round()": ""},
        uses_128={"/ 127": "/ 128"},
        bias_before_the_scales={
            INTEGERS + " + bias": "(torch._int_mm(x_codes, codes.T) + bias) * steps * scales"
        },
        forgets_the_bias={" + bias": ""},
        forgets_the_weights_scales={" * scales": ""},
        guards_with_a_large_step={"/ 127\n": "/ 127 + 1e-5\n", ".clamp(min=1e-30)": ""},
        takes_any_length={REFUSED: ""},
        limit_of_127_squared={"127 * 128": "127**2"},
        limit_of_128_squared={"127 * 128": "128**2"},
        limit_of_the_draft={"x.shape[1] * 127 * 128 >= 2**31": "x.shape[1] > 133_144"},
        nan_for_zeros={
            " * steps * scales": " / (1 / steps) * (steps / steps) * scales",
        },
    ),
    "quant.cache_bytes": changed(
        "quant.cache_bytes",
        keys_only={"2 * layers": "layers"},
        forgets_the_scales={"vectors * math.ceil(head_dim / group) * 4": "0"},
        forgets_the_zero_points={"group) * 4": "group) * 2"},
        scales_in_bf16_too={"bits != 16": "True"},
        a_byte_for_each_code={"head_dim * bits // 8": "head_dim * max(bits, 8) // 8"},
        whole_groups_only={"math.ceil(head_dim / group)": "(head_dim // group)"},
        groups_across_heads={GROUPS: "math.ceil(vectors * head_dim / group)"},
        groups_along_tokens={
            GROUPS: "2 * layers * kv_heads * head_dim * math.ceil(tokens / group)"
        },
        bits_for_bytes={" // 8": ""},
    ),
}
