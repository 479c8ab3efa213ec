"""A quick turn of the structured fuzz; see ``tests.fuzzing`` for a longer one."""

from pathlib import Path

import pytest
import yaml

from tests import fuzzing
from tests.cli.conftest import Invoke


def test_the_files_are_good_before_they_are_odd(folder: Path, invoke: Invoke) -> None:
    (folder / "good.yaml").write_text(yaml.safe_dump(fuzzing.CONFIG))
    assert invoke("run", "good.yaml", "--dry-run", "--quick").exit_code == 0
    (folder / "small.csv").write_bytes(fuzzing.TABLE)
    (folder / "small.yaml").write_text(yaml.safe_dump(fuzzing.CARD))
    assert invoke("fetch", "small.yaml").exit_code == 0
    assert invoke("fetch", "--csv", "small.csv", "--target", "y", "--name", "t").exit_code == 0


@pytest.mark.parametrize("kind", sorted(fuzzing.KINDS))
def test_no_file_gets_a_traceback(kind: str, folder: Path) -> None:
    endings = fuzzing.run(seed=0, count=60, folder=folder / "fuzz", kinds=(kind,))
    assert sum(endings.values()) >= fuzzing.cases_of(kind, 60)
    assert endings[f"{kind} 0"] > 0
