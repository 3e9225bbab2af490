"""Training programs that get stuck, as people write them: work that only some ranks do."""

from tests.ranks.deadlocks import STUCK
from tests.ranks.slow_training import MODEL

NETS = MODEL + "net = Slow(int)\nbatch = torch.ones(3, 4)\n"

TRAINING = {
    "backward on one rank only": (
        NETS + "model = DDP(net)\nloss = model(batch).sum()\nif rank == 0:\n    loss.backward()",
        "2", STUCK,
    ),
    "more batches on one rank": (NETS + "train(DDP(net), 2 + rank)", "2", STUCK),
    "a model that one rank doesn't wrap": (NETS + "if rank == 0:\n    DDP(net)", "2", STUCK),
    "a layer that one rank leaves out": (
        NETS + "class Two(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)\n"
        "    def forward(self, x):\n        return self.a(x) if rank else self.a(x) + self.b(x)\n"
        "model = DDP(Two(), bucket_cap_mb=1e-5)\nmodel(batch).sum().backward()\ndist.barrier()",
        "2", "✗",
    ),
    "gradients clipped on one rank": (
        NETS + "train(net, 1)\nfor p in net.parameters():\n    if rank == 0:\n"
        "        norm = p.grad.norm()\n        dist.all_reduce(norm)\n"
        "    dist.broadcast(p.grad, 0)",
        "2", STUCK,
    ),
    "a hook that talks on one rank": (
        NETS + "net.linear.weight.register_hook(\n"
        "    lambda grad: dist.all_reduce(grad) if rank == 0 else None)\ntrain(net, 1)", "2", STUCK,
    ),
    "a checkpoint by rank 0 alone": (
        "import torch.distributed.checkpoint as dcp\nif rank == 0:\n"
        "    dcp.save({'x': x}, checkpoint_id=tempfile.mkdtemp())", "2", STUCK,
    ),
    "an optimizer's state asked for by one": (
        NETS + "from torch.distributed.optim import ZeroRedundancyOptimizer\n"
        "optim = ZeroRedundancyOptimizer(net.parameters(), torch.optim.Adam, lr=0.1)\n"
        "train(net, 1)\noptim.step()\nif rank == 0:\n    optim.consolidate_state_dict()",
        "2", STUCK,
    ),
    "a sharded tensor printed by rank 0": (
        "from torch.distributed.tensor import distribute_tensor, Shard, init_device_mesh\n"
        "mesh = init_device_mesh('cpu', (2,))\n"
        "whole = distribute_tensor(torch.ones(4, 4), mesh, [Shard(0)])\n"
        "if rank == 0:\n    print(whole.full_tensor())", "2", STUCK,
    ),
    "FSDP2 evaluated on one rank": (
        NETS + "from torch.distributed.fsdp import fully_shard\nfully_shard(net)\n"
        "if rank == 0:\n    net(batch)", "2", STUCK,
    ),
    "layers in parallel on one rank": (
        "from torch.distributed.tensor.parallel import *\n"
        "from torch.distributed.device_mesh import init_device_mesh\n"
        "mesh = init_device_mesh('cpu', (2,))\n"
        "net = parallelize_module(torch.nn.Sequential(torch.nn.Linear(4, 4)), mesh,\n"
        "    {'0': ColwiseParallel(output_layouts=torch.distributed.tensor.Replicate())})\n"
        "if rank == 0:\n    net(torch.ones(2, 4)).sum().item()", "2", STUCK,
    ),
    "a pipeline whose last stage doesn't step": (
        NETS + "from torch.distributed.pipelining import PipelineStage, ScheduleGPipe\n"
        "stage = PipelineStage(net, rank, 2, device)\nschedule = ScheduleGPipe(stage, 2)\n"
        "if rank == 0:\n    schedule.step(torch.ones(4, 4))\n"
        "dist.barrier() if rank else None", "2", STUCK,
    ),
    "weights averaged at different steps": (
        NETS + "for step in range(5):\n    if step % (2 + rank) == 0:\n"
        "        for p in net.parameters():\n            dist.all_reduce(p.data)", "2", STUCK,
    ),
    "a join that one leaves out": (
        NETS + "from torch.distributed.algorithms.join import Join\nmodel = DDP(net)\n"
        "if rank == 0:\n    with Join([model]):\n        train(model, 2)\nelse:\n"
        "    train(model, 1)",
        "2", "tensors of different sizes",
    ),
}  # fmt: skip
