"""Entry point of ``hgpbench`` and ``python -m hgpbench``."""

import signal
import sys
from types import FrameType

from hgpbench.errors import Stopped

EXIT_INTERRUPTED = 130


def main() -> None:
    """The command line; an interrupt at any moment is one line and an exit code of its own."""
    arrived: list[str] = []

    def stop(number: int, frame: FrameType | None) -> None:
        for kind in (signal.SIGINT, signal.SIGTERM):
            signal.signal(kind, signal.SIG_IGN)  # we are on our way
        arrived.append(signal.Signals(number).name)
        raise Stopped

    for kind in (signal.SIGINT, signal.SIGTERM):
        signal.signal(kind, stop)
    try:
        from hgpbench.cli import app

        app()
    except BaseException:
        # Libraries that were being imported may have made another error of it.
        if not arrived:
            raise
        sys.stderr.write(f"hgpbench: interrupted by {arrived[0]}; type the same command to continue\n")
        sys.exit(EXIT_INTERRUPTED)


if __name__ == "__main__":
    main()
