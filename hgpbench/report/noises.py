"""Which noise the runs of a model tell of: one variance a run, or variances that vary over test points."""

from collections.abc import Iterable

import numpy as np

from hgpbench.report.digest import Digest

NEARLY = 0.1
"""How far apart logs of variances may be and count as one: 5 per cent of a standard deviation."""
_BULK = (0.025, 0.975)  # shares of the test points between which that is asked


def constants(digests: Iterable[Digest]) -> list[float] | None:
    """The log noise variance of each run that tells one, in the middle; None where any of them varies.

    A density would show noise that is nearly constant as a spike, which says less than a line does and leaves
    no room for the others.
    """
    told = [digest.log_noise for digest in digests if digest.log_noise]
    ends = [np.quantile(each, _BULK) for each in told]
    if not told or any(high - low > NEARLY for low, high in ends):
        return None
    return [float(np.median(each)) for each in told]
