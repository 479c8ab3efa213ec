"""Fits whose rows machines read from a disk that they share with the command, or are sent: the same bits."""

from pathlib import Path
from typing import Any

import pytest
from numpy.testing import assert_array_equal

from hgpbench.experts import desk, remote
from hgpbench.models import DVSHGP
from tests.cluster.machines import Machines
from tests.models.zoo import draw

FIT: dict[str, Any] = {
    "expert_size": 20,
    "n_inducing_f": 8,
    "n_inducing_g": 6,
    "optimizer": "natural(n_passes=3)",
    "random_state": 0,
}


@pytest.mark.parametrize("shared", [True, False])
def test_rows_come_from_a_shared_disk_or_over_the_network(
    machines: Machines, workplace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    if not shared and not machines.apart:
        pytest.skip("needs machines that do not see the folder of the command")
    machines.up("abc")
    told: list[str] = []
    message = desk.message

    def noting(task: Any, *details: Any) -> bytes:
        told.append(task.__name__)
        return message(task, *details)

    monkeypatch.setattr(desk, "message", noting)
    monkeypatch.setattr(remote, "PIECE", 1000)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path if shared else workplace))
    X, y = draw(1000)
    found = DVSHGP(cluster=machines.address, **FIT).fit(X, y)
    expected = DVSHGP(n_jobs=1, **FIT).fit(X, y)
    assert_array_equal(found._experts.flat, expected._experts.flat)
    for mine, other in zip(found._experts.states, expected._experts.states, strict=True):
        assert_array_equal(mine, other)
    assert ("take" in told, "hold" in told) == (shared, not shared)
