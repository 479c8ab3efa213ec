"""The list of datasets: cards with their variants, imported tables, and what is wrong with either."""

from collections.abc import Callable
from pathlib import Path

from hgpbench.data.catalogue import Listed, list_datasets
from hgpbench.data.fetch import fetch
from hgpbench.data.own import import_table
from tests.data.conftest import CSV


def by_name() -> dict[str, Listed]:
    return {line.full_name: line for line in list_datasets()}


def test_shipped_datasets_are_listed_with_their_variants(folder: Path) -> None:
    lines = by_name()
    assert set(lines) >= {
        "protein",
        "sarcos:merged",
        "sarcos:original",
        "sarcos:subset",
        "3droad:sample",
        "toy",
    }
    electric = lines["electric"]
    assert (electric.rows, electric.inputs, electric.target) == (2_049_280, 11, "Global_active_power")
    assert (electric.fetched, electric.licence, electric.problem) == (False, "CC BY 4.0", "")
    assert lines["toy"].fetched
    assert (lines["sinc2d"].rows, lines["sinc2d"].inputs) == (14_900, 2)


def test_own_datasets_are_listed_too(folder: Path, make_card: Callable[..., Path], tmp_path: Path) -> None:
    make_card(inputs=["a"], rows=None)
    assert (by_name()["small"].rows, by_name()["small"].fetched) == (None, False)
    path = tmp_path / "small.csv"
    path.write_text(CSV)
    fetch("small", source=str(path))
    import_table(path, "mine", "y")
    lines = by_name()
    assert (lines["small"].rows, lines["small"].fetched, lines["small"].inputs) == (4, True, 1)
    assert (lines["mine"].rows, lines["mine"].inputs, lines["mine"].title) == (
        4,
        2,
        "Own data from small.csv",
    )


def test_broken_cards_and_files_are_listed_with_their_problem(
    folder: Path, make_card: Callable[..., Path]
) -> None:
    make_card("broken", rows=-1)
    make_card("hollow")
    (folder / "hollow.h5").write_bytes(b"")
    (folder / "stray.h5").write_bytes(b"junk")
    lines = by_name()
    assert "rows" in lines["broken"].problem
    assert "--force" in lines["hollow"].problem
    assert "not a readable dataset" in lines["stray"].problem
    assert lines["protein"].problem == ""
