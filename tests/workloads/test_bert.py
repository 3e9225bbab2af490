"""BERT and ResNet-18 have as many parameters as was published."""

import torch

from course_utils.workloads.bert import Bert, BertConfig
from course_utils.workloads.resnet import ResNet18


def test_bert_large_has_the_published_number_of_parameters_and_resnet18_torchvisions():
    with torch.device("meta"):
        assert sum(p.numel() for p in Bert(BertConfig.large()).parameters()) == 335_143_938
        assert sum(p.numel() for p in ResNet18().parameters()) == 11_689_512
