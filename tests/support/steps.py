"""Training steps of small models, as `predict_bytes` takes them."""

from functools import partial

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from course_utils.workloads.gpt import GPT, GPTConfig
from course_utils.workloads.resnet import ResNet18
from course_utils.workloads.training_steps import Bert, BertConfig, TwoListAdam

SMALL_GPT = GPTConfig(50, 64, 3, 4, 64)
SMALL_BERT = BertConfig(100, 64, 3, 4, 64, 256)


def tokens_of(batch):
    return (torch.randint(50, (batch, 64)),), torch.randint(50, (batch * 64,))


def sentences_of(batch):
    tokens = torch.randint(100, (batch, 64))
    return (tokens, torch.ones_like(tokens)), torch.randint(2, (batch,))


def vectors_of(batch):
    return (torch.randn(batch, 64),), torch.randint(9, (batch,))


def images_of(batch):
    return (torch.randn(batch, 3, 64, 64),), torch.randint(9, (batch,))


MODELS = {
    "MLP": (lambda: nn.Sequential(nn.Linear(64, 99), nn.ReLU(), nn.Linear(99, 9)), vectors_of),
    "GPT": (lambda: GPT(SMALL_GPT), tokens_of),
    "BERT": (lambda: Bert(SMALL_BERT), sentences_of),
    "ResNet-18": (lambda: ResNet18(9), images_of),
}


def build_of(name, batch, accumulate=1, checkpointing=False, optimizer=torch.optim.Adam):
    def build(device):
        make, example = MODELS[name]
        model, batches = make(), [example(batch) for _ in range(accumulate)]
        for block in model.blocks if checkpointing else ():
            block.forward = partial(checkpoint, block.forward, use_reentrant=False)
        adam = optimizer(model.parameters(), **({} if optimizer is TwoListAdam else OF_CUDA))

        def step():
            adam.zero_grad()
            for inputs, targets in batches:
                F.cross_entropy(model(*inputs).flatten(0, -2), targets).backward()
            adam.step()

        return model, adam, step

    return build


OF_CUDA = {"foreach": True}


def failing(step):
    def build(device):
        model = nn.Linear(4, 4)
        return model, torch.optim.SGD(model.parameters()), lambda: step(model(torch.ones(2, 4)))

    return build
