"""Durations and sizes."""

import pytest

from hgpbench import units


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2h", 7200),
        ("1h30m", 5400),
        ("90 min", 5400),
        ("45s", 45),
        (12, 12),
        (0.5, 0.5),
        ("1.5 h", 5400),
        ("2d", 172800),
    ],
)
def test_a_duration_is_read(text: object, expected: float) -> None:
    assert units.seconds(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("16GB", 16e9), ("512 MiB", 512 * 2**20), ("1.5gb", 1.5e9), (1000, 1000), ("7B", 7)],
)
def test_a_size_is_read(text: object, expected: float) -> None:
    assert units.byte_count(text) == expected


@pytest.mark.parametrize(
    "bad", ["soon", "", "h", "-1h", "3 parsecs", "1h 30", True, None, [], -1, 0, float("nan"), "1e400h"]
)
def test_a_bad_duration_is_refused(bad: object) -> None:
    with pytest.raises(ValueError, match="duration"):
        units.seconds(bad)


@pytest.mark.parametrize("bad", ["16 gigs", "2h", "", False, 0, -5])
def test_a_bad_size_is_refused(bad: object) -> None:
    with pytest.raises(ValueError, match="size"):
        units.byte_count(bad)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.4213, "0.421 s"),
        (12.34, "12.3 s"),
        (250, "4 min 10 s"),
        (7500, "2 h 05 min"),
        (3599.9, "1 h 00 min"),
    ],
)
def test_a_duration_is_shown(value: float, shown: str) -> None:
    assert units.show_seconds(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(812e6, "812 MB"), (3.21e9, "3.21 GB"), (12, "12 B"), (1500, "1.5 kB")]
)
def test_a_size_is_shown(value: float, shown: str) -> None:
    assert units.show_bytes(value) == shown
