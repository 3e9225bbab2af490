"""A program by itself: runs an exported model. Arguments: its file, a batch's, the result's."""

import sys

import torch

if __name__ == "__main__":
    exported, given, result = sys.argv[1:]
    torch.save(torch.export.load(exported).module()(torch.load(given)), result)
