"""Experts on the workers of a cluster: the questions and the bits of ``pool``, and an end that is the same
whichever workers are lost on the way.

A lane of experts is at one worker. Every question that changes an expert is written down here, and now and
then the states of all experts are fetched, after which what was written down is forgotten. The lanes of a
worker that is lost go to the others, or to one that has joined: they get the rows, the states that were
fetched last, and the questions since then, which leave experts as they were. An expert's state follows from
the questions about it alone, in their order, so nobody else has to do anything twice.
"""

import logging
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Concatenate, Generic, Self

import numpy as np

from hgpbench.cluster import Cluster, Lost, Resident
from hgpbench.columns import Array
from hgpbench.errors import ClusterError
from hgpbench.experts import desk, shelf
from hgpbench.experts.desk import Call, Desk
from hgpbench.experts.pool import Answer, Details, Each, Lasting, Owner, share
from hgpbench.experts.rows import Numbers, Rows, Shares
from hgpbench.experts.shelf import Shelf
from hgpbench.fitting.filerows import released

_log = logging.getLogger(__name__)

SNAPSHOT_EVERY = 180.0  # seconds of a fit, at most, that the loss of a worker repeats
MOST_SETBACKS = 6  # losses in a row without an answer: what is asked may be what ends the workers
LONELY = 600.0  # seconds without any worker after which nobody is expected to come
LOOK_EVERY = 1.0  # seconds between looks for one
PIECE = 8_000_000  # bytes of rows in a message, of which Dask makes several copies


@dataclass(eq=False)
class Remote(Generic[Owner]):
    """Lane i at the worker that has fewest when it is its turn: that is i mod W while none is lost."""

    rows: Rows
    lanes: int
    owner: Callable[[Shares], Owner]
    cluster: Cluster
    lasting: Lasting | None = None  # None for owners that keep nothing but their rows
    snapshot_every: float = SNAPSHOT_EVERY
    _homes: dict[int, Resident] = field(default_factory=dict)  # by lane
    _desks: dict[str, Resident] = field(default_factory=dict)  # by address
    _fit: dict[str, bool] = field(default_factory=dict)  # of those that answered: are their versions ours
    _since: list[Call] = field(default_factory=list)  # what has changed experts since the last snapshot
    _known: set[int] = field(default_factory=set)  # experts that a question has changed, ever
    _snapshot: "_Snapshot | None" = None
    _taken: float = field(default_factory=time.monotonic)
    _setbacks: int = 0

    def __post_init__(self) -> None:
        found = self.cluster.check(self.cluster.workers())
        for address, line in found.items():
            if line is not None:
                raise ClusterError(f"worker {address} {line}")
        self._fit = dict.fromkeys(found, True)
        self._house()

    def ask(
        self,
        question: Callable[Concatenate[Owner, Numbers, Details], list[Answer]],
        numbers: Numbers,
        *details: Details.args,
        **named: Details.kwargs,
    ) -> list[Answer]:
        """One message to each worker that has something to answer, and one more where another was lost."""
        if self._is_due():
            self._take_snapshot()
        call = Call(question, numbers, details, named)
        answers = self._ask(call)
        if self.lasting is not None and question in self.lasting.changing:
            self._since.append(call)
            self._known.update(numbers)
        return answers

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ending: object) -> None:
        for resident in self._desks.values():
            resident.leave()
        if self._snapshot is not None:
            self._snapshot.close()

    def _ask(self, call: Call) -> list[Any]:
        """Answers of all, each from the desk at which its expert is when all have answered.

        Whoever answered and was lost since then has to be asked again: its experts were restored as they
        were before the question.
        """
        answers: dict[int, Any] = {}
        told: dict[int, Resident] = {}  # by place
        while True:
            asked: dict[Resident, list[int]] = {}
            for place, number in enumerate(call.numbers):
                home = self._homes[number % self.lanes]
                if told.get(place) is not home:
                    asked.setdefault(home, []).append(place)
            if not asked:
                self._setbacks = 0
                return [answers[place] for place in range(len(call.numbers))]
            sent = {home: desk.message(Desk.ask, _at(call, mine)) for home, mine in asked.items()}
            for home, found in self._exchange(sent).items():
                answers |= zip(asked[home], found, strict=True)
                told |= dict.fromkeys(asked[home], home)
            self._house()

    def _exchange(self, messages: dict[Resident, bytes]) -> dict[Resident, Any]:
        """Answers of those who have not been lost; the others lose their lanes."""
        pending, answers, lost = {}, {}, dict[Resident, Lost]()
        for home, message in messages.items():
            try:
                pending[home] = home.tell(message)
            except Lost as loss:
                lost[home] = loss
        for home, waiting in pending.items():
            try:
                answers[home] = desk.answer(home.answer(waiting))
            except Lost as loss:
                lost[home] = loss
        for home, why in lost.items():
            self._lose(home, why)
        self._setbacks += bool(lost)
        if self._setbacks > MOST_SETBACKS:
            raise ClusterError(
                f"{self.cluster.title} lost workers {self._setbacks} times in a row at the same step, "
                "perhaps for want of memory: start workers with more of it, or more of them"
            )
        return answers

    def _lose(self, home: Resident, loss: Lost) -> None:
        _log.warning("%s; its experts go on elsewhere", loss)
        self._homes = {lane: other for lane, other in self._homes.items() if other is not home}
        if self._desks.get(home.address) is home:
            del self._desks[home.address]
        home.leave()

    def _house(self) -> None:
        """Give every lane that has no worker to the one with the fewest, as it was when it was lost."""
        while homeless := [lane for lane in range(self.lanes) if lane not in self._homes]:
            desks = self._open_desks(len(homeless))
            counts = {home: list(self._homes.values()).count(home) for home in desks}
            shares: dict[Resident, list[int]] = {}
            for lane in homeless:
                home = min(counts, key=lambda each: counts[each])
                counts[home] += 1
                shares.setdefault(home, []).append(lane)
            self._furnish(shares)

    def _furnish(self, shares: dict[Resident, list[int]]) -> None:
        """Rows, states and what has happened since, for lanes at their new desks."""
        served = self._lay_out(shares)
        for home, lanes in shares.items():
            if home in served or self._desks.get(home.address) is not home:
                continue
            for piece in self._pieces(self._members(lanes)):
                sent = desk.message(Desk.hold, piece, [self.rows.of(number) for number in piece])
                released(self.rows.X)
                if home not in self._exchange({home: sent}):
                    break
        left = {home: lanes for home, lanes in shares.items() if self._desks.get(home.address) is home}
        messages = {home: desk.message(Desk.replay, self._history(lanes)) for home, lanes in left.items()}
        for home in self._exchange(messages):
            self._homes |= dict.fromkeys(left[home], home)

    def _lay_out(self, shares: dict[Resident, list[int]]) -> set[Resident]:
        """Have desks read the rows of these lanes in a file, where they are many: the desks that could."""
        members = {home: self._members(lanes) for home, lanes in shares.items()}
        if sum(self._bytes(number) for mine in members.values() for number in mine) <= PIECE:
            return set()
        try:
            with shelf.opened() as laid:
                told = self._exchange({home: desk.message(Desk.sees, laid.sign) for home in members})
                messages = self._laid(laid, {home: members[home] for home, sees in told.items() if sees})
                return {home for home, took in self._exchange(messages).items() if took}
        except OSError as error:
            _log.warning("rows are sent to the workers, as no file could be made of them (%s)", error)
            return set()

    def _laid(self, laid: Shelf, members: dict[Resident, list[int]]) -> dict[Resident, bytes]:
        """Write the rows of these experts, and what tells each desk where its own are."""
        everyone = [number for mine in members.values() for number in mine]
        count = int(self.rows.sizes[everyone].sum())
        places = iter(laid.lay(count, self.rows.n_inputs, self._rows_of(everyone)))
        return {
            home: desk.message(Desk.take, laid.sign, mine, list(islice(places, len(mine))))
            for home, mine in members.items()
        }

    def _rows_of(self, numbers: Numbers) -> Iterator[tuple[Array, Array]]:
        """Rows of these experts, of which memory is to hold few at a time."""
        for piece in self._pieces(numbers):
            yield from map(self.rows.of, piece)
            released(self.rows.X)

    def _history(self, lanes: Sequence[int]) -> list[Call]:
        """What makes new experts of these lanes those that they were."""
        calls = list(self._since)
        if self._snapshot is not None and self.lasting is not None:
            numbers = [number for number in self._members(lanes) if number in self._snapshot]
            calls.insert(
                0, Call(self.lasting.restore, numbers, [Each(map(self._snapshot.read, numbers))], {})
            )
        mine, chosen = set(lanes), []
        for call in calls:
            places = [place for place, number in enumerate(call.numbers) if number % self.lanes in mine]
            if places:
                chosen.append(_at(call, places))
        return chosen

    def _members(self, lanes: Iterable[int]) -> list[int]:
        """The experts of these lanes."""
        M = len(self.rows.sizes)
        return [number for lane in lanes for number in range(lane, M, self.lanes)]

    def _pieces(self, numbers: Numbers) -> Iterator[list[int]]:
        """These experts, those together whose rows have a bounded size."""
        piece: list[int] = []
        size = 0
        for number in numbers:
            own = self._bytes(number)
            if piece and size + own > PIECE:
                yield piece
                piece, size = [], 0
            piece.append(number)
            size += own
        if piece:
            yield piece

    def _bytes(self, number: int) -> int:
        """Of the rows of an expert."""
        return 8 * int(self.rows.sizes[number]) * (self.rows.n_inputs + 1)

    def _open_desks(self, most: int) -> list[Resident]:
        """A desk at every worker, of at most so many that have none yet; waits for a worker to come."""
        since = time.monotonic()
        while True:
            found = self.cluster.workers()
            self._meet([address for address in found if address not in self._fit])
            usable = [address for address in found if self._fit.get(address)]
            new = [address for address in usable if address not in self._desks and not found[address].paused]
            for address in new[:most]:
                with suppress(Lost):
                    self._desks[address] = self._opened(address)
            present = [self._desks[address] for address in usable if address in self._desks]
            if present:
                return present
            if time.monotonic() - since > LONELY:
                raise ClusterError(
                    f"{self.cluster.title} has had no worker for {LONELY / 60:.0f} minutes; start some, and "
                    "fit again"
                )
            time.sleep(LOOK_EVERY)

    def _opened(self, address: str) -> Resident:
        home = self.cluster.install(address, Desk)
        sent = desk.message(Desk.begin, self.owner, self.rows.sizes, self.rows.n_inputs)
        desk.answer(home.answer(home.tell(sent)))
        return home

    def _meet(self, addresses: list[str]) -> None:
        """Workers that joined are used if their versions are ours."""
        for address, line in self.cluster.check(addresses).items():
            if line is not None:
                _log.warning("worker %s is not used: it %s", address, line)
            self._fit[address] = line is None

    def _is_due(self) -> bool:
        """Whether so much has happened that a loss would be dear."""
        return len(self._since) > 1 and time.monotonic() - self._taken > self.snapshot_every

    def _take_snapshot(self) -> None:
        """Fetch all states, some lanes at a time, into a file; then those who have joined get lanes."""
        if self.lasting is None:
            return
        started, fetched = time.monotonic(), _Snapshot()
        try:
            for first in range(0, self.lanes, max(1, len(self._desks))):
                lanes = range(first, min(first + max(1, len(self._desks)), self.lanes))
                numbers = [number for number in self._members(lanes) if number in self._known]
                for number, state in zip(
                    numbers, self._ask(Call(self.lasting.state, numbers, [True], {})), strict=True
                ):
                    fetched.write(number, state)
        except OSError as error:
            _log.warning("no snapshot of the experts could be written (%s); the last one stays", error)
            fetched.close()
        else:
            if self._snapshot is not None:
                self._snapshot.close()
            self._snapshot, self._since = fetched, []
            self._balance()
        # A snapshot that takes long is taken more seldom.
        self._taken = time.monotonic() + 10.0 * (time.monotonic() - started)

    def _balance(self) -> None:
        """Lanes for workers that have joined, from those that have more than one lane more."""
        desks = self._open_desks(self.lanes)
        homes = {home: [lane for lane, other in self._homes.items() if other is home] for home in desks}
        moved: dict[Resident, list[int]] = {}
        while True:
            fullest = max(homes, key=lambda home: len(homes[home]))
            emptiest = min(homes, key=lambda home: len(homes[home]))
            if len(homes[fullest]) - len(homes[emptiest]) <= 1:
                break
            moved.setdefault(fullest, []).append(homes[fullest].pop())
            homes[emptiest].append(-1)  # whoever has the fewest gets it
        for lanes in moved.values():
            for lane in lanes:
                del self._homes[lane]
        forget = None if self.lasting is None else self.lasting.forget
        self._exchange(
            {home: desk.message(Desk.drop, forget, self._members(lanes)) for home, lanes in moved.items()}
        )
        self._house()


def _at(call: Call, places: Sequence[int]) -> Call:
    """The part of a question that is about the experts at these places."""
    return Call(
        call.question,
        [call.numbers[place] for place in places],
        [share(detail, places) for detail in call.details],
        {name: share(detail, places) for name, detail in call.named.items()},
    )


class _Snapshot:
    """States of experts in a nameless file: here they would take as much memory as all workers have."""

    def __init__(self) -> None:
        with ExitStack() as stack:
            self._file = stack.enter_context(tempfile.TemporaryFile())
            self._closing = stack.pop_all()
        self._places: dict[int, tuple[int, int]] = {}

    def __contains__(self, number: int) -> bool:
        return number in self._places

    def write(self, number: int, state: Array) -> None:
        self._places[number] = self._file.tell(), len(state)
        self._file.write(np.ascontiguousarray(state).data)

    def read(self, number: int) -> Array:
        start, size = self._places[number]
        self._file.seek(start)
        return np.frombuffer(bytearray(self._file.read(8 * size)), dtype=np.float64)

    def close(self) -> None:
        self._closing.close()
