"""Right answers to chapter 1's exercises, in other ways than the worked solutions."""

from tests.support.patches import changed


def turning_batch_by_search(n_in, n_out, size, flop_per_s, bytes_per_s):
    def turned(batch):
        moved = size * (batch * (n_in + n_out) + n_in * n_out)
        return 2 * batch * n_in * n_out / flop_per_s >= moved / bytes_per_s

    high = next((2**k for k in range(50) if turned(2**k)), None)
    if high is None:
        return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if turned(middle) else (middle, high)
    return high


RIGHT = {
    "machine.turning_batch": [
        turning_batch_by_search,
        *changed("machine.turning_batch", or_infinity={"return None": "return math.inf"}),
    ],
}
