"""A worker of a cluster, as far as experts are concerned: an owner of some of them, and their rows.

Whatever is asked of it is a method of this class and its arguments, pickled, and so is the answer, or what
went wrong: an exception of the owner's travels back, and any other means that the worker is lost.
"""

import pickle
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from hgpbench.columns import Array
from hgpbench.experts import shelf
from hgpbench.experts.rows import Held, Index, Numbers
from hgpbench.experts.shelf import Place, Sign
from hgpbench.fitting.threads import libraries

_TOLD = (
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    AttributeError,
    MemoryError,
    RuntimeError,
    OSError,
)


class Call(NamedTuple):
    """A question to an owner about some experts."""

    question: Callable[..., list[Any]]
    numbers: Numbers
    details: Sequence[Any]
    named: dict[str, Any]


class Desk:
    """The owner of some experts on a worker."""

    _rows: Held
    _owner: Any

    def perform(self, message: bytes) -> bytes:
        """Do what a message says; no message at all asks whether somebody is there."""
        if not message:
            return b""
        task, details = pickle.loads(message)
        found, problem = None, None
        try:
            # More than one BLAS thread would round differently from other workers, and gain nothing.
            with libraries().limit(limits=1):
                found = task(self, *details)
        except _TOLD as error:
            problem = error
        return pickle.dumps((found, problem), protocol=5)

    def begin(self, make_owner: Callable[[Held], Any], sizes: Index, n_inputs: int) -> None:
        """Own nobody yet, of experts with so many rows."""
        self._rows = Held(sizes, n_inputs)
        self._owner = make_owner(self._rows)

    def hold(self, numbers: Numbers, rows: Sequence[tuple[Array, Array]]) -> None:
        """Have the rows of these experts."""
        for number, (X, y) in zip(numbers, rows, strict=True):
            self._rows.hold(number, X, y)

    def sees(self, sign: Sign) -> bool:
        """Whether the file of a shelf can be read here."""
        return shelf.sees(sign)

    def take(self, sign: Sign, numbers: Numbers, places: Sequence[Place]) -> bool:
        """Read the rows of these experts from a shelf, all or, where that cannot be, none."""
        found = shelf.rows(sign, places)
        if found is not None:
            self.hold(numbers, found)
        return found is not None

    def ask(self, call: Call) -> list[Any]:
        """Put a question to the owner."""
        return call.question(self._owner, call.numbers, *call.details, **call.named)

    def replay(self, calls: Sequence[Call]) -> None:
        """Put these questions again, in order: their answers are known."""
        for call in calls:
            self.ask(call)

    def drop(self, forget: Callable[..., list[None]] | None, numbers: Numbers) -> None:
        """Own these experts no more: they have gone elsewhere."""
        if forget is not None:
            forget(self._owner, numbers)
        for number in numbers:
            self._rows.drop(number)


def message(task: Callable[..., Any], *details: Any) -> bytes:
    """What ``perform`` takes, for a method of the desk."""
    return pickle.dumps((task, details), protocol=5)


def answer(content: bytes) -> Any:
    """What came of it; raises what the owner raised."""
    found, error = pickle.loads(content)
    if error is not None:
        raise error
    return found
