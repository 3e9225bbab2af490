"""`find_blockers`: it finds what waits, names the line, and leaves the rest alone."""

import pytest
import torch

from course_utils.chapters.async_execution.blockers import find_blockers

X = torch.randn(100)
COUNTS = torch.tensor([1, 2, 3])
SQUARE = 2 * torch.eye(3)
MODEL = torch.nn.Linear(4, 2)


@pytest.mark.parametrize(
    "call",
    [
        lambda: X[0].item(),
        lambda: X.tolist(),
        lambda: X.cpu(),
        lambda: X.to("cpu"),
        lambda: X.numpy(),
        lambda: bool(X[0] > 0),
        lambda: int(X[0]),
        lambda: str(X),
        lambda: X.nonzero(),
        lambda: X[X > 0],
        lambda: torch.masked_select(X, X > 0),
        lambda: torch.equal(X, X),
        lambda: X.unique(),
        lambda: torch.repeat_interleave(COUNTS),
        lambda: torch.bincount(COUNTS, minlength=10),
        lambda: torch.linalg.cholesky(SQUARE),
        lambda: X.clone().__setitem__(X > 0, X[0]),
        lambda: torch.tensor([X[0], X[1]]),
        lambda: torch.as_tensor([[X[0], 1.0]]),
        lambda: torch.cuda.synchronize(),
    ],
)
def test_a_call_that_needs_values_is_one_wait(call):
    assert len(find_blockers(call)) == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda: X + 1,
        lambda: X[0],
        lambda: torch.where(X > 0, X, 0),
        lambda: torch.tensor([1.0, 2.0]),
        lambda: X.clone().__setitem__(X > 0, 0),
        lambda: SQUARE.clone().__setitem__((slice(None), SQUARE[0] > 0), 1.5),
        lambda: COUNTS.repeat_interleave(2),
        lambda: torch.repeat_interleave(COUNTS, COUNTS, output_size=6),
        lambda: torch.linalg.cholesky_ex(SQUARE),
        lambda: torch.nn.functional.one_hot(COUNTS, 4),
        lambda: X.to("cpu", non_blocking=True),
        lambda: X.to(torch.float64),
        lambda: X.shape[0],
        lambda: MODEL(torch.randn(3, 4)).sum().backward(),
        lambda: torch.nn.utils.clip_grad_norm_(MODEL.parameters(), 1.0),
        lambda: torch.optim.SGD(MODEL.parameters(), lr=0.1).step(),
        lambda: torch.optim.AdamW(MODEL.parameters(), lr=0.1).step(),
    ],
)
def test_a_call_that_needs_none_is_no_wait(call):
    MODEL(torch.randn(3, 4)).sum().backward()
    assert find_blockers(call) == []


def test_waits_are_listed_in_order_with_line_and_source():
    def train_step(x):
        total = x.sum()
        if total > 0:
            total = total * 2
        helper(total)
        return total.item()

    def helper(t):
        return t.tolist()

    found = find_blockers(train_step, X)
    assert [b.what for b in found] == ["bool() or if", "tolist", "item"]
    assert [b.line for b in found] == [3, 2, 6]
    assert found[0].source == "if total > 0:"
    assert str(found[2]) == "line 6 (item): return total.item()"


def test_an_error_of_the_function_comes_through_and_leaves_no_watcher_behind():
    with pytest.raises(ZeroDivisionError):
        find_blockers(lambda: 1 / 0)
    assert X[0].item() == float(X[0])
    assert torch.cuda.synchronize.__module__ == "torch.cuda"


def test_every_wait_counts_where_it_is_and_a_copy_on_the_host_does_not_wait_again():
    def writes(x):
        x[x > 0] = 0
        x[x > 0] = x[0].item()
        return x[x > 0]

    def reads_a_copy():
        on_the_host = X.cpu()
        return on_the_host[0].item(), on_the_host.tolist(), [float(x) for x in on_the_host]

    def reads_the_original():
        return X.cpu(), X[0].item(), X.cpu().to(X.device).tolist()

    assert len(find_blockers(lambda: [x.item() for x in X])) == 100
    one_hot = find_blockers(torch.nn.functional.one_hot, COUNTS)  # looks for the largest class
    assert {wait.what for wait in one_hot} == {"item"}
    assert [wait.line for wait in find_blockers(writes, X.clone())] == [3, 4]
    assert [wait.what for wait in find_blockers(reads_a_copy)] == ["cpu"]
    waits = [wait.what for wait in find_blockers(reads_the_original)]
    assert waits == ["cpu", "item", "cpu", "tolist"]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_gpu_cuda_hears_what_the_watchers_say():
    """The lists above are about CUDA; here CUDA itself is asked."""
    x, counts, square = X.cuda(), COUNTS.cuda(), SQUARE.cuda()
    quiet = (
        lambda: x.clone().__setitem__(x > 0, 0),
        lambda: torch.nn.functional.one_hot(counts, 4),
        lambda: torch.linalg.cholesky_ex(square),
        lambda: torch.repeat_interleave(counts, counts, output_size=6),
    )
    assert [find_blockers(call) for call in quiet] == [[]] * len(quiet)
    host = torch.randn(1 << 20)  # pageable
    (wait,) = find_blockers(lambda: host.to("cuda"))
    assert wait.what == "CUDA waits" and 'host.to("cuda")' in wait.source
    assert torch.cuda.get_sync_debug_mode() == 0
