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


def by_shape(fn, calls):
    seen, found = set(), []
    for number, arguments in enumerate(calls):
        key = tuple(getattr(one, "shape", None) for one in arguments)
        if key not in seen:
            found.append(number)
        seen.add(key)
    return found


def by_whatever_differs(fn, calls):
    seen, found = set(), []
    for number, arguments in enumerate(calls):
        key = tuple(
            (one.shape, one.dtype, one.requires_grad) if isinstance(one, torch.Tensor) else one
            for one in arguments
        )
        if key not in seen:
            found.append(number)
        seen.add(key)
    return found


def once_for_each_graph(fn, calls):
    found = []

    def note(graph, inputs):
        found.append(number)
        return graph.forward

    compiled = torch.compile(fn, backend=note)
    for number, arguments in enumerate(calls):  # noqa: B007
        compiled(*arguments)
    return found


def when_it_runs(fn, calls):
    found = set()

    def note(graph, inputs):
        def run(*given):
            found.add(number)
            return graph.forward(*given)

        return run

    compiled = torch.compile(fn, backend=note)
    for number, arguments in enumerate(calls):  # noqa: B007
        compiled(*arguments)
    return sorted(found)


def _compiling(fn, calls, **options):
    graphs, found = [], []

    def note(graph, inputs):
        graphs.append(graph)
        return graph.forward

    compiled = torch.compile(fn, backend=note, **options)
    for number, arguments in enumerate(calls):
        before = len(graphs)
        compiled(*arguments)
        if len(graphs) > before:
            found.append(number)
    return found


def with_one_graph_only(fn, calls):
    return _compiling(fn, calls, fullgraph=True)


def with_sizes_that_vary(fn, calls):
    return _compiling(fn, calls, dynamic=True)


def with_sizes_that_never_vary(fn, calls):
    return _compiling(fn, calls, dynamic=False)


def counted_from_one(fn, calls):
    return [number + 1 for number in _compiling(fn, calls)]


def how_many(fn, calls):
    return len(_compiling(fn, calls))


def without_the_first(fn, calls):
    return _compiling(fn, calls)[1:]


def a_backend_that_returns_nothing(fn, calls):
    compiled = torch.compile(fn, backend=lambda graph, inputs: None)
    return [number for number, arguments in enumerate(calls) if compiled(*arguments) is None]


WRONG = {
    "compile.one_graph": [
        as_it_was,
        keeps_the_if,
        keeps_the_number,
        keeps_the_mask,
        looks_on,
        hides_a_break,
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
    ],
    "compile.compiling_calls": [
        by_shape,
        by_whatever_differs,
        once_for_each_graph,
        when_it_runs,
        with_one_graph_only,
        with_sizes_that_vary,
        with_sizes_that_never_vary,
        counted_from_one,
        how_many,
        without_the_first,
        a_backend_that_returns_nothing,
    ],
}
