"""What can go wrong, as one tree.

HgpbenchError
├── ConfigError   an experiment file or an option says something that is not allowed
├── DataError     a dataset cannot be obtained, read or understood
├── RecordError   a stored run is damaged or of another format
├── ClusterError  a cluster cannot be reached or used, or was lost
└── FitError      a model cannot be fitted
    ├── Refusal   a model declines a problem by design (too many rows, say): skipped, not failed
    └── Ended     a process that a fit needs was ended from outside: killed, not failed

UserWarning
└── Caution               of a fit that is one, but may not be what its user believes
    ├── NoBetterThanTheMean   it explains nothing: right on noise, else a sign that the fit went wrong
    └── CopiedRows            training rows are copies of others, which count as observations of their own

A message says what is wrong, where, what is allowed and what to do. Only ``cli.py`` turns these into one red
line and an exit code.
"""


class HgpbenchError(Exception):
    """Base of every error that is the user's to mend."""


class ConfigError(HgpbenchError):
    """An experiment file or an option says something that is not allowed."""


class DataError(HgpbenchError):
    """A dataset cannot be obtained, read or understood."""


class Unreachable(DataError):
    """Nobody answered. What failed stands apart from what to do, so that many failures tell that once."""

    advice = "check the internet connection, or give a file with --from"

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}; {self.advice}")
        self.what = what


class RecordError(HgpbenchError):
    """A stored run is damaged or of another format."""


class ClusterError(HgpbenchError):
    """A cluster cannot be reached or used, or was lost."""


class FitError(HgpbenchError, ValueError):
    """A model cannot be fitted; a ValueError too, as scikit-learn's users expect."""


class Refusal(FitError):
    """A model declines a problem by design; the run is recorded as skipped."""


class Ended(FitError):
    """A process that a fit needs was ended from outside; the run is recorded as killed, and can go on."""


class Caution(UserWarning):
    """Of a fit that may not be what its user believes."""


class NoBetterThanTheMean(Caution):
    """A fitted model explains nothing of its own training rows."""


class CopiedRows(Caution):
    """Training rows are copies of others, target and all."""


class Stopped(BaseException):
    """A signal to end arrived; nothing but the entry point catches this."""
