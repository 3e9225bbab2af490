"""What the page says of torch's clipping and meshes, and of models begun on the meta device."""

import pytest

import notebook_ranks as ranks


def test_clipping_refuses_parameters_on_different_meshes():
    def clip():
        from torch import nn
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        grid = init_device_mesh("cpu", (2, 1), mesh_dim_names=("replicate", "shard"))
        model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
        fully_shard(model[0], mesh=grid)
        fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
        model(torch.ones(2, 4)).sum().backward()  # noqa: F821
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # noqa: F821

    ranks.start(2, device="cpu", limit_seconds=120)
    try:
        with pytest.raises(ranks.RankError, match="must have the same mesh"):
            ranks.run(clip)
    finally:
        ranks.stop()


def test_a_sharded_meta_model_gets_memory_for_its_shards_only():
    def begin():
        from torch import nn
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        with torch.device("meta"):  # noqa: F821
            model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
        fully_shard(model[0], mesh=(mesh := init_device_mesh("cpu", (2,))))
        fully_shard(model, mesh=mesh)
        begun = {p.device.type for p in model.parameters()}
        model.to_empty(device="cpu")
        for layer in model:
            nn.init.ones_(layer.weight)
            nn.init.zeros_(layer.bias)
        shapes = [list(p.to_local().shape) for p in model.parameters()]
        return begun, shapes, model(torch.ones(2, 4)).unique().tolist()  # noqa: F821

    ranks.start(2, device="cpu", limit_seconds=120)
    try:
        found = ranks.run(begin)
    finally:
        ranks.stop()
    assert found == [({"meta"}, [[2, 4], [2], [2, 4], [2]], [16.0])] * 2
