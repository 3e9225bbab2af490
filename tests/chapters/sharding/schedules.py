"""The chapter's schedules, as its page writes them, and interleaved 1F1B as in Megatron-LM."""


def gpipe(ranks, batches):
    both = [(kind, i) for kind in "FB" for i in range(batches)]
    return [[(rank, kind, i) for kind, i in both] for rank in range(ranks)]


def one_f_one_b(ranks, batches):
    schedule = []
    for rank in range(ranks):
        ahead = min(ranks - 1 - rank, batches)
        order = [("F", i) for i in range(ahead)]
        for i in range(batches):
            order += [("F", ahead + i)] if ahead + i < batches else []
            order += [("B", i)]
        schedule.append([(rank, kind, i) for kind, i in order])
    return schedule


def zero_bubble(ranks, batches):
    schedule = []
    for rank in range(ranks):
        ahead = min(ranks - 1 - rank, batches)
        order = [("F", i) for i in range(ahead)]
        for i in range(batches + rank):
            order += [("F", ahead + i)] if ahead + i < batches else []
            order += [("I", i)] if i < batches else []
            order += [("W", i - rank)] if i >= rank else []
        schedule.append([(rank, kind, i) for kind, i in order])
    return schedule


def interleaved(ranks, batches, chunks):
    """Narayanan et al. 2021: chunk after chunk for `ranks` micro-batches, then the next ones."""
    schedule = []
    for rank in range(ranks):

        def nth(kind, n, rank=rank):
            turn, place = divmod(n, ranks * chunks)
            chunk = place // ranks if kind == "F" else chunks - 1 - place // ranks
            return chunk * ranks + rank, kind, turn * ranks + place % ranks

        every = batches * chunks
        ahead = min((chunks - 1) * ranks + 2 * (ranks - 1 - rank), every)
        order = [nth("F", n) for n in range(ahead)]
        for n in range(every):
            order += [nth("F", ahead + n)] if ahead + n < every else []
            order += [nth("B", n)]
        schedule.append(order)
    return schedule
