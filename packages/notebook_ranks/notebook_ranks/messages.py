"""All that crosses between a notebook, its ranks and their helper, as types.

Where a thread of a rank stands is a `Place`; what it waits for there are its `needs`; what the rank
has done that others may wait for is its `State`. Together they tell a slow cell from a stuck one.
Ranks are numbers of the default group, group names are torch's.
"""

from typing import Any

from msgspec import Struct


class Collective(Struct, frozen=True):
    """A collective as torch's flight recorder keeps it: what the ranks of its group agree on.

    `group` begins with its backend ("gloo:0"); `seq` numbers a group's collectives, alike on all of
    its ranks.
    """

    name: str
    group: str
    seq: int
    types: list[str] = []
    shapes: Any = []


class Call(Struct, frozen=True):
    """A collective as Python asked for it; `made` is how many its group has had on this rank.

    `age` counts the groups that had this name, `operator` is "" for SUM, `root` a rank, 0 where
    there is none, `splits` [received, sent].
    """

    group: str
    age: int
    ranks: list[int]
    made: int
    number: int
    name: str
    operator: str = ""
    root: int = 0
    splits: list[list[int]] = []


class Need(Struct, kw_only=True):
    """A need of a waiting thread, which another rank must meet; `kind` says which fields it has.

    "collective": one that the recorder has. "call": one that doesn't return before the others come.
    "send" and "recv": a message; `peer` is None for anybody, `tag` for a backend without tags.
    "key": of a store; `children` are there that may set it. "set-up": a group that is made.
    It gives up of itself after `seconds`, 0 for never.
    """

    kind: str
    group: str = ""
    ranks: list[int] = []
    seconds: float = 0.0
    collective: Collective | None = None
    name: str = ""
    number: int = 0
    peer: int | None = None
    tag: int | None = None
    keys: list[str] = []
    children: bool = False
    opened: int = 0


class Messages(Struct, frozen=True):
    """Counts messages of a kind that a rank began with a peer (None: anybody) under a tag."""

    group: str
    kind: str
    peer: int | None
    tag: int
    count: int


class State(Struct, kw_only=True):
    """The state of a rank, for which others may wait; `me` is its number in the default group.

    By group: its members, the number of its last collective that the recorder knows (`joined`, the
    backend before the name) and of the last that Python asked for (`made`). `opened` counts default
    groups in this cell, `acting` names threads that may still do something.
    """

    me: int | None = None
    groups: dict[str, list[int]] = {}
    joined: dict[str, int] = {}
    made: dict[str, int] = {}
    messages: list[Messages] = []
    calls: list[Call] = []
    history: list[Collective] = []
    opened: int = 0
    acting: list[str] = []


class Where(Struct, kw_only=True):
    """A line of a cell, the function `inside` it, and the `call` of torch.distributed, if any."""

    line: int | None = None
    text: str = ""
    inside: str = ""
    call: str | None = None
    tensors: str = ""
    cell: str = ""  # its file


class Place(Where, kw_only=True):
    """A sample of a rank: where its main thread is, what its threads wait for, what it has used.

    `mark` changes with every instruction; `reads` says that it may be reading a tensor of a device.
    `wait` is None where it works (or sleeps), "call" where it waits for other ranks without using a
    processor, "device" for a GPU on which the collective `pending` is under way, "set-up" for a
    group that is made. `cpu` and `used` (with its children) are seconds of a processor, `begun`
    counts collectives and messages.
    """

    mark: str | None = ""
    reads: bool = False
    wait: str | None = None
    needs: list[Need] = []
    acting: list[str] = []
    pending: Collective | None = None
    state: State | None = None
    cpu: float = 0.0
    used: float = 0.0
    begun: int = 0
    frozen: bool = False


class Failure(Where, kw_only=True):
    """A failure of a rank. `kind`: "python" (the reader's code), "group" (torch's process
    group: as a rule another rank's doing), "stop" (it was asked to), "died" (its process ended).

    `trace` are lines for the message, `earlier` names the cell where that isn't the one that runs,
    `code` is a process's exit status; after a `final` one no rank can go on.
    """

    kind: str
    name: str = ""
    message: str = ""
    trace: list[str] = []
    earlier: str = ""
    code: int | None = None
    final: bool = False


class GroupCount(Struct):
    """Counts the calls of a rank in one group; `last` is the name of its last collective."""

    ranks: list[int]
    calls: int
    messages: list[Messages]
    last: str = ""


class Counts(Struct):
    """Counts the groups that a rank has made, and its calls of each."""

    made: int
    groups: dict[str, GroupCount]


class Grouping(Struct):
    """The default group that an order finds: torch checks its collectives with `debug`, they wait
    for `timeout` seconds, and it is opened `anew` where the old one is of no use.
    """

    debug: bool = False
    timeout: float = 86_400.0
    anew: bool = False


class Order(Struct, kw_only=True, tag=True):
    """An order to a rank; the orders of a notebook are numbered, and no two share a `key`.

    Without a `group` it does it with the one that is there.
    """

    id: int = 0
    key: str = ""
    group: Grouping | None = None


class Prepare(Order, kw_only=True):
    """Open the group, and let go of these TCPStores: the cell to come makes them again."""

    stores: list[str] = []


class RunCell(Order, kw_only=True):
    """Run a cell; `shown` is what the reader wrote, `called` what messages call it."""

    source: str
    filename: str = ""
    shown: str = ""
    called: str = ""
    argv: list[str] = []


class CallFunction(Order):
    """Call the function in the payload; its result is the payload of `Done`."""


class Push(Order):
    """Take the variables in the payload."""


class Pull(Order, kw_only=True):
    """Give the value of a name."""

    name: str


class Look(Struct, tag=True):
    """Say where you are: a `Seen`."""

    id: int


class Interrupt(Struct, tag=True):
    """Stop what you do."""


class EndWaits(Struct, tag=True):
    """End every wait for another rank, with an error."""


class Exit(Struct, tag=True):
    """End yourself."""


class Welcome(Struct, tag=True):
    """The address of the store that rank 0 serves, where the ranks meet, and their device."""

    host: str
    port: int
    device: str | None


class Fork(Struct, tag=True):
    """For the helper: fork `n` ranks with this environment, path and working folder."""

    n: int
    environment: dict[str, str]
    path: list[str]
    folder: str


class Kill(Struct, tag=True):
    """For the helper: end all ranks; it answers `Killed`."""


class Hello(Struct, tag=True):
    """A rank's first message; `port` is that of the store which it serves."""

    rank: int
    world_size: int
    pid: int
    host: str
    port: int | None = None


class Printed(Struct, tag=True):
    """Text for a stream: "stdout", "stderr", "pipe" (from C++ and programs), "display" (a bundle as
    JSON) or "clear".
    """

    stream: str
    text: str


class Seen(Struct, tag=True):
    """The place of a rank while it does order `id`."""

    id: int
    place: Place


class Done(Struct, tag=True):
    """Order `id` has ended; `records` and `calls` are what is new of collectives, for comparing.

    `counts` is None where torch doesn't tell.
    """

    id: int
    failure: Failure | None = None
    records: list[Collective] = []
    calls: list[Call] = []
    counts: Counts | None = None


class Left(Struct, tag=True):
    """After order `id`: what the rank has done that others may still wait for."""

    id: int
    state: State


class HelperReady(Struct, tag=True):
    """The helper has imported torch."""


class Died(Struct, tag=True):
    """A rank's process ended: its exit code (negative: a signal), its last words.

    `printed` are those of them that the cell wrote.
    """

    pid: int
    code: int | None
    words: str = ""
    printed: str = ""
    rank: int | None = None


class Killed(Struct, tag=True):
    """All ranks are gone."""


ToNotebook = Hello | Printed | Seen | Done | Left | HelperReady | Died | Killed
FromNotebook = (
    Welcome | Prepare | RunCell | CallFunction | Push | Pull | Look | Interrupt | EndWaits | Exit
    | Fork | Kill
)  # fmt: skip
