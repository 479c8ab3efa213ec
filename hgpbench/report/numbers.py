"""Numbers as a reader wants them: two digits of the deviation, and no more of the mean than that supports."""

import math

from hgpbench.report.summary import Stat

ABSENT = "–"
_DIGITS = 4  # of a mean without a deviation
MOST_DIGITS = 5  # of a mean whose deviation is small
_FEW = 3  # values: the deviation of fewer may be small by chance, and asks for no more digits
_NOTHING = 1e-9  # a deviation smaller than this share of the mean is round-off


def mean_sd(stat: Stat, most: int = MOST_DIGITS) -> str:
    """``0.123 ± 0.004`` with two significant digits of the deviation; the mean alone where there is none."""
    if stat.n == 0:
        return ABSENT
    if math.isnan(stat.sd):
        return plain(stat.mean)
    if stat.sd <= _NOTHING * abs(stat.mean):  # round-off, not a deviation
        return f"{plain(stat.mean)} ± 0"
    size, most = max(abs(stat.mean), stat.sd), min(most, _DIGITS) if stat.n < _FEW else most
    if 1e-4 <= size < 1e6:
        return _fixed(stat.mean, stat.sd, most)
    power = _power(size)
    return f"({_fixed(stat.mean / 10.0**power, stat.sd / 10.0**power, most)})e{power:+03d}"


def plain(value: float, digits: int = _DIGITS) -> str:
    """A single number with a fixed count of significant digits, without padding it beyond the point."""
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    if value == 0:
        return "0"
    if not 1e-4 <= abs(value) < 1e6:
        return f"{value:.{digits - 1}e}"
    rounded = float(f"{value:.{digits - 1}e}")  # 0.99996 is 1.000, not 1.0000
    return f"{value:.{max(0, digits - 1 - _power(rounded))}f}"


def _fixed(mean: float, sd: float, most: int) -> str:
    wanted = 1 - _power(float(f"{sd:.1e}"))  # rounded first: 0.0996 is 0.10, not 0.100
    decimals = max(0, min(wanted, most - 1 - _power(max(abs(mean), sd))))
    text = f"{mean:.{decimals}f}"
    if float(text) == 0:
        text = text.removeprefix("-")
    spread = f"{sd:.{decimals}f}"
    return f"{text} ± {spread if float(spread) else f'<{10.0**-decimals:.{decimals}f}'}"


def _power(value: float) -> int:
    return math.floor(math.log10(abs(value)))
