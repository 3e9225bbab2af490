"""Wrong answers to chapter 05's exercises, each as a student might write it."""

from tests.support.patches import by_name, changed

LEFT = "[seen + rank :: world_size]"
OWN = "info.dataset.rng = np.random.default_rng(info.seed)"
WRONG = {
    "input.batches": changed(
        "input.batches",
        shortest_first={", reverse=True": ""},
        as_they_come={", key=lambda i: lengths[i], reverse=True": ""},
        one_over={"budget // lengths[order[0]]": "budget // lengths[order[0]] + 1"},
        by_the_shortest={"lengths[order[0]]": "lengths[order[-1]]"},
        one_at_a_time={"budget // lengths[order[0]]": "1"},
        the_lengths={
            "range(len(lengths)), key=lambda i: lengths[i]": "lengths",
            "lengths[order[0]]": "order[0]",
        },
        only_the_first={"    return found": "    return found[:1]"},
        one_list={"found.append(order[:size])": "found += order[:size]"},
        by_the_mean={"lengths[order[0]]": "max(1, sum(lengths) // len(lengths))"},
        drops_one={"order = order[size:]": "order = order[size + 1:]"},
    ),
    "input.seeds": changed(
        "input.seeds",
        by_its_number={"info.seed": "worker_id"},
        one_seed_for_all={"info.seed": "info.seed - worker_id"},
        by_the_system={"info.seed": ""},
        seeds_numpys_own={OWN: "np.random.seed(info.seed % 2**32)"},
        seeds_torchs_own={OWN: "torch.manual_seed(info.seed)"},
        keeps_it_to_itself={"info.dataset.rng": "rng"},
        only_the_first={OWN: f"if worker_id == 0:\n        {OWN}"},
        seeds_that_overlap={"info.seed": "(info.seed - worker_id) // 2**40 + worker_id // 2"},
        a_slip={"default_rng": "default_rgn"},
    ),
    "input.resume": changed(
        "input.resume",
        begins_anew={LEFT: "[rank::world_size]"},
        skips_seen_on_each_rank={LEFT: "[rank::world_size][seen:]"},
        skips_its_share={LEFT: "[rank::world_size][seen // world_size :]"},
        shuffles_what_is_left={
            "torch.randperm(n": "seen + torch.randperm(n - seen",
            LEFT: "[rank::world_size]",
        },
        seeds_torch={
            "generator = torch.Generator().manual_seed": "torch.manual_seed",
            ", generator=generator": "",
        },
        in_blocks={LEFT: "[seen:].tensor_split(world_size)[rank]"},
        drops_the_odd_ones={
            LEFT: "[seen:][: (n - seen) // world_size * world_size][rank::world_size]"
        },
        fills_up={
            "return order": "again = order[seen : seen + 1].repeat((seen - n) % world_size)\n"
            "    return torch.cat([order, again])"
        },
        in_order={"torch.randperm(n, generator=generator)": "torch.arange(n)"},
        the_same_but_sorted={f"order{LEFT}": f"order{LEFT}.sort().values"},
    ),
}
__getattr__ = by_name(WRONG)
