"""Entry point of ``hgpbench`` and ``python -m hgpbench``."""

import sys

# Until ``main`` has said what an interrupt should do, it is a traceback; so nothing that takes time comes
# before, and signal itself takes some: what lies below it is built into Python.
_signal = __import__("_signal")
SIGNALS = {_signal.SIGINT: "SIGINT", _signal.SIGTERM: "SIGTERM"}
EXIT_INTERRUPTED = 130


def main() -> None:
    """The command line; an interrupt at any moment is one line and an exit code of its own."""
    arrived: list[str] = []

    def stop(number: int, frame: object) -> None:
        for kind in SIGNALS:
            _signal.signal(kind, _signal.SIG_IGN)  # we are on our way
        arrived.append(SIGNALS[number])
        from hgpbench.errors import Stopped

        raise Stopped

    for kind in SIGNALS:
        _signal.signal(kind, stop)
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
