"""A program as a tutorial has its readers write it runs in a cell, set-up and all.

It is written anew for this; nothing in it knows of `%%ranks`. Others are in `test_started.py` (mp),
`test_opening.py` (set-up by hand) and `programs.py` (FSDP2, pipelines, checkpoints).
"""

import notebook_ranks as ranks

TRAINING = """
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


def test_a_script_of_torchrun_runs_as_it_was_written_and_the_next_cell_has_its_group(said):
    ranks.start(2)
    told = said(TRAINING, argv=["--total_epochs", "3", "-b", "8"])
    assert "[rank 1] [rank1] Epoch 2 | Batchsize: 8\n" in told
    assert said("x = torch.ones(1)\ndist.all_reduce(x)\nx.item()") == "[rank 0] 2.0\n[rank 1] 2.0\n"
