"""ResNet-18 (He et al. 2016), with the operators, order and sizes of torchvision's `resnet18`."""

from torch import Tensor, nn
from torch.nn import functional as F


class Block(nn.Module):
    """Two 3x3 convolutions and a shortcut, a 1x1 convolution if the shape changes."""

    def __init__(self, before: int, channels: int, stride: int) -> None:
        super().__init__()
        self.conv_1 = nn.Conv2d(before, channels, 3, stride, 1, bias=False)
        self.norm_1 = nn.BatchNorm2d(channels)
        self.conv_2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.norm_2 = nn.BatchNorm2d(channels)
        self.shortcut = None
        if stride > 1:
            conv = nn.Conv2d(before, channels, 1, stride, bias=False)
            self.shortcut = nn.Sequential(conv, nn.BatchNorm2d(channels))

    def forward(self, x: Tensor) -> Tensor:
        out = F.relu_(self.norm_1(self.conv_1(x)))
        out = self.norm_2(self.conv_2(out))
        out += self.shortcut(x) if self.shortcut else x
        return F.relu_(out)


def stages() -> list[Block]:
    """Makes the eight blocks between the first layer (64 channels) and the head (512)."""
    blocks, before = [], 64
    for channels, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        blocks += [Block(before, channels, stride), Block(channels, channels, 1)]
        before = channels
    return blocks


class ResNet18(nn.Module):
    """Maps images (batch, 3, height, width) to logits (batch, classes): 11,689,512 parameters."""

    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.norm = nn.BatchNorm2d(64)
        self.blocks = nn.ModuleList(stages())
        self.head = nn.Linear(512, classes)

    def forward(self, images: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu_(self.norm(self.conv(images))), 3, 2, 1)
        for block in self.blocks:
            x = block(x)
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))
