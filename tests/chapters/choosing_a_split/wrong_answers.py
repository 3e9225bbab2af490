"""Wrong answers to chapter 15's exercises, each as a student might write it."""

import math
from itertools import pairwise

from tests.support.patches import changed


def in_a_row(tokens, ranks):
    size = tokens // ranks
    return [list(range(r * size, (r + 1) * size)) for r in range(ranks)]


def every_nth(tokens, ranks):
    """Striped: nearly equal, but not quite, and in many runs."""
    return [list(range(r, tokens, ranks)) for r in range(ranks)]


def back_and_forth(tokens, ranks):
    """Equal work, in many short runs."""
    return [
        sorted(p for p in range(tokens) if r in (p % (2 * ranks), 2 * ranks - 1 - p % (2 * ranks)))
        for r in range(ranks)
    ]


def neighbouring_pieces(tokens, ranks):
    size = tokens // (2 * ranks)
    pieces = [list(range(k * size, (k + 1) * size)) for k in range(2 * ranks)]
    return [pieces[r] + pieces[r + ranks] for r in range(ranks)]


def equal_work_of_unequal_length(tokens, ranks):
    """Cuts where the pairs are equal, so early ranks hold more."""
    cuts = [round(tokens * (r / ranks) ** 0.5) for r in range(ranks + 1)]
    return [list(range(a, b)) for a, b in pairwise(cuts)]


def _seconds(y, gpus, tokens, width, numbers, fsdp, tp):
    x = gpus // y
    gather = 2 * numbers / y * (x - 1) / x / fsdp
    return gather + 4 * 2 * width * tokens / x * (y - 1) / y / tp


def least_tensor_that_fits(gpus, tokens, width, numbers, layers, fsdp, tp, room):
    y = 1
    while y <= gpus:
        if layers * (16 * numbers + 2 * width * tokens) / gpus + 4 * numbers / y <= room:
            return y, _seconds(y, gpus, tokens, width, numbers, fsdp, tp)
        y *= 2
    return None


def by_the_square_root(gpus, tokens, width, numbers, layers, fsdp, tp, room):
    """The optimum of the page, rounded, whether it fits or not."""
    x = (4 * gpus * tokens * width / numbers * fsdp / tp) ** 0.5
    y = min(2 ** round(math.log2(max(1, gpus / x))), gpus)
    return y, _seconds(y, gpus, tokens, width, numbers, fsdp, tp)


FITS = "if gpus % y == 0 and shared + 2 * gathered <= room:"
WRONG = {
    "split.places": [
        in_a_row,
        every_nth,
        back_and_forth,
        neighbouring_pieces,
        equal_work_of_unequal_length,
        *changed(
            "split.places",
            late_before_early={"[*early, *late]": "[*late, *early]"},
            late_pieces_overlap={"tokens - rank * size)": "tokens)"},
            ranges_instead_of_positions={"[*early, *late]": "(early, late)"},
        ),
    ],
    "split.best_mix": [
        least_tensor_that_fits,
        by_the_square_root,
        *changed(
            "split.best_mix",
            memory_is_forgotten={FITS: "if gpus % y == 0:"},
            any_degree_of_powers={FITS: "if shared + 2 * gathered <= room:"},
            one_gathered_layer={"shared + 2 * gathered": "shared + gathered"},
            states_divided_by_fsdp_alone={
                "shared = layers * (16 * numbers + 2 * width * tokens) / gpus": "pass",
                "gathered = 2 * numbers / y": "gathered = 2 * numbers / y\n"
                "        shared = layers * (16 * numbers + 2 * width * tokens) / x",
            },
            gathers_all_weights={"gathered = 2 * numbers / y": "gathered = 2 * numbers"},
            one_collective={"4 * collective": "collective"},
            collectives_of_all_tokens={"2 * width * tokens / x": "2 * width * tokens"},
            links_swapped={"/ x / fsdp": "/ x / tp", "/ y / tp": "/ y / fsdp"},
            largest={"min(seconds": "max(seconds"},
            an_error_where_none_fits={"if not seconds:\n        return None\n    ": ""},
            without_the_ring={"(x - 1) / x": "1", "(y - 1) / y": "1"},
            only_the_degree={"return best, seconds[best]": "return best"},
        ),
    ],
}
