"""Wrong answers to chapter 04's exercises, each as a student might write it."""

import torch

from course_utils.chapters.compile_and_graphs.exercises import broken


def as_it_was(x):
    return broken(x)


def keeps_the_if(x):
    y = torch.tanh(x)
    if y.sum() <= 0:
        y = y + 0.5
    y = y / y.abs().max()
    return torch.where(y > 0, y, 0).sum()


def keeps_the_number(x):
    y = torch.tanh(x)
    y = torch.where(y.sum() <= 0, y + 0.5, y)
    y = y / y.abs().max().item()
    return torch.where(y > 0, y, 0).sum()


def keeps_the_mask(x):
    y = torch.tanh(x)
    y = torch.where(y.sum() <= 0, y + 0.5, y)
    y = y / y.abs().max()
    return y[y > 0].sum()


def looks_on(x):
    y = torch.tanh(x)
    y = torch.where(y.sum() <= 0, y + 0.5, y)
    y = y / y.abs().max()
    print(y.max())
    return torch.where(y > 0, y, 0).sum()


@torch.compiler.disable
def _scale(y):
    return y.abs().max().item()


def hides_a_break(x):
    y = torch.tanh(x)
    y = torch.where(y.sum() <= 0, y + 0.5, y) / _scale(y)
    return torch.where(y > 0, y, 0).sum()


def a_branch_returns_its_input(x):
    y = torch.tanh(x)
    y = torch.cond(y.sum() <= 0, lambda y: y + 0.5, lambda y: y, (y,))
    y = y / y.abs().max()
    return torch.where(y > 0, y, 0).sum()


def a_branch_changes_its_input(x):
    y = torch.tanh(x)
    y = torch.cond(y.sum() <= 0, lambda y: y.add_(0.5), lambda y: y.clone(), (y,))
    y = y / y.abs().max()
    return torch.where(y > 0, y, 0).sum()


def branches_of_two_dtypes(x):
    y = torch.tanh(x)
    y = torch.cond(y.sum() <= 0, lambda y: y + 0.5, lambda y: y.double(), (y,))
    y = y / y.abs().max()
    return torch.where(y > 0, y, 0).sum()


def python_chooses_by_a_number(x):
    y = torch.tanh(x)
    y = y + 0.5 * int(y.sum() <= 0)
    y = y / y.abs().max()
    return torch.where(y > 0, y, 0).sum()


def counts_in_a_list(x):
    y = torch.tanh(x)
    y = torch.where(y.sum() <= 0, y + 0.5, y)
    y = y / max(y.abs().flatten().tolist())
    return torch.where(y > 0, y, 0).sum()


def exchanges_the_branches(x):
    y = torch.tanh(x)
    y = torch.where(y.sum() <= 0, y, y + 0.5)
    y = y / y.abs().max()
    return torch.where(y > 0, y, 0).sum()


def decides_for_each_element(x):
    y = torch.tanh(x)
    y = torch.where(y <= 0, y + 0.5, y)
    y = y / y.abs().max()
    return torch.where(y > 0, y, 0).sum()


def forgets_the_border(x):
    y = torch.tanh(x)
    y = torch.where(y.sum() < 0, y + 0.5, y)
    y = y / y.abs().max()
    return torch.where(y > 0, y, 0).sum()


def scales_by_each_row(x):
    y = torch.tanh(x)
    y = torch.where(y.sum() <= 0, y + 0.5, y)
    y = y / y.abs().amax(-1, keepdim=True)
    return torch.where(y > 0, y, 0).sum()


def overwrites_x(x):
    y = x.tanh_()
    y = torch.where(y.sum() <= 0, y + 0.5, y)
    y = y / y.abs().max()
    return torch.where(y > 0, y, 0).sum()


_times = [0]


def compiles_at_each_call(x):
    _times[0] += 1
    y = torch.tanh(x)
    y = torch.where(y.sum() <= 0, y + 0.5, y)
    y = y / y.abs().max()
    return torch.where(y > 0, y, 0).sum() + 0 * _times[0]


def without_torch(x):
    return 3.0


def raises_in_python(x):
    return torch.tanh(x).sume()


def _eager(ops):
    return sum(1 + len(set(inputs)) for _, inputs in ops)


def _made(ops):
    return {name for name, _ in ops}


def reads_twice_what_it_uses_twice(ops, results):
    read = {one for _, inputs in ops for one in inputs} - _made(ops)
    return sum(1 + len(inputs) for _, inputs in ops) / (len(read) + len(results))


def reads_all_inputs(ops, results):
    read = {one for _, inputs in ops for one in inputs} - _made(ops)
    return _eager(ops) / (len(read) + len(results))


def one_step_of_dead_code(ops, results):
    used = set(results).union(*(inputs for _, inputs in ops))
    alive = [op for op in ops if op[0] in used]
    read = {one for _, inputs in alive for one in inputs} - _made(ops)
    return _eager(ops) / (len(read) + len(results))


def no_dead_code_in_eager_either(ops, results):
    needed = set(results)
    alive = []
    for name, inputs in reversed(ops):
        if name in needed:
            needed |= set(inputs)
            alive.append((name, inputs))
    return _eager(alive) / (len(needed - _made(ops)) + len(results))


def reads_what_it_made(ops, results):
    needed = set(results)
    for name, inputs in reversed(ops):
        if name in needed:
            needed |= set(inputs)
    return _eager(ops) / (len(needed - set(results)) + len(results))


def writes_the_last_only(ops, results):
    needed = set(results)
    for name, inputs in reversed(ops):
        if name in needed:
            needed |= set(inputs)
    return _eager(ops) / (len(needed - _made(ops)) + 1)


def ratio_of_reads(ops, results):
    needed = set(results)
    for name, inputs in reversed(ops):
        if name in needed:
            needed |= set(inputs)
    return sum(len(set(inputs)) for _, inputs in ops) / len(needed - _made(ops))


def a_saving(ops, results):
    needed = set(results)
    for name, inputs in reversed(ops):
        if name in needed:
            needed |= set(inputs)
    return 1 - (len(needed - _made(ops)) + len(results)) / _eager(ops)


def all_results_are_needed_to_be_read(ops, results):
    needed = set(results)
    for name, inputs in reversed(ops):
        if name in needed:
            needed |= set(inputs)
    return _eager(ops) / len(needed - _made(ops) | set(results) | _made(ops) & needed)


def forwards_from_the_results(ops, results):
    needed = set(results)
    for name, inputs in ops:
        if name in needed:
            needed |= set(inputs)
    return _eager(ops) / (len(needed - _made(ops)) + len(results))


def upside_down(ops, results):
    needed = set(results)
    for name, inputs in reversed(ops):
        if name in needed:
            needed |= set(inputs)
    return (len(needed - _made(ops)) + len(results)) / _eager(ops)


def reads_each_tensor_of_the_program_once(ops, results):
    needed = set(results)
    for name, inputs in reversed(ops):
        if name in needed:
            needed |= set(inputs)
    eager = len({one for _, inputs in ops for one in inputs}) + len(ops)
    return eager / (len(needed - _made(ops)) + len(results))


def a_loop_for_each_operator(ops):
    return {name: number for number, (name, _, _) in enumerate(ops)}


def one_loop(ops):
    return dict.fromkeys([name for name, _, _ in ops], 0)


def depth(ops):
    found = {}
    for name, _, inputs in ops:
        found[name] = max((found.get(one, -1) for one in inputs), default=-1) + 1
    return found


def the_reduction_itself_waits(ops):
    found = {}
    for name, kind, inputs in ops:
        found[name] = max(found.get(one, 0) for one in inputs) + (kind == "reduction")
    return found


def a_new_loop_after_each_reduction(ops):
    found, current = {}, 0
    for name, kind, _ in ops:
        found[name] = current
        current += kind == "reduction"
    return found


def forgets_what_comes_later(ops):
    reductions = {name for name, kind, _ in ops if kind == "reduction"}
    return {name: int(any(one in reductions for one in inputs)) for name, _, inputs in ops}


def counts_reductions(ops):
    found, kinds = {}, {name: kind for name, kind, _ in ops}
    for name, _, inputs in ops:
        before = max(found.get(one, 0) for one in inputs)
        found[name] = before + sum(kinds.get(one) == "reduction" for one in inputs)
    return found


def adds_one_to_the_latest(ops):
    found, kinds = {}, {name: kind for name, kind, _ in ops}
    for name, _, inputs in ops:
        before = max(found.get(one, 0) for one in inputs)
        found[name] = before + any(kinds.get(one) == "reduction" for one in inputs)
    return found


def from_one(ops):
    found, kinds = {}, {name: kind for name, kind, _ in ops}
    for name, _, inputs in ops:
        found[name] = max(found.get(i, 1) + (kinds.get(i) == "reduction") for i in inputs)
    return found


def a_list_of_numbers(ops):
    return [0 for _ in ops]


def a_reduction_ends_the_loop_before_it(ops):
    found, ready = {}, {}
    for name, kind, inputs in ops:
        found[name] = max(ready.get(one, 0) for one in inputs)
        if kind == "reduction":
            found[name] += any(one in found for one in inputs)
        ready[name] = found[name] + (kind == "reduction")
    return found


def by_the_last_input_alone(ops):
    found, ready = {}, {}
    for name, kind, inputs in ops:
        found[name] = ready.get(inputs[-1], 0)
        ready[name] = found[name] + (kind == "reduction")
    return found


def the_latest_loop_that_is_open(ops):
    found, ready, latest = {}, {}, 0
    for name, kind, inputs in ops:
        latest = max(latest, *(ready.get(one, 0) for one in inputs))
        found[name] = latest
        ready[name] = latest + (kind == "reduction")
    return found


def slow_loop(step, texts):
    means = []
    for k, text in enumerate(texts):
        means.append(step(text, f"step {k}", 1 / (k + 1), means))
    return means


def steadies_the_list_alone(step, texts):
    means = []
    for k, text in enumerate(texts):
        means.append(step(text, f"step {k}", 1 / (k + 1), means[-1:]))
    return means


def steadies_the_label_alone(step, texts):
    means = []
    for k, text in enumerate(texts):
        means.append(step(text, "step 0" if k == 0 else "later", 1 / (k + 1), means))
    return means


def steadies_what_is_steady(step, texts):
    means = []
    for k, text in enumerate(texts):
        means.append(step(text, f"step {k}", torch.tensor(1 / (k + 1)), means))
    return means


def one_label_for_all(step, texts):
    means = []
    for k, text in enumerate(texts):
        means.append(step(text, "step 0", 1 / (k + 1), means[-1:]))
    return means


def a_label_that_is_never_the_first(step, texts):
    means = []
    for k, text in enumerate(texts):
        means.append(step(text, "step", 1 / (k + 1), means[-1:]))
    return means


def the_first_of_the_list(step, texts):
    means = []
    for k, text in enumerate(texts):
        means.append(step(text, "step 0" if k == 0 else "later", 1 / (k + 1), means[:1]))
    return means


def one_weight_for_all(step, texts):
    means = []
    for k, text in enumerate(texts):
        means.append(step(text, "step 0" if k == 0 else "later", 0.5, means[-1:]))
    return means


def a_weight_that_is_none(step, texts):
    means = []
    for k, text in enumerate(texts):
        means.append(step(text, "step 0" if k == 0 else "later", None, means[-1:]))
    return means


def as_a_tuple(step, texts):
    means = ()
    for k, text in enumerate(texts):
        label = "step 0" if k == 0 else "later"
        means += (step(text, label, 1 / (k + 1), means),)
    return means


def pads_to_one_length(step, texts):
    longest, means = max(map(len, texts), default=0), []
    for k, text in enumerate(texts):
        padded = torch.nn.functional.pad(text, (0, longest - len(text)))
        means.append(step(padded, "step 0" if k == 0 else "later", 1 / (k + 1), means[-1:]))
    return means


def without_the_step(step, texts):
    losses = [text.tanh().square().mean() for text in texts]
    return [sum(losses[: k + 1]) / (k + 1) for k in range(len(losses))]


def the_last_mean_only(step, texts):
    means = []
    for k, text in enumerate(texts):
        means.append(step(text, "step 0" if k == 0 else "later", 1 / (k + 1), means[-1:]))
    return means[-1:]


def each_text_with_a_step_of_its_own(step, texts):
    means = []
    for k, text in enumerate(texts):
        torch.compiler.reset()
        means.append(step(text, "step 0" if k == 0 else "later", 1 / (k + 1), means[-1:]))
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


def gradients_now_and_then(step, texts):
    means = []
    for k, text in enumerate(texts):
        given = text.clone().requires_grad_(k % 2 == 0)
        means.append(step(given, "step 0" if k == 0 else "later", 1 / (k + 1), means[-1:]))
    return means


WRONG = {
    "compile.one_graph": [
        as_it_was,
        keeps_the_if,
        keeps_the_number,
        keeps_the_mask,
        looks_on,
        hides_a_break,
        a_branch_returns_its_input,
        a_branch_changes_its_input,
        branches_of_two_dtypes,
        python_chooses_by_a_number,
        counts_in_a_list,
        exchanges_the_branches,
        decides_for_each_element,
        forgets_the_border,
        scales_by_each_row,
        overwrites_x,
        compiles_at_each_call,
        without_torch,
        raises_in_python,
    ],
    "compile.fused_speedup": [
        reads_twice_what_it_uses_twice,
        reads_all_inputs,
        one_step_of_dead_code,
        no_dead_code_in_eager_either,
        reads_what_it_made,
        writes_the_last_only,
        ratio_of_reads,
        a_saving,
        all_results_are_needed_to_be_read,
        forwards_from_the_results,
        upside_down,
        reads_each_tensor_of_the_program_once,
    ],
    "compile.loops": [
        a_loop_for_each_operator,
        one_loop,
        depth,
        the_reduction_itself_waits,
        a_new_loop_after_each_reduction,
        forgets_what_comes_later,
        counts_reductions,
        adds_one_to_the_latest,
        from_one,
        a_list_of_numbers,
        a_reduction_ends_the_loop_before_it,
        by_the_last_input_alone,
        the_latest_loop_that_is_open,
    ],
    "compile.steady_loop": [
        slow_loop,
        steadies_the_list_alone,
        steadies_the_label_alone,
        steadies_what_is_steady,
        one_label_for_all,
        a_label_that_is_never_the_first,
        the_first_of_the_list,
        one_weight_for_all,
        a_weight_that_is_none,
        as_a_tuple,
        pads_to_one_length,
        without_the_step,
        the_last_mean_only,
        each_text_with_a_step_of_its_own,
        gives_up_at_once,
        compiles_nothing,
        compiles_it_again,
        looks_for_the_step_within,
        gradients_now_and_then,
    ],
}
