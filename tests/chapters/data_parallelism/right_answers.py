"""Right answers to chapter 12's exercises, in other ways than the worked solutions."""

import torch

from tests.support.patches import changed


def other_tensors_in_the_list(gradients, count, net):
    total = torch.tensor(count)
    net.all_reduce(total)
    sums = [gradient.double() * count for gradient in gradients]
    for one in sums:
        net.all_reduce(one)
    gradients[:] = [one / total for one in sums]


def weighs_first(gradients, count, net):
    total = torch.tensor(count)
    net.all_reduce(total)
    for gradient in gradients:
        gradient.mul_(count / total.item())
        net.all_reduce(gradient)


def count_and_gradients_in_one_message(gradients, count, net):
    x = torch.cat([torch.tensor([float(count)]), *(count * g.flatten() for g in gradients)])
    net.all_reduce(x)
    parts = (x[1:] / x[0]).split([gradient.numel() for gradient in gradients])
    for gradient, part in zip(gradients, parts, strict=True):
        gradient.copy_(part.view_as(gradient))


class Part:
    def __init__(self, parameters):
        self.parameters, self.missing = parameters, len(parameters)
        self.flat = torch.empty(sum(p.numel() for p in parameters))
        parts = self.flat.split([p.numel() for p in parameters])
        self.views = {p: part.view_as(p) for p, part in zip(parameters, parts, strict=True)}

    def take(self, p):
        p.grad = self.views[p].copy_(p.grad)
        self.missing -= 1


def gradients_that_are_views(model, limit, net):
    groups = [[]]
    for p in [*model.parameters()][::-1]:
        net.broadcast(p.data, 0)
        if groups[-1] and sum(q.nbytes for q in groups[-1]) + p.nbytes > limit:
            groups.append([])
        groups[-1].append(p)
    parts = [Part(group) for group in groups]
    waiting = [*parts]

    def ready(p):
        next(part for part in parts if p in part.views).take(p)
        while waiting and not waiting[0].missing:
            part = waiting.pop(0)
            net.all_reduce(part.flat)
            part.flat /= net.n
            part.missing = len(part.parameters)
        if not waiting:
            waiting.extend(parts)

    for p in model.parameters():
        p.register_post_accumulate_grad_hook(ready)


RIGHT = {
    "data_parallelism.average": [
        other_tensors_in_the_list,
        weighs_first,
        count_and_gradients_in_one_message,
    ],
    "data_parallelism.ddp": [
        gradients_that_are_views,
        *changed(
            "data_parallelism.ddp",
            divides_before_it_sends={
                "flatten() for p in bucket])": "flatten() for p in bucket]) / net.n",
                "(flat / net.n)": "flat",
            },
            new_gradients={"p.grad.copy_(part.view_as(p))": "p.grad = part.view_as(p).clone()"},
        ),
    ],
}
