"""Wrong answers to chapter 10's exercises, each as a student might write it."""

import itertools

import torch
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint


def keeps_everything(layers, x, grad, every):
    inputs = [x]
    for layer in layers[:-1]:
        inputs.append(layer.forward(inputs[-1]))
    for layer in reversed(layers):
        grad = layer.backward(inputs.pop(), grad)
    return grad


def first_run(layers, x, every):
    kept = []
    for place, layer in enumerate(layers):
        if place % every == 0:
            kept.append(x)
        x = layer.forward(x)
    return kept


def run_again(segment, x):
    return list(itertools.accumulate(segment[:-1], lambda x, layer: layer.forward(x), initial=x))


def holds_two_segments(layers, x, grad, every):
    kept = first_run(layers, x, every)
    for place in reversed(range(len(kept))):
        segment = layers[place * every :][:every]
        inputs = run_again(segment, kept[place])
        for layer, x in zip(reversed(segment), reversed(inputs), strict=True):
            grad = layer.backward(x, grad)
    return grad


def runs_the_last_again(layers, x, grad, every):
    kept = first_run(layers, x, every)
    while kept:
        segment = layers[(len(kept) - 1) * every :][:every]
        inputs = [kept.pop()]
        for layer in segment:
            inputs.append(layer.forward(inputs[-1]))
        inputs.pop()
        for layer in reversed(segment):
            grad = layer.backward(inputs.pop(), grad)
    return grad


def from_the_kept_one_for_each_layer(layers, x, grad, every):
    kept = first_run(layers, x, every)
    for place in reversed(range(len(layers))):
        x = kept[place // every]
        for layer in layers[place // every * every : place]:
            x = layer.forward(x)
        grad = layers[place].backward(x, grad)
    return grad


def from_the_first_for_each_layer(layers, x, grad, every):
    for place in reversed(range(len(layers))):
        into = x
        for layer in layers[:place]:
            into = layer.forward(into)
        grad = layers[place].backward(into, grad)
    return grad


def forgets_the_short_segment(layers, x, grad, every):
    kept = first_run(layers, x, every)
    for place in reversed(range(len(layers) // every)):
        segment = layers[place * every : (place + 1) * every]
        inputs = run_again(segment, kept.pop(place))
        for layer in reversed(segment):
            grad = layer.backward(inputs.pop(), grad)
    return grad


def a_root_of_its_own(layers, x, grad, every):
    return holds_one_segment(layers, x, grad, max(1, round(len(layers) ** 0.5)))


def holds_one_segment(layers, x, grad, every):
    kept = first_run(layers, x, every)
    while kept:
        segment = layers[(len(kept) - 1) * every :][:every]
        inputs = run_again(segment, kept.pop())
        for layer in reversed(segment):
            grad = layer.backward(inputs.pop(), grad)
    return grad


def hands_back_outputs(layers, x, grad, every):
    kept = first_run(layers, x, every)
    while kept:
        segment = layers[(len(kept) - 1) * every :][:every]
        x = kept.pop()
        outputs = [x := layer.forward(x) for layer in segment]
        for layer in reversed(segment):
            grad = layer.backward(outputs.pop(), grad)
    return grad


def from_first_to_last(layers, x, grad, every):
    for layer in layers:
        grad, x = layer.backward(x, grad), layer.forward(x)
    return grad


def in_an_order(operators, budget, key):
    kept = set()
    for name in sorted(operators, key=key, reverse=True):
        if operators[name][0] <= budget:
            kept.add(name)
            budget -= operators[name][0]
    return kept


def the_most_flops_a_mib_first(operators, budget):
    return in_an_order(operators, budget, lambda name: operators[name][1] / operators[name][0])


def the_most_flops_first(operators, budget):
    return in_an_order(operators, budget, lambda name: operators[name][1])


def the_smallest_first(operators, budget):
    return in_an_order(operators, budget, lambda name: -operators[name][0])


def stops_at_the_first_that_does_not_fit(operators, budget):
    kept = set()
    for name in sorted(operators, key=lambda name: -operators[name][1] / operators[name][0]):
        budget -= operators[name][0]
        if budget < 0:
            break
        kept.add(name)
    return kept


def the_better_of_two_orders(operators, budget):
    orders = the_most_flops_a_mib_first, the_most_flops_first
    choices = [order(operators, budget) for order in orders]
    return max(choices, key=lambda kept: sum(operators[name][1] for name in kept))


def keeps_nothing(operators, budget):
    return set()


def keeps_all(operators, budget):
    return set(operators)


def subsets(operators):
    for count in range(len(operators) + 1):
        yield from itertools.combinations(operators, count)


def total(operators, names, which):
    return sum(operators[name][which] for name in names)


def under_the_budget(operators, budget):
    fitting = [names for names in subsets(operators) if total(operators, names, 0) < budget]
    return max(fitting, key=lambda names: total(operators, names, 1), default=())


def the_most_bytes(operators, budget):
    fitting = [names for names in subsets(operators) if total(operators, names, 0) <= budget]
    return max(fitting, key=lambda names: total(operators, names, 0))


def what_runs_again(operators, budget):
    fitting = [names for names in subsets(operators) if total(operators, names, 0) <= budget]
    return set(operators) - set(max(fitting, key=lambda names: total(operators, names, 1)))


def keeps_one_twice(operators, budget):
    table = [(0, ())] * (budget + 1)
    for name, (size, flops) in operators.items():
        for room in range(size, budget + 1):
            saved, kept = table[room - size]
            table[room] = max(table[room], (saved + flops, (*kept, name)))
    return set(table[budget][1])


def the_plain_loss(hidden, weight, targets, chunk):
    return F.cross_entropy(hidden @ weight.T, targets)


def sums(hidden, weight, targets, chunk):
    for rows, wanted in zip(hidden.split(chunk), targets.split(chunk), strict=True):
        yield F.cross_entropy(rows @ weight.T, wanted, reduction="sum")


def keeps_each_graph(hidden, weight, targets, chunk):
    return sum(sums(hidden, weight, targets, chunk)) / (targets != -100).sum()


def checkpoints_the_whole(hidden, weight, targets, chunk):
    return checkpoint(the_plain_loss, hidden, weight, targets, chunk, use_reentrant=False)


def one_checkpoint_for_all_chunks(hidden, weight, targets, chunk):
    return checkpoint(keeps_each_graph, hidden, weight, targets, chunk, use_reentrant=False)


def part(rows, weight, wanted):
    return F.cross_entropy(rows @ weight.T, wanted, reduction="sum")


def parts(hidden, weight, targets, chunk):
    for rows, wanted in zip(hidden.split(chunk), targets.split(chunk), strict=True):
        yield checkpoint(part, rows, weight, wanted, use_reentrant=False)


def counts_the_ignored(hidden, weight, targets, chunk):
    return sum(parts(hidden, weight, targets, chunk)) / len(targets)


def mean_of_means(hidden, weight, targets, chunk):
    chunks = list(zip(hidden.split(chunk), targets.split(chunk), strict=True))
    means = [checkpoint(the_plain_loss, h, weight, t, 0, use_reentrant=False) for h, t in chunks]
    return sum(means) / len(means)


def mean_of_means_without_nan(hidden, weight, targets, chunk):
    chunks = list(zip(hidden.split(chunk), targets.split(chunk), strict=True))
    counted = [(h, t) for h, t in chunks if (t != -100).any()]
    means = [checkpoint(the_plain_loss, h, weight, t, 0, use_reentrant=False) for h, t in counted]
    return sum(means) / len(means)


def forgets_the_rest(hidden, weight, targets, chunk):
    whole = max(len(hidden) // chunk, 1) * chunk
    found = sum(parts(hidden[:whole], weight, targets[:whole], chunk))
    return found / (targets[:whole] != -100).sum()


def without_the_weight(hidden, weight, targets, chunk):
    found = sum(parts(hidden, weight.detach(), targets, chunk))
    return found / (targets != -100).sum()


class IgnoresWhatComesIn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, hidden, weight, targets, chunk):
        copies = [one.detach().requires_grad_() for one in (hidden, weight)]
        loss, n = 0, (targets != -100).sum()
        with torch.enable_grad():
            for place in range(0, len(targets), chunk):
                rows, wanted = copies[0][place : place + chunk], targets[place : place + chunk]
                share = part(rows, copies[1], wanted) / n
                share.backward()
                loss += share.detach()
        ctx.save_for_backward(*[one.grad for one in copies])
        return loss

    @staticmethod
    def backward(ctx, grad):
        return *ctx.saved_tensors, None, None


def ignores_what_comes_in(hidden, weight, targets, chunk):
    return IgnoresWhatComesIn.apply(hidden, weight, targets, chunk)


def checkpoints_each_chunk(hidden, weight, targets, chunk):
    return sum(parts(hidden, weight, targets, chunk)) / (targets != -100).sum()


class InTheBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, hidden, weight, targets, chunk):
        ctx.save_for_backward(hidden, weight, targets)
        ctx.chunk = chunk
        pairs = zip(hidden.split(chunk), targets.split(chunk), strict=True)
        return sum(part(rows, weight, wanted) for rows, wanted in pairs) / (targets != -100).sum()

    @staticmethod
    def backward(ctx, grad):
        hidden, weight, targets = ctx.saved_tensors
        grad = grad / (targets != -100).sum()
        for_hidden, for_weight = [], torch.zeros_like(weight)
        for rows, wanted in zip(hidden.split(ctx.chunk), targets.split(ctx.chunk), strict=True):
            probability = (rows @ weight.T).softmax(1)
            counts = (wanted != -100).nonzero().flatten()
            probability[counts, wanted[counts]] -= 1
            probability[wanted == -100] = 0
            for_hidden.append(grad * probability @ weight)
            for_weight += grad * probability.T @ rows
        return torch.cat(for_hidden), for_weight, None, None


def again_in_the_backward(hidden, weight, targets, chunk):
    return InTheBackward.apply(hidden, weight, targets, chunk)


def by_shares(hidden, weight, targets, chunk):
    def share(rows, weight, wanted):
        taken = wanted != -100
        logits = rows[taken] @ weight.T
        return (logits.logsumexp(1) - logits.gather(1, wanted[taken, None])[:, 0]).sum()

    loss = 0
    for rows, wanted in zip(hidden.split(chunk), targets.split(chunk), strict=True):
        loss = loss + checkpoint(share, rows, weight, wanted, use_reentrant=True)
    return loss / (targets != -100).sum()


def goes_backward_by_itself(hidden, weight, targets, chunk):
    loss, n = 0, (targets != -100).sum()
    for rows, wanted in zip(hidden.split(chunk), targets.split(chunk), strict=True):
        share = part(rows, weight, wanted) / n
        share.backward()
        loss += share.detach()
    return loss.requires_grad_()


def broken(model, optimizer, micro_batches):
    optimizer.zero_grad()
    total = 0
    for tokens, targets in micro_batches:
        logits = model(tokens).flatten(0, 1)
        total += F.cross_entropy(logits, targets.flatten())
    loss = total / 4
    loss.backward()
    optimizer.step()
    return loss.item()


def counted(micro_batches):
    return sum((targets != -100).sum() for _, targets in micro_batches)


def summed(model, tokens, targets):
    return F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten(), reduction="sum")


def divides_by_their_number(model, optimizer, micro_batches):
    optimizer.zero_grad()
    losses = []
    for tokens, targets in micro_batches:
        loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
        (loss / len(micro_batches)).backward()
        losses.append(loss.item())
    optimizer.step()
    return sum(losses) / len(losses)


def accumulated(model, micro_batches, n):
    loss = 0.0
    for tokens, targets in micro_batches:
        share = summed(model, tokens, targets) / n
        share.backward()
        loss += share.item()
    return loss


def counts_the_ignored_tokens(model, optimizer, micro_batches):
    optimizer.zero_grad()
    loss = accumulated(model, micro_batches, sum(t.numel() for _, t in micro_batches))
    optimizer.step()
    return loss


def one_backward_at_the_end(model, optimizer, micro_batches):
    optimizer.zero_grad()
    loss = sum(summed(model, *one) for one in micro_batches) / counted(micro_batches)
    loss.backward()
    optimizer.step()
    return loss.item()


def as_one_batch(model, optimizer, micro_batches):
    longest = max(tokens.shape[1] for tokens, _ in micro_batches)
    tokens = torch.cat([F.pad(x, (0, longest - x.shape[1])) for x, _ in micro_batches])
    targets = torch.cat([F.pad(y, (0, longest - y.shape[1]), value=-100) for _, y in micro_batches])
    optimizer.zero_grad()
    loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
    loss.backward()
    optimizer.step()
    return loss.item()


def keeps_the_graphs_for_the_log(model, optimizer, micro_batches):
    optimizer.zero_grad()
    total, n = 0, counted(micro_batches)
    for one in micro_batches:
        share = summed(model, *one) / n
        share.backward(retain_graph=True)
        total += share
    optimizer.step()
    return total.item()


def gradients_from_before(model, optimizer, micro_batches):
    loss = accumulated(model, micro_batches, counted(micro_batches))
    optimizer.step()
    optimizer.zero_grad()
    return loss


def only_the_last_gradient(model, optimizer, micro_batches):
    loss, n = 0.0, counted(micro_batches)
    for one in micro_batches:
        optimizer.zero_grad()
        loss += accumulated(model, [one], n)
    optimizer.step()
    return loss


def steps_each_time(model, optimizer, micro_batches):
    loss, n = 0.0, counted(micro_batches)
    for one in micro_batches:
        optimizer.zero_grad()
        loss += accumulated(model, [one], n)
        optimizer.step()
    return loss


def never_steps(model, optimizer, micro_batches):
    optimizer.zero_grad()
    return accumulated(model, micro_batches, counted(micro_batches))


def returns_the_last(model, optimizer, micro_batches):
    optimizer.zero_grad()
    n = counted(micro_batches)
    for one in micro_batches:
        loss = accumulated(model, [one], n)
    optimizer.step()
    return loss


def returns_a_graph(model, optimizer, micro_batches):
    optimizer.zero_grad()
    total, n = 0, counted(micro_batches)
    for one in micro_batches:
        share = summed(model, *one) / n
        share.backward()
        total += share
    optimizer.step()
    return total


WRONG = {
    "trade.chain": [
        keeps_everything,
        holds_two_segments,
        runs_the_last_again,
        from_the_kept_one_for_each_layer,
        from_the_first_for_each_layer,
        forgets_the_short_segment,
        a_root_of_its_own,
        hands_back_outputs,
        from_first_to_last,
    ],
    "trade.policy": [
        the_most_flops_a_mib_first,
        the_most_flops_first,
        the_smallest_first,
        stops_at_the_first_that_does_not_fit,
        the_better_of_two_orders,
        keeps_nothing,
        keeps_all,
        under_the_budget,
        the_most_bytes,
        what_runs_again,
        keeps_one_twice,
    ],
    "trade.chunks": [
        checkpoints_each_chunk,
        again_in_the_backward,
        by_shares,
        the_plain_loss,
        keeps_each_graph,
        checkpoints_the_whole,
        one_checkpoint_for_all_chunks,
        counts_the_ignored,
        mean_of_means,
        mean_of_means_without_nan,
        forgets_the_rest,
        without_the_weight,
        ignores_what_comes_in,
        goes_backward_by_itself,
    ],
    "trade.accumulate": [
        broken,
        divides_by_their_number,
        counts_the_ignored_tokens,
        one_backward_at_the_end,
        as_one_batch,
        keeps_the_graphs_for_the_log,
        gradients_from_before,
        only_the_last_gradient,
        steps_each_time,
        never_steps,
        returns_the_last,
        returns_a_graph,
    ],
}
