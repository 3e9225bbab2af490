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


def _seconds(n, gpus, tokens, width, numbers, matmuls, inside, port):
    s = gpus // n
    gather = 2 * numbers / n * (s - 1) / s / min(inside, 8 * port / n)
    return max(matmuls + 4 * 2 * width * tokens / s * (n - 1) / n / inside, gather)


def least_tensor_that_fits(gpus, tokens, width, numbers, layers, matmuls, inside, port, room):
    for n in (1, 2, 4, 8):
        if layers * (16 * numbers + 2 * width * tokens) / gpus + 4 * numbers / n <= room:
            return n, _seconds(n, gpus, tokens, width, numbers, matmuls, inside, port)
    return None


def by_the_square_root(gpus, tokens, width, numbers, layers, matmuls, inside, port, room):
    """The optimum of equal links, rounded, whether it fits or not."""
    s = (4 * gpus * tokens * width / numbers * min(inside, 8 * port) / inside) ** 0.5
    n = min(2 ** round(math.log2(max(1, gpus / s))), 8)
    return n, _seconds(n, gpus, tokens, width, numbers, matmuls, inside, port)


FITS, RING = "if shared + 2 * gathered <= room:", "min(inside, 8 * port / n)"
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
            memory_is_forgotten={FITS: "if True:"},
            full_memory_does_not_fit={FITS: FITS.replace("<=", "<")},
            one_gathered_layer={"shared + 2 * gathered": "shared + gathered"},
            states_divided_by_fsdp_alone={
                "shared = layers * (16 * numbers + 2 * width * tokens) / gpus": "pass",
                "gathered = 2 * numbers / n": "gathered = 2 * numbers / n\n"
                "        shared = layers * (16 * numbers + 2 * width * tokens) / s",
            },
            gathers_all_weights={"gathered = 2 * numbers / n": "gathered = 2 * numbers"},
            communication_alone={"max(matmuls + tensor, gather)": "gather + tensor"},
            all_is_added={"max(matmuls + tensor, gather)": "matmuls + tensor + gather"},
            tensor_is_hidden={"max(matmuls + tensor, gather)": "max(matmuls, tensor, gather)"},
            one_collective={"4 * collective": "collective"},
            collectives_of_all_tokens={"2 * width * tokens / s": "2 * width * tokens"},
            one_port_a_ring={RING: "min(inside, port)"},
            all_ports_for_each_ring={RING: "min(inside, 8 * port)"},
            ports_are_forgotten={RING: "inside"},
            a_ring_beyond_nvlink={RING: "8 * port / n"},
            tensor_over_ports={"(n - 1) / n / inside": "(n - 1) / n / port"},
            over_two_nodes={"(1, 2, 4, 8)": "(1, 2, 4, 8, 16)"},
            largest={"min(seconds": "max(seconds"},
            an_error_where_none_fits={"if not seconds:\n        return None\n    ": ""},
            without_the_ring={"(s - 1) / s": "1", "(n - 1) / n": "1"},
            only_the_degree={"return best, seconds[best]": "return best"},
        ),
    ],
}
