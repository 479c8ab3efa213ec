"""A fetch ends with a complete dataset or with one clear line and nothing left behind."""

import errno
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from scipy.io import savemat

from hgpbench.data import store
from hgpbench.data.fetch import check, fetch
from hgpbench.data.source import open_source
from hgpbench.data.split import Split
from hgpbench.errors import DataError
from tests.data.conftest import CSV, card_body, left_in


@pytest.fixture
def small(folder: Path, make_card: Callable[..., Path]) -> Path:
    """A card with its raw file beside it; the file is returned."""
    make_card(rows=4)
    raw = folder.parent / "small.csv"
    raw.write_text(CSV)
    return raw


def test_a_dataset_is_written_and_can_be_opened(folder: Path, small: Path) -> None:
    result = fetch("small", source=str(small))
    assert (result.name, result.status, result.rows, result.inputs, result.target) == (
        "small",
        "written",
        4,
        2,
        "y",
    )
    assert result.path == folder / "small.h5"
    assert result.seconds > 0
    assert len(result.raw_sha256["small.csv"]) == 64
    assert result.notes == (
        f"small.csv: the card gives no hash; found sha256 {result.raw_sha256['small.csv']}",
    )
    source = open_source("small")
    assert (source.sha256, source.default_split) == (result.sha256, Split(0.8, "rest"))
    table = store.read(folder / "small.h5")
    np.testing.assert_array_equal(table.X, [[1, 2], [4, 5], [7, 8], [10, 11]])
    np.testing.assert_array_equal(table.y, [3, 6.5, -9, 12])


def test_what_is_there_is_kept_unless_forced(folder: Path, small: Path) -> None:
    first = fetch("small", source=str(small))
    stamp = (folder / "small.h5").stat().st_mtime_ns
    again = fetch("small", source="/nowhere")
    assert (again.status, again.sha256, again.raw_sha256) == ("present", first.sha256, first.raw_sha256)
    assert (folder / "small.h5").stat().st_mtime_ns == stamp
    small.write_text(CSV.replace("6.5", "7.5"))
    forced = fetch("small", source=str(small), force=True)
    assert forced.status == "written"
    assert forced.sha256 != first.sha256


def test_a_failed_force_keeps_the_old_one(folder: Path, small: Path) -> None:
    first = fetch("small", source=str(small))
    small.write_text("a,b,y\n1,2,x\n")
    with pytest.raises(DataError, match=r"row 1, column 'y': 'x' is not a number"):
        fetch("small", source=str(small), force=True)
    assert check("small").sha256 == first.sha256
    assert left_in(folder) == ["small.h5"]


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("", "small.csv is empty"),
        ("a,b,y\n", "has no rows"),
        ("<html>sorry</html>", "HTML page instead of data"),
        ("a,c,y\n1,2,3\n" * 2, "row 2, column 'a': 'a' is not a number"),
        ("a,b,z\n1,2,3\n", "has no column 'y'"),
        ("a,b,y\n1,two,3\n", "row 1, column 'b': 'two' is not a number"),
        ("a,b,y\n1,2,inf\n", "row 1, column 'y': inf is not finite"),
        ("a,b,y\n1,,3\n", "row 1, column 'b': the value is missing"),
        ("a,b,y\n1,2,3\n", "has 1 rows, the card expects 4"),
        (CSV + "1,2,3\n", "has 5 rows, the card expects 4"),
    ],
)
def test_bad_input_has_one_line_and_leaves_nothing(
    folder: Path, small: Path, body: str, complaint: str
) -> None:
    small.write_text(body)
    with pytest.raises(DataError, match=re.escape(complaint)) as caught:
        fetch("small", source=str(small))
    assert str(caught.value).startswith("small: ")
    assert "\n" not in str(caught.value)
    assert left_in(folder) == []


def test_a_folder_made_for_a_failed_fetch_goes_away(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = tmp_path / "mine.yaml"
    card.write_text((tmp_path / "datasets" / "small.yaml").read_text())
    monkeypatch.setenv("HGPBENCH_DATA", str(tmp_path / "new" / "er"))
    small.write_text("a,b,y\n1,2,x\n")
    with pytest.raises(DataError, match="is not a number"):
        fetch(str(card), source=str(small))
    assert not (tmp_path / "new" / "er").exists()


def test_a_published_split_is_kept(folder: Path, make_card: Callable[..., Path], tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    train, test = rng.standard_normal((7, 3)), rng.standard_normal((2, 3))
    savemat(tmp_path / "arm.mat", {"arm": train})
    savemat(tmp_path / "arm_test.mat", {"arm_test": test})
    make_card(
        "arm",
        files=[{"file": "arm.mat", "part": "train"}, {"file": "arm_test.mat", "part": "test"}],
        format={"kind": "mat"},
        columns=["a", "b", "y"],
        rows=9,
        variants={
            "merged": {"split": {"train": 6, "test": 3}},
            "original": {"split": {"train": "published", "test": "published"}},
        },
    )
    fetch("arm", source=str(tmp_path))
    result = fetch("arm:original", source=str(tmp_path))
    assert result.path == folder / "arm.original.h5"
    assert left_in(folder) == ["arm.h5", "arm.original.h5"]
    original = open_source("arm", "original")
    fold = original.fold(original.default_split, seed=0)
    np.testing.assert_array_equal(fold.X_test, test[:, :2])
    np.testing.assert_array_equal(fold.y_train, train[:, 2])
    assert open_source("arm", "merged").default_split == Split(6, 3)


def test_missing_rows_are_counted(folder: Path, make_card: Callable[..., Path], tmp_path: Path) -> None:
    make_card(missing={"values": ["?"], "rule": "drop"}, rows=4)
    (tmp_path / "small.csv").write_text(CSV + "?,1,2\n")
    assert "1 rows with missing values dropped" in fetch("small", source=str(tmp_path)).notes


@pytest.mark.parametrize("name", ["toy", "sinc2d"])
def test_synthetic_sets_need_no_fetching(folder: Path, name: str) -> None:
    for result in (fetch(name), check(name)):
        assert (result.status, result.path) == ("generated", None)
        assert "nothing needs fetching" in result.notes[0]
    assert left_in(folder) == []


def test_a_card_of_one_s_own_joins_the_folder(folder: Path, tmp_path: Path) -> None:
    card = tmp_path / "mine.yaml"
    card.write_text(yaml.safe_dump(card_body(variants={"big": {}, "tiny": {"inputs": ["b"]}}, default="big")))
    (tmp_path / "small.csv").write_text(CSV)
    assert fetch(str(card)).name == "mine"
    assert fetch(f"{card}:tiny").inputs == 1
    assert fetch("mine:tiny").status == "present"
    assert open_source("mine", "tiny").columns == ("b",)
    assert sorted(path.name for path in folder.iterdir()) == ["mine.h5", "mine.tiny.h5", "mine.yaml"]
    with pytest.raises(DataError, match="no such card"):
        fetch("./other.yaml")


def test_a_card_does_not_silently_replace_another(folder: Path, small: Path, tmp_path: Path) -> None:
    other = tmp_path / "small.yaml"
    other.write_text(yaml.safe_dump(card_body(title="Another")))
    before = (folder / "small.yaml").read_text()
    with pytest.raises(DataError, match="another card of that name is there"):
        fetch(str(other))
    assert (folder / "small.yaml").read_text() == before
    assert left_in(folder) == []
    assert fetch(str(other), force=True).status == "written"
    assert (folder / "small.yaml").read_text() == other.read_text()


def test_unknown_names_are_told(folder: Path) -> None:
    with pytest.raises(DataError, match="no such dataset; did you mean 'electric'"):
        fetch("electrics")
    with pytest.raises(DataError, match="no such variant"):
        fetch("sarcos:none")
    with pytest.raises(DataError, match="no dataset name"):
        fetch("../x")


def test_check_finds_what_is_wrong(folder: Path, small: Path, make_card: Callable[..., Path]) -> None:
    with pytest.raises(DataError, match="run `hgpbench fetch small`"):
        check("small")
    fetch("small", source=str(small))
    assert check("small").notes == ("content matches its hash",)
    make_card(rows=5)
    with pytest.raises(DataError, match="has 4 rows, the card expects 5"):
        check("small")
    make_card(files=[{"file": "small.csv", "sha256": "0" * 64}])
    with pytest.raises(DataError, match=r"another small.csv than the card's"):
        check("small")
    (folder / "small.h5").write_bytes(b"junk")
    with pytest.raises(DataError, match="not a readable dataset"):
        check("small")
    with pytest.raises(DataError, match="not a readable dataset"):
        fetch("small", source=str(small))
    make_card()
    assert fetch("small", source=str(small), force=True).status == "written"


def test_a_full_disk_while_unpacking(folder: Path, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("hgpbench.data.raw.unpack", full)
    with pytest.raises(DataError, match="no space left on the disk; nothing was written"):
        fetch("small", source=str(small))
    assert left_in(folder) == []


def run(folder: Path, code: str, **more: Any) -> "subprocess.Popen[str]":
    environment = {**os.environ, "HGPBENCH_DATA": str(folder), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-c", code]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more
    )


FETCH = """
import sys
from hgpbench.data.fetch import fetch
from hgpbench.errors import DataError
try:
    print(fetch("small", source=sys.argv[1] if len(sys.argv) > 1 else {source!r}).status)
except DataError as error:
    print(error)
"""


def test_a_write_that_the_system_stops_leaves_nothing(folder: Path, small: Path, make_card: Any) -> None:
    make_card()
    small.write_text("a,b,y\n" + "1,2,3\n" * 100_000)

    def at_most_a_megabyte() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    with run(folder, FETCH.format(source=str(small)), preexec_fn=at_most_a_megabyte) as child:
        said, errors = child.communicate(timeout=60)
    assert "no space left on the disk; nothing was written" in said, errors
    assert left_in(folder) == []


# A shell that runs the tests in the background has them ignore interrupts, and children inherit that.
SLOW = """
import signal, time
from hgpbench.data import store
from hgpbench.data.fetch import fetch
signal.signal(signal.SIGINT, signal.default_int_handler)
def slow(described):
    print("writing", flush=True)
    time.sleep(60)
store._to_attributes = slow
fetch("small", source={source!r})
"""


def test_two_at_once_and_a_kill_in_the_middle(folder: Path, small: Path) -> None:
    with run(folder, SLOW.format(source=str(small))) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "writing\n"
        with pytest.raises(DataError, match="another fetch is writing it at this moment"):
            fetch("small", source=str(small))
        assert not (folder / "small.h5").exists()
        first.send_signal(signal.SIGKILL)
        assert first.wait(timeout=30) == -signal.SIGKILL
    assert left_in(folder) != []  # the killed one could not clean up
    assert fetch("small", source=str(small)).rows == 4
    assert left_in(folder) == ["small.h5"]


def test_an_interrupt_cleans_up(folder: Path, small: Path) -> None:
    with run(folder, SLOW.format(source=str(small))) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "writing\n"
        child.send_signal(signal.SIGINT)
        assert "KeyboardInterrupt" in child.communicate(timeout=30)[1]
    assert left_in(folder) == []


def test_many_at_once_end_with_one_whole_dataset(folder: Path, small: Path) -> None:
    children = [run(folder, FETCH.format(source=str(small))) for _ in range(3)]
    said = [child.communicate(timeout=60)[0] for child in children]
    assert all(re.search("^(written|present)$|another fetch is writing", words.strip()) for words in said), (
        said
    )
    assert any(words.strip() == "written" for words in said)
    assert check("small").rows == 4
    assert left_in(folder) == ["small.h5"]


def test_a_folder_that_cannot_be_written_is_told(
    folder: Path, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder.parent / "file").write_text("")
    monkeypatch.setenv("HGPBENCH_DATA", str(folder.parent / "file" / "below"))
    card = folder.parent / "mine.yaml"
    card.write_text((folder / "small.yaml").read_text())
    with pytest.raises(DataError, match="cannot be made: Not a directory"):
        fetch(str(card), source=str(small))
