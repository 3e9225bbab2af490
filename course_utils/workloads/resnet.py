"""ResNet-18 (He et al. 2016), whole: torchvision's `resnet18` in operators, order and size."""

from torch import Tensor, nn
from torch.nn import functional as F

STAGES = ((64, 1), (128, 2), (256, 2), (512, 2))


class Block(nn.Module):
    """Two 3x3 convolutions beside a shortcut, which is 1x1 where the shape changes."""

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


class ResNet18(nn.Module):
    """Images (batch, 3, height, width) to logits (batch, classes): 11,689,512 parameters."""

    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.norm = nn.BatchNorm2d(64)
        blocks, before = [], 64
        for channels, stride in STAGES:
            blocks += [Block(before, channels, stride), Block(channels, channels, 1)]
            before = channels
        self.blocks = nn.ModuleList(blocks)
        self.head = nn.Linear(before, classes)

    def forward(self, images: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu_(self.norm(self.conv(images))), 3, 2, 1)
        for block in self.blocks:
            x = block(x)
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))
