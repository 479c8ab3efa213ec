"""What the fork server loads at its start, before any run is asked of it: the libraries, and how it ends.

Loading this module has effects by design, as the server offers no other place for them; nobody else loads it.
"""

import signal
from types import FrameType

from hgpbench.bench import orphans

GRACE = 2.0  # seconds that runs have to end what they started, once the supervisor is gone


def _end_soon(number: int, frame: FrameType | None) -> None:
    """Die a little after the supervisor; the runs, whose parent this is, are killed by that."""
    signal.setitimer(signal.ITIMER_REAL, GRACE)


# An interrupt from the terminal is the supervisor's to answer; it was held back until we could ignore it.
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
signal.signal(signal.SIGUSR1, _end_soon)
orphans.end_with_parent(signal.SIGUSR1)
