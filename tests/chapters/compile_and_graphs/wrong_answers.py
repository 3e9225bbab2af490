"""Wrong answers to chapter 04's exercises, each as a student might write it."""

import torch

from course_utils.chapters.compile_and_graphs.exercises import broken
from tests.support.patches import by_name, changed


def as_it_was(x):
    return broken(x)


@torch.compiler.disable
def _scale(y):
    return y.abs().max().item()


def hides_a_break(x):
    y = torch.tanh(x)
    y = torch.where(y.sum() <= 0, y + 0.5, y) / _scale(y)
    return torch.where(y > 0, y, 0).sum()


def slow_loop(step, texts):
    means = []
    for k, text in enumerate(texts):
        means.append(step(text, f"step {k}", 1 / (k + 1), means))
    return means


def gives_up_at_once(step, texts):
    with torch._dynamo.config.patch(recompile_limit=1):
        return slow_loop(step, texts)


def compiles_nothing(step, texts):
    with torch.compiler.set_stance("force_eager"):
        return slow_loop(step, texts)


def compiles_it_again(step, texts):
    return slow_loop(torch.compile(step, backend="eager", dynamic=True), texts)


def looks_for_the_step_within(step, texts):
    return slow_loop(step.__wrapped__, texts)


SHIFT, SUM = "torch.where(y.sum() <= 0, y + 0.5, y)", "torch.where(y > 0, y, 0).sum()"
LABEL, CALL = '"step 0" if k == 0 else "later"', "step(text, label, 1 / (k + 1), means[-1:])"
WRONG = {
    "compile.one_graph": [
        as_it_was,
        hides_a_break,
        *changed(
            "compile.one_graph",
            keeps_the_if={f"y = {SHIFT}": "if y.sum() <= 0:\n        y = y + 0.5"},
            keeps_the_number={".max()": ".max().item()"},
            keeps_the_mask={SUM: "y[y > 0].sum()"},
            looks_on={"    return": "    print(y.max())\n    return"},
            a_branch_returns_its_input={
                SHIFT: "torch.cond(y.sum() <= 0, lambda y: y + 0.5, lambda y: y, (y,))"
            },
            a_branch_changes_its_input={
                SHIFT: "torch.cond(y.sum() <= 0, lambda y: y.add_(0.5), lambda y: y.clone(), (y,))"
            },
            branches_of_two_dtypes={
                SHIFT: "torch.cond(y.sum() <= 0, lambda y: y + 0.5, lambda y: y.double(), (y,))"
            },
            python_chooses_by_a_number={SHIFT: "y + 0.5 * int(y.sum() <= 0)"},
            counts_in_a_list={"y.abs().max()": "max(y.abs().flatten().tolist())"},
            forgets_the_border={"<=": "<"},
            scales_by_each_row={"y.abs().max()": "y.abs().amax(-1, keepdim=True)"},
            overwrites_x={"torch.tanh(x)": "x.tanh_()"},
            compiles_at_each_call={
                "def whole(x):": "times = [0]\n\n\ndef whole(x):\n    times[0] += 1",
                SUM: f"{SUM} + 0 * times[0]",
            },
            without_torch={"y = torch.tanh(x)": "return 3.0"},
            raises_in_python={SUM: "torch.tanh(x).sume()"},
        ),
    ],
    "compile.steady_loop": [
        slow_loop,
        gives_up_at_once,
        compiles_nothing,
        compiles_it_again,
        looks_for_the_step_within,
        *changed(
            "compile.steady_loop",
            steadies_the_list_alone={LABEL: 'f"step {k}"'},
            steadies_the_label_alone={"means[-1:]": "means"},
            steadies_what_is_steady={
                LABEL: 'f"step {k}"',
                "1 / (k + 1), means[-1:]": "torch.tensor(1 / (k + 1)), means",
            },
            a_label_that_is_never_the_first={LABEL: '"step"'},
            the_first_of_the_list={"means[-1:]": "means[:1]"},
            one_weight_for_all={"1 / (k + 1)": "0.5"},
            a_weight_that_is_none={"1 / (k + 1)": "None"},
            as_a_tuple={
                "means = []": "means = ()",
                f"means.append({CALL})": "means += (step(text, label, 1 / (k + 1), means),)",
            },
            pads_to_one_length={
                "label =": "text = torch.nn.utils.rnn.pad_sequence(texts, True)[k]\n        label ="
            },
            without_the_step={
                CALL: "sum(t.tanh().square().mean() for t in texts[: k + 1]) / (k + 1)"
            },
            the_last_mean_only={"return means": "return means[-1:]"},
            each_text_with_a_step_of_its_own={"label =": "torch.compiler.reset()\n        label ="},
            gradients_now_and_then={"step(text": "step(text.clone().requires_grad_(k % 2 == 0)"},
        ),
    ],
}
__getattr__ = by_name(WRONG)
