"""What predictions made and may use again, within a budget of bytes: the least recently used goes first."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, Protocol, TypeVar


class Sized(Protocol):
    """Something that knows its size."""

    @property
    def nbytes(self) -> int:
        """Bytes that it holds."""


Item = TypeVar("Item", bound=Sized)


class Recent(Generic[Item]):
    """Items by key, of at most ``budget`` bytes in all. A copy of it, or a pickle, has forgotten them.

    Threads may share it: two that want the same item at once may both make it, and neither waits.
    """

    def __init__(self) -> None:
        self._budget, self.nbytes = 0, 0
        self._items: OrderedDict[Hashable, Item] = OrderedDict()
        self._lock = Lock()

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return type(self), ()

    def allow(self, budget: int) -> None:
        """Hold no more than ``budget`` bytes from now on."""
        with self._lock:
            self._budget = budget
            self._forget()

    def obtain(self, key: Hashable, make: Callable[[], Item]) -> Item:
        """The item of this key, made anew where it is not held."""
        with self._lock:
            if key in self._items:
                self._items.move_to_end(key)
                return self._items[key]
        item = make()
        with self._lock:
            # What is larger than all that may be held would drive out everything, and itself.
            if key not in self._items and item.nbytes <= self._budget:
                self._items[key] = item
                self.nbytes += item.nbytes
                self._forget()
        return item

    def _forget(self) -> None:
        while self.nbytes > self._budget:
            _, oldest = self._items.popitem(last=False)
            self.nbytes -= oldest.nbytes
