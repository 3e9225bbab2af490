"""One kernel and one set of ranks for all tests of this folder: starting either takes seconds.

Ranks are forked on Linux alone; elsewhere only what judges samples of ranks is tested.
"""

import sys

import pytest

import notebook_ranks as ranks
from notebook_ranks.engine import crew
from notebook_ranks.page.printer import UNATTENDED
from notebook_ranks.tests.kernels import CELL_SECONDS, Kernel

if sys.platform != "linux":
    collect_ignore_glob = ["test_*.py", "cells/*", "engine/*", "groups/*", "page/*"]


@pytest.fixture(scope="package")
def kernel():
    found = Kernel()
    yield found
    found.close()
    assert found.seconds_until_gone() < CELL_SECONDS


@pytest.fixture(scope="package", autouse=True)
def ended_at_last():
    yield
    ranks.stop()


@pytest.fixture
def ended():
    """For ranks that others start: the next test has forked ones."""
    yield
    ranks.stop()


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """A busy machine may be late to stop a rank, and no words come in between."""
    monkeypatch.setenv(UNATTENDED, "1")
    monkeypatch.setattr(crew, "STOP_SECONDS", 30)
    monkeypatch.setattr(crew, "NOTICE_SECONDS", 30)


@pytest.fixture
def said(capsys):
    """Runs a cell, and gives what was printed of it."""

    def run(source, n=None, **options):
        capsys.readouterr()
        ranks.run_cell(source, n, **options)
        return "".join(capsys.readouterr())

    return run


@pytest.fixture
def failing():
    """Runs a cell that is to fail, and gives its message."""

    def run(source, n=None, **options):
        with pytest.raises(ranks.RankError) as error:
            ranks.run_cell(source, n, **options)
        return str(error.value)

    return run
