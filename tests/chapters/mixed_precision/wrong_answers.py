"""Wrong answers to chapter 7's exercises, each as a student might write it."""

from tests.support.patches import changed

REFUSED = """    if not 0 < scale < math.inf:
        raise ValueError(f"a loss scale is positive and finite, not {scale}")
"""
FINITE = "torch.stack([g.isfinite().all() for g in gradients]).all()"
UNSCALE, CLIP = (
    "    scaler.unscale_(optimizer)\n",
    "torch.nn.utils.clip_grad_norm_(parameters, max_norm)",
)
WRONG = {
    "mixed.static_scaling": changed(
        "mixed.static_scaling",
        never_unscales={"g /= scale": "pass"},
        never_skips={"return False": "pass"},
        scales_nothing={"(loss * scale)": "loss", "g /= scale": "pass"},
        takes_any_scale={REFUSED: ""},
        overlooks_nan={"g.isfinite().all()": "~g.isinf().any()"},
        looks_at_the_last_only={FINITE: "gradients[-1].isfinite().all()"},
        steps_with_the_rest={
            "return False": 'for p in optimizer.param_groups[0]["params"]:\n'
            "            if p.grad is not None and not p.grad.isfinite().all():\n"
            "                p.grad = None",
            "return True": "return bool(finite)",
        },
        looks_at_the_scale_too_late={
            REFUSED: "",
            "if not finite": "if not finite and 0 < scale < math.inf",
            "    return True": f"{REFUSED}    return True",
        },
    ),
    "mixed.clipping": changed(
        "mixed.clipping",
        clips_the_scaled={UNSCALE: ""},
        clips_after_the_step={f"{UNSCALE}    {CLIP}\n": "", "update()": f"update()\n    {CLIP}"},
        steps_itself={"scaler.step(optimizer)": "optimizer.step()"},
        never_updates={"scaler.update()": "pass"},
    ),
}
