"""Programs as the tutorials have their readers write them, for two ranks; written anew for this.

Each is what somebody pastes into a cell, set-up and all: nothing of it knows of `%%ranks`. By name:
the source, what every rank must print (a rank that prints nothing isn't asked), its arguments.
"""

from typing import NamedTuple


class Program(NamedTuple):
    source: str
    prints: str
    argv: tuple[str, ...] = ()
    rank: int = 1  # the one that prints


SET_UP = """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.nn.parallel import DistributedDataParallel as DDP


def setup(rank, world_size):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = "12355"
    dist.init_process_group("gloo", rank=rank, world_size=world_size)


def cleanup():
    dist.destroy_process_group()


class ToyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net1 = nn.Linear(10, 10)
        self.relu = nn.ReLU()
        self.net2 = nn.Linear(10, 5)

    def forward(self, x):
        return self.net2(self.relu(self.net1(x)))

"""

DDP_BASIC = (
    SET_UP
    + """
def demo_basic(rank, world_size):
    setup(rank, world_size)
    model = DDP(ToyModel())
    optimizer = optim.SGD(model.parameters(), lr=0.001)
    optimizer.zero_grad()
    loss = nn.MSELoss()(model(torch.randn(20, 10)), torch.randn(20, 5))
    loss.backward()
    optimizer.step()
    weights = [torch.empty_like(model.module.net1.weight) for _ in range(world_size)]
    dist.all_gather(weights, model.module.net1.weight.detach())
    print("equal", torch.equal(*weights))
    cleanup()


if __name__ == "__main__":
    demo_basic(rank, world_size)
"""
)

DDP_SPAWN = (
    SET_UP
    + """
CHECKPOINT = f"{folder}/model.checkpoint"


def demo_checkpoint(rank, world_size):
    setup(rank, world_size)
    model = DDP(ToyModel())
    if rank == 0:
        torch.save(model.state_dict(), CHECKPOINT)
    dist.barrier()
    model.load_state_dict(torch.load(CHECKPOINT, map_location="cpu"))
    optimizer = optim.SGD(model.parameters(), lr=0.001)
    F.mse_loss(model(torch.randn(20, 10)), torch.randn(20, 5)).backward()
    optimizer.step()
    dist.barrier()
    if rank == 0:
        os.remove(CHECKPOINT)
    cleanup()


def run_demo(demo_fn, world_size):
    mp.spawn(demo_fn, args=(world_size,), nprocs=world_size, join=True)


if __name__ == "__main__" and rank == 1:
    run_demo(demo_checkpoint, 2)
    print("gone", not os.path.exists(CHECKPOINT))
"""
)

RING = '''
"""run.py:"""
#!/usr/bin/env python
import os
import torch
import torch.distributed as dist


def allreduce(send, recv):
    rank = dist.get_rank()
    size = dist.get_world_size()
    send_buff = send.clone()
    recv_buff = send.clone()
    accum = send.clone()

    left = ((rank - 1) + size) % size
    right = (rank + 1) % size

    for i in range(size - 1):
        if i % 2 == 0:
            send_req = dist.isend(send_buff, right)
            dist.recv(recv_buff, left)
            accum[:] += recv_buff[:]
        else:
            send_req = dist.isend(recv_buff, right)
            dist.recv(send_buff, left)
            accum[:] += send_buff[:]
        send_req.wait()
    recv[:] = accum[:]


def run(rank, size):
    t = torch.ones(2, 2) * (rank + 1)
    c = t.clone()
    allreduce(t, c)
    print(c.flatten().tolist())


def init_process(rank, size, fn, backend="gloo"):
    """ Initialize the distributed environment. """
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = "29500"
    dist.init_process_group(backend, rank=rank, world_size=size)
    fn(rank, size)


if __name__ == "__main__":
    init_process(rank, world_size, run)
'''

PARTITION = """
import os
from math import ceil
from random import Random
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.optim as optim


class Partition(object):
    def __init__(self, data, index):
        self.data = data
        self.index = index

    def __len__(self):
        return len(self.index)

    def __getitem__(self, index):
        return self.data[self.index[index]]


class DataPartitioner(object):
    def __init__(self, data, sizes=[0.7, 0.2, 0.1], seed=1234):
        self.data = data
        self.partitions = []
        indexes = list(range(len(data)))
        Random(seed).shuffle(indexes)
        for frac in sizes:
            part_len = int(frac * len(data))
            self.partitions.append(indexes[0:part_len])
            indexes = indexes[part_len:]

    def use(self, partition):
        return Partition(self.data, self.partitions[partition])


def average_gradients(model):
    size = float(dist.get_world_size())
    for param in model.parameters():
        dist.all_reduce(param.grad.data, op=dist.ReduceOp.SUM)
        param.grad.data /= size


def run(rank, size):
    torch.manual_seed(1234)
    drawn = torch.randn(64, 4)
    data = [(x, x.sum(0, keepdim=True)) for x in drawn]
    partition = DataPartitioner(data, [1.0 / size for _ in range(size)]).use(rank)
    train_set = torch.utils.data.DataLoader(partition, batch_size=int(16 / float(size)))
    model = nn.Linear(4, 1)
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
    num_batches = ceil(len(train_set.dataset) / float(8))
    for epoch in range(10):
        epoch_loss = 0.0
        for data, target in train_set:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(data), target)
            epoch_loss += loss.item()
            loss.backward()
            average_gradients(model)
            optimizer.step()
    print("learned", epoch_loss / num_batches < 0.01)


def init_process(rank, size, fn, backend="gloo"):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = "29500"
    dist.init_process_group(backend, rank=rank, world_size=size)
    fn(rank, size)


if __name__ == "__main__":
    size = 2
    processes = []
    mp.set_start_method("fork", force=True)
    for rank_ in range(size):
        p = mp.Process(target=init_process, args=(rank_, size, run))
        p.start()
        processes.append(p)
    for p in processes:
        p.join()
    print("learned", not any(p.exitcode for p in processes))
"""

FSDP2 = """
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Shard

torch.manual_seed(0)
mesh = init_device_mesh("cpu", (dist.get_world_size(),))
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
for layer in model:
    if isinstance(layer, nn.Linear):
        fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
optim = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(3):
    loss = model(torch.ones(2, 8)).sum()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optim.step()
    optim.zero_grad()
param = next(model.parameters())
print(isinstance(param, DTensor), param.placements == (Shard(0),), list(param.to_local().shape))
"""

TENSOR_PARALLEL = """
import os
import torch
import torch.nn as nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import (
    ColwiseParallel, RowwiseParallel, parallelize_module,
)


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1 = nn.Linear(8, 32)
        self.w2 = nn.Linear(32, 8)

    def forward(self, x):
        return self.w2(torch.relu(self.w1(x)))


torch.manual_seed(3)
tp_mesh = init_device_mesh("cpu", (int(os.environ["WORLD_SIZE"]),))
model, x = FeedForward(), torch.rand(4, 8)
alone = model(x)
model = parallelize_module(model, tp_mesh, {"w1": ColwiseParallel(), "w2": RowwiseParallel()})
print(torch.allclose(model(x), alone, atol=1e-6), list(model.w1.weight.to_local().shape))
"""

PIPELINE = """
import os
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

rank = int(os.environ["RANK"])
world_size = int(os.environ["WORLD_SIZE"])
device = torch.device("cpu")
dist.init_process_group(rank=rank, world_size=world_size)
torch.manual_seed(0)
whole = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
stage = PipelineStage(whole[rank], rank, world_size, device)
schedule = ScheduleGPipe(stage, n_microbatches=2, loss_fn=nn.functional.mse_loss)
x, y = torch.ones(4, 4), torch.zeros(4, 4)
if rank == 0:
    schedule.step(x)
else:
    losses = []
    output = schedule.step(target=y, losses=losses)
    print(torch.allclose(output, whole(x)), len(losses))
dist.destroy_process_group()
"""

JOIN = """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel as DDP

BACKEND = "nccl" if torch.cuda.device_count() > 1 else "gloo"
WORLD_SIZE = 2
NUM_INPUTS = 5


def worker(rank):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = "29500"
    dist.init_process_group(BACKEND, rank=rank, world_size=WORLD_SIZE)
    model = DDP(torch.nn.Linear(1, 1))
    inputs = [torch.tensor([1]).float() for _ in range(NUM_INPUTS + rank)]
    num_inputs = 0
    with Join([model]):
        for input in inputs:
            num_inputs += 1
            loss = model(input).sum()
            loss.backward()
    print(f"Rank {rank} has exhausted all {num_inputs} of its inputs!")


def main():
    worker(int(os.environ["RANK"]))


if __name__ == "__main__":
    main()
"""

HOOKS = (
    SET_UP
    + """
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks as default
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as powerSGD


def halved(state, bucket):
    seen.append(bucket.buffer().numel())
    return default.allreduce_hook(state, bucket).then(lambda fut: fut.value() / 2)


seen = []
setup(rank, world_size)
torch.manual_seed(5)
x, grads = torch.rand(4, 10), []
for hook in (None, default.fp16_compress_hook, halved):
    torch.manual_seed(5)
    ddp = DDP(ToyModel())
    if hook:
        ddp.register_comm_hook(None, hook)
    ddp(x).sum().backward()
    grads.append(ddp.module.net2.bias.grad.clone())
state = powerSGD.PowerSGDState(None, matrix_approximation_rank=1, start_powerSGD_iter=2)
ddp = DDP(ToyModel())
ddp.register_comm_hook(state, powerSGD.powerSGD_hook)
for _ in range(3):
    ddp(x).sum().backward()
close = torch.allclose(grads[0], grads[1], rtol=1e-2)
print(close, torch.allclose(grads[0], 2 * grads[2]), sum(seen))
cleanup()
"""
)

CHECKPOINT = (
    SET_UP
    + """
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.checkpoint.stateful import Stateful
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


class AppState(Stateful):
    def __init__(self, model, optimizer=None):
        self.model = model
        self.optimizer = optimizer

    def state_dict(self):
        model, optimizer = get_state_dict(self.model, self.optimizer)
        return {"model": model, "optim": optimizer}

    def load_state_dict(self, state_dict):
        set_state_dict(
            self.model, self.optimizer, model_state_dict=state_dict["model"],
            optim_state_dict=state_dict["optim"],
        )


def built(seed):
    torch.manual_seed(seed)
    model = fully_shard(ToyModel(), mesh=init_device_mesh("cpu", (2,)))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    model(torch.rand(8, 10)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    return model, optimizer


setup(rank, world_size)
saved, loaded = built(0), built(1)
dcp.save({"app": AppState(*saved)}, checkpoint_id=f"{folder}/checkpoint")
dcp.load({"app": AppState(*loaded)}, checkpoint_id=f"{folder}/checkpoint")
pairs = zip(saved[0].parameters(), loaded[0].parameters())
print("same", all(torch.equal(a.to_local(), b.to_local()) for a, b in pairs))
cleanup()
"""
)

D2L = """
import torch
from torch import nn
from torch.nn import functional as F

scale = 0.1
params = [torch.randn(4, 8) * scale, torch.zeros(8), torch.randn(8, 2) * scale, torch.zeros(2)]


def net(X, params):
    return F.relu(X @ params[0] + params[1]) @ params[2] + params[3]


loss = nn.CrossEntropyLoss(reduction="none")


def get_params(params, device):
    new_params = [p.to(device) for p in params]
    for p in new_params:
        p.requires_grad_()
    return new_params


def allreduce(data):
    for i in range(1, len(data)):
        data[0][:] += data[i].to(data[0].device)
    for i in range(1, len(data)):
        data[i][:] = data[0].to(data[i].device)


def split_batch(X, y, devices):
    assert X.shape[0] == y.shape[0]
    n = len(devices)
    return X.chunk(n), y.chunk(n)


def train_batch(X, y, device_params, devices, lr):
    X_shards, y_shards = split_batch(X, y, devices)
    ls = [loss(net(X_shard, W), y_shard).sum()
          for X_shard, y_shard, W in zip(X_shards, y_shards, device_params)]
    for l in ls:
        l.backward()
    with torch.no_grad():
        for i in range(len(device_params[0])):
            allreduce([device_params[c][i].grad for c in range(len(devices))])
    for param in device_params:
        for p in param:
            with torch.no_grad():
                p -= lr * p.grad / X.shape[0]
                p.grad.zero_()
    return sum(l.sum().item() for l in ls) / X.shape[0]


devices = [torch.device("cpu")] * 2
device_params = [get_params([p.clone() for p in params], d) for d in devices]
X = torch.randn(64, 4)
y = (X.sum(1) > 0).long()
found = [train_batch(X, y, device_params, devices, 0.5) for _ in range(40)]
print("learned", found[-1] < 0.5 * found[0], torch.equal(device_params[0][0], device_params[1][0]))
"""

ACCELERATE = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Accelerator:
    def __init__(self):
        if not dist.is_initialized():
            dist.init_process_group()
        self.num_processes, self.process_index = dist.get_world_size(), dist.get_rank()
        self.is_main_process = self.process_index == 0

    def prepare(self, model, optimizer, loader):
        sampler = DistributedSampler(loader.dataset, shuffle=False)
        again = DataLoader(loader.dataset, batch_size=loader.batch_size, sampler=sampler)
        return DistributedDataParallel(model), optimizer, again

    def backward(self, loss):
        loss.backward()

    def gather(self, tensor):
        found = [torch.empty_like(tensor) for _ in range(self.num_processes)]
        dist.all_gather(found, tensor)
        return torch.cat(found)

    def print(self, *words):
        if self.is_main_process:
            print(*words)


def training_function():
    accelerator = Accelerator()
    torch.manual_seed(42)
    data = TensorDataset(torch.arange(16.0).view(16, 1) / 16)
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(data, batch_size=4))
    for epoch in range(30):
        model.train()
        for (x,) in loader:
            loss = (model(x) - 3 * x).pow(2).mean()
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
    seen = accelerator.gather(torch.cat([x for (x,) in loader]))
    accelerator.print("seen", len(seen.unique()), "learned", loss.item() < 0.05)


def main():
    training_function()


if __name__ == "__main__":
    main()
"""

TORCHRUN = """
import os
import sys
import torch
import torch.distributed as dist


def env_dict():
    return {key: os.environ[key] for key in ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE",
                                             "LOCAL_RANK", "LOCAL_WORLD_SIZE")}


def main():
    env_dict()
    dist.init_process_group(backend="gloo", init_method="env://")
    rank = dist.get_rank()
    start = torch.tensor([rank])
    dist.broadcast(start, src=dist.get_world_size() - 1)
    group = dist.new_group(list(range(dist.get_world_size())), backend="gloo")
    dist.all_reduce(start, group=group)
    dist.barrier()
    print(f"[{os.environ['LOCAL_RANK']}] {start.item()}")
    dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
"""

ARGPARSE = """
import argparse
import os
import torch
import torch.distributed as dist


def parse():
    parser = argparse.ArgumentParser(description="Toy data-parallel training")
    parser.add_argument("--total_epochs", type=int, required=True)
    parser.add_argument("--backend", default="gloo", choices=["gloo", "nccl"])
    parser.add_argument("--batch-size", "-b", default=32, type=int)
    parser.add_argument("--local-rank", default=int(os.environ.get("LOCAL_RANK", 0)), type=int)
    return parser.parse_args()


class Trainer:
    def __init__(self, args):
        self.args = args
        self.model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(20, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)

    def _run_epoch(self, epoch):
        self.optimizer.zero_grad()
        torch.nn.functional.mse_loss(
            self.model(torch.rand(self.args.batch_size, 20)), torch.rand(self.args.batch_size, 1)
        ).backward()
        self.optimizer.step()

    def train(self):
        for epoch in range(self.args.total_epochs):
            self._run_epoch(epoch)
        print(f"[rank{dist.get_rank()}] Epoch {epoch} | Batchsize: {self.args.batch_size}")


if __name__ == "__main__":
    args = parse()
    dist.init_process_group(backend=args.backend)
    Trainer(args).train()
    dist.destroy_process_group()
"""

PROGRAMS = {
    "DDP tutorial": Program(DDP_BASIC, "equal True"),
    "DDP tutorial by mp.spawn, with a checkpoint": Program(DDP_SPAWN, "gone True"),
    "applications tutorial, ring": Program(RING, "[3.0, 3.0, 3.0, 3.0]"),
    "applications tutorial, partitions by mp.Process": Program(PARTITION, "learned True"),
    "FSDP2": Program(FSDP2, "True True [8, 8]"),
    "tensor parallel": Program(TENSOR_PARALLEL, "True [16, 8]"),
    "pipelining": Program(PIPELINE, "True 2"),
    "Join": Program(JOIN, "Rank 1 has exhausted all 6 of its inputs!"),
    "comm hooks": Program(HOOKS, "True True 165"),
    "distributed checkpoint": Program(CHECKPOINT, "same True"),
    "d2l, several devices": Program(D2L, "learned True True"),
    "a loop as Accelerate's": Program(ACCELERATE, "seen 16 learned True", rank=0),
    "a script of torchrun": Program(TORCHRUN, "[1] 2"),
    "a script with arguments": Program(
        ARGPARSE, "[rank1] Epoch 2 | Batchsize: 8", ("--total_epochs", "3", "-b", "8")
    ),
}
