"""Adam with its moments on the host is torch's Adam."""

import torch

from course_utils.chapters.trading_compute_for_memory import adam_from_host


def test_three_steps_with_moments_on_the_host_are_those_of_torchs_adam():
    weights, copies = ([w.requires_grad_()] for w in torch.ones(2, 30))
    adam, moments = torch.optim.Adam(copies), [[torch.zeros(30), torch.zeros(30)]]
    for t in range(1, 4):
        weights[0].grad = copies[0].grad = torch.randn(30)
        adam.step()
        adam_from_host(weights, moments, t)
    torch.testing.assert_close(weights[0], copies[0], rtol=1e-6, atol=1e-6)
