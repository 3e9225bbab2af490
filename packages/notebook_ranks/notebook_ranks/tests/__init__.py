import pytest

# Runs in `make test` where one of these changed, and always in `make test-all`.
THOROUGH = pytest.mark.thorough("packages/notebook_ranks", "requirements.txt")


def cases(usual, rare):
    """The names of all cases; those of the rare ones are thorough."""
    return [*usual, *(pytest.param(name, marks=THOROUGH) for name in rare)]
