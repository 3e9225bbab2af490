"""What FSDP has gathered at once, on two ranks."""

from course_utils import ranks


def test_a_unit_a_layer_has_one_whole_at_once_and_one_unit_all():
    def most():
        import torch
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        from course_utils.chapters.sharding.held import most_whole

        found = []
        for each in (True, False):
            layers = [torch.nn.Linear(8, 8, bias=False) for _ in range(4)]
            model = torch.nn.Sequential(torch.nn.Linear(8, 8, bias=False), *layers)
            mesh = init_device_mesh("cpu", (2,))
            for layer in layers if each else []:
                fully_shard(layer, mesh=mesh)
            fully_shard(model, mesh=mesh)
            x = torch.ones(2, 8, requires_grad=True)
            found.append(most_whole(model, lambda model=model, x=x: model(x).sum().backward()))
            found.append(len(model[1]._forward_hooks))
        return found

    ranks.start(2, device="cpu", limit_seconds=60)
    try:
        layer = 8 * 8 * 4
        for by_layer, hooks, one_unit, _ in ranks.run(most):
            assert by_layer in (2 * layer, 3 * layer)  # the root's own, a layer's, one prefetched
            assert one_unit == 5 * layer
            assert hooks == 1  # FSDP's own: none of those that looked is left
    finally:
        ranks.stop()
