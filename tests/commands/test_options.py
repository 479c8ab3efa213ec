"""What the options of a run say."""

import pytest

from hgpbench.commands.options import chosen_seeds
from hgpbench.errors import ConfigError


@pytest.mark.parametrize(
    ("repeats", "seeds", "chosen"),
    [
        (None, None, None),
        (3, None, (0, 1, 2)),
        (None, "7", (7,)),
        (None, "0-3", (0, 1, 2, 3)),
        (None, " 0 , 2,5 - 7,2", (0, 2, 5, 6, 7)),
    ],
)
def test_seeds(repeats: int | None, seeds: str | None, chosen: tuple[int, ...] | None) -> None:
    assert chosen_seeds(repeats, seeds) == chosen


@pytest.mark.parametrize(
    "seeds", ["", "x", "-1", "3-1", "0-10000", "1;2", "1,,2", "1.5", ",".join(["0-9999"] * 20)]
)
def test_what_is_no_seed_is_named(seeds: str) -> None:
    with pytest.raises(ConfigError, match="--seeds"):
        chosen_seeds(None, seeds)


def test_only_one_option_chooses() -> None:
    with pytest.raises(ConfigError, match="give one of them"):
        chosen_seeds(1, "0")
