"""Which workers of a cluster can be used: those with the versions and the code that the command has."""

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from hgpbench.bench import agent
from hgpbench.cluster import SILENT, Cluster
from hgpbench.errors import ClusterError

ASK_AGAIN = 5.0  # seconds until a worker that has not answered is asked again


@dataclass
class Muster:
    """The workers met so far."""

    cluster: Cluster
    digests: dict[str, str]  # of the code that runs need, by module
    noted: Callable[[str], None]  # hears what there is to say of a worker
    later: Callable[[Callable[[], None]], None]  # has something done on the thread of the command
    _fit: dict[str, bool] = field(default_factory=dict)  # of those that answered: whether they can be used
    _asked: dict[str, float] = field(default_factory=dict)  # when those were asked that have not answered yet

    def begin(self, addresses: list[str]) -> None:
        """Look whether all workers are as they should be; one that is not ends the command at its start.

        One that does not answer may have died: it is asked again while the others work.
        """
        troubles = self._troubles(addresses)
        for address, line in troubles.items():
            if line is not None:
                raise ClusterError(f"worker {address} {line}")
        self._met(addresses, troubles)
        for address in self._asked:
            self.noted(f"worker {address} does not answer; it is not used until it does")

    def greet(self, addresses: Iterable[str]) -> None:
        """Ask workers whom nobody has asked, or who have not answered; on a thread, as one may hang."""
        now = time.monotonic()
        new = [
            address
            for address in addresses
            if address not in self._fit and now - self._asked.get(address, -ASK_AGAIN) >= ASK_AGAIN
        ]
        if not new:
            return
        self._asked |= dict.fromkeys(new, float("inf"))

        def ask() -> None:
            troubles = self._troubles(new)
            self.later(lambda: self._greeted(new, troubles))

        threading.Thread(target=ask, daemon=True).start()

    def accepts(self, address: str) -> bool:
        """Whether this worker can be used."""
        return self._fit.get(address, False)

    def _troubles(self, addresses: list[str]) -> dict[str, str | None]:
        """What keeps each of these workers from being used, None for nothing; of those alone that answer."""
        found = self.cluster.check(addresses)
        alike = [address for address, line in found.items() if line is None]
        for address, modules in self.cluster.ask(alike, agent.differences, self.digests).items():
            if isinstance(modules, SILENT):
                del found[address]
            elif isinstance(modules, Exception):
                found[address] = f"cannot compare its code with ours ({modules!r:.200})"
            elif modules:
                found[address] = (
                    f"has other code of hgpbench ({modules[0]} differs); install the same on both sides"
                )
        return found

    def _met(self, asked: list[str], troubles: dict[str, str | None]) -> None:
        """Note which of the workers asked can be used; the silent ones are asked again in a while."""
        for address in asked:
            if address in troubles:
                self._fit[address] = troubles[address] is None
                self._asked.pop(address, None)
            else:
                self._asked[address] = time.monotonic()

    def _greeted(self, asked: list[str], troubles: dict[str, str | None]) -> None:
        self._met(asked, troubles)
        for address, line in troubles.items():
            if line is not None:
                self.noted(f"worker {address} is not used: it {line}")
