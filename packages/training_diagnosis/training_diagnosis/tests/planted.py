"""A plain training script with one fault planted by name; what a diagnosis is held against.

`python planted.py FAULT` trains; `FAULT-fixed` trains with that fault mended as its reader would.
Nothing here knows that it is watched.
"""

import itertools
import sys
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

FAULT = sys.argv[1] if len(sys.argv) > 1 else "none"


def has(name):
    return name == FAULT


class Digits(Dataset):
    def __init__(self, length=160, width=64):
        self.x = np.random.default_rng(0).normal(size=(length, width)).astype(np.float32)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        if has("slow-loader"):
            time.sleep(0.002)
        return torch.from_numpy(self.x[i]), i % 10


class Tokens(Dataset):
    def __len__(self):
        return 320

    def __getitem__(self, i):
        length = 16 + i % 17
        ids = torch.zeros(128 if FAULT == "padding" else 32, dtype=torch.long)
        ids[:length] = torch.randint(1, 100, (length,))
        return ids, i % 10


class Classifier(nn.Module):
    def __init__(self, width=64, hidden=512, depth=3):
        super().__init__()
        if has("double"):
            torch.set_default_dtype(torch.float64)
        sizes = [width] + [hidden] * depth
        pairs = itertools.pairwise(sizes)
        self.body = nn.Sequential(
            *(layer for a, b in pairs for layer in (nn.Linear(a, b), nn.ReLU()))
        )
        self.head = nn.Linear(hidden, 10)

    def forward(self, x):
        return self.head(self.body(x.to(self.head.weight.dtype)))


class Reader(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.embed = nn.Embedding(100, width)
        self.layer = nn.TransformerEncoderLayer(width, 4, 256, dropout=0.0, batch_first=True)
        self.head = nn.Linear(width, 10)

    def forward(self, ids):
        return self.head(self.layer(self.embed(ids)).mean(1))


def batches_made_in_python(n):
    for i in range(n):
        rows = []
        for j in range(32):
            rows.append([float((i * 31 + j * k) ** 2 % 17) for k in range(2000)][:64])
        yield torch.tensor(rows), torch.arange(32) % 10


def arrays(loader):
    for x, y in loader:
        big = [np.zeros(3000, dtype=np.float32) for _ in x]
        x = torch.tensor(big)[:, :64] + x
        yield x, y


def make_loader():
    data = Tokens() if FAULT.startswith("padding") else Digits()
    workers = {"too-many-workers": 8, "workers-restart": 1}.get(FAULT, 0)
    return DataLoader(data, batch_size=32, num_workers=workers)


def main():
    torch.manual_seed(0)
    if has("threads"):
        torch.set_num_threads(16)
    if has("small-operators"):
        torch.set_num_threads(1)  # else two threads wait for each other on a busy machine
    if has("anomaly"):
        torch.autograd.set_detect_anomaly(True)
    model = Reader() if FAULT.startswith("padding") else Classifier()
    trained = list(model.parameters())
    if FAULT.startswith("unused-gradients"):
        model = nn.Sequential(Classifier(hidden=1024).body, nn.Linear(1024, 10))
        trained = list(model[1].parameters())
        if FAULT.endswith("fixed"):
            model[0].requires_grad_(False)
    if FAULT.startswith("recompiles"):
        compiled = torch.compile(model, dynamic=not has("recompiles"))
    optimizer = torch.optim.Adam(trained, lr=1e-3, fused=FAULT != "optimizer")
    loss_of = nn.CrossEntropyLoss()
    loader, held_out = make_loader(), DataLoader(Digits(96), batch_size=32)
    outputs, right, step, rubbish = (
        [],
        [],
        0,
        [{"a": [i]} for i in range(400_000)] if "garbage" in FAULT else [],
    )
    if FAULT == "garbage-fixed":
        import gc

        gc.collect()
        gc.freeze()
    for _epoch in range(100):
        feed = (
            batches_made_in_python(5)
            if has("outside")
            else arrays(loader)
            if has("list-of-arrays")
            else loader
        )
        for x, y in feed:
            step += 1
            if FAULT.startswith("recompiles"):
                x, y = x[: 2 + step % 30], y[: 2 + step % 30]
            if has("per-sample"):
                output = torch.cat([model(one[None]) for one in x])
            elif FAULT.startswith("recompiles"):
                output = compiled(x)
            else:
                output = model(x)
            loss = loss_of(output, y)
            if has("small-operators"):
                for number in output.flatten():
                    loss = loss + 1e-3 * number * number
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if has("unused-forward"):
                right.append((model(x).argmax(1) == y).sum().item())
            if has("checkpoint"):
                torch.save(
                    {"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "planted.pt"
                )
            if has("kept-tensors"):
                outputs.append(model.body(x))
            if "garbage" in FAULT:
                rubbish[step] = [{"b": [i]} for i in range(3000)]
            if "validation-graph" in FAULT and step % 5 == 0:
                model.eval()
                total = 0.0
                with torch.set_grad_enabled(has("validation-graph")):
                    for a, b in held_out:
                        total = total + loss_of(model(a), b)
                model.train()
    print("done", float(loss.detach()), len(outputs), len(right), len(rubbish))


if __name__ == "__main__":
    main()
