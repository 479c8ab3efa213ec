"""A fit that was stopped continues from its file to the same bits, and only from its own."""

from pathlib import Path

import h5py
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hgpbench.fitting import checkpoint
from hgpbench.models import DVSHGP, SVSHGP
from tests.models.zoo import draw

SMALL = {"n_experts": 4, "n_inducing_f": 12, "n_inducing_g": 8, "random_state": 0}


class Stopped(Exception):
    pass


@pytest.mark.parametrize("stop", [1, 7, 20])
def test_a_stopped_fit_continues_to_the_same_bits(
    stop: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "EVERY", 0.0)
    X, y = draw(200)
    whole = DVSHGP(**SMALL, optimizer="natural(n_passes=6)").fit(X, y)
    path, heard = tmp_path / "checkpoint.h5", []

    def interrupt(step: int, total: int | None, bound: float) -> None:
        if step == stop:
            raise Stopped

    with pytest.raises(Stopped):
        DVSHGP(**SMALL, optimizer="natural(n_passes=6)").fit(X, y, callback=interrupt, checkpoint=path)
    model = DVSHGP(**SMALL, optimizer="natural(n_passes=6)", n_jobs=1)
    model.fit(X, y, callback=lambda *news: heard.append(news), checkpoint=path)
    assert heard[0][0] == stop + 1
    assert model.resumed_seconds_ > 0
    assert model.elbo_ == whole.elbo_
    assert_array_equal(model.trace_[:, [0, 2]], whole.trace_[:, [0, 2]])
    assert np.all(np.diff(model.trace_[:, 1]) >= 0)
    assert_array_equal(model.predict_dist(X).var, whole.predict_dist(X).var)
    assert model.n_evaluations_ == whole.n_evaluations_


def test_a_checkpoint_of_another_problem_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "EVERY", 0.0)
    X, y = draw(100)
    path = tmp_path / "checkpoint.h5"
    DVSHGP(**SMALL, optimizer="natural(n_passes=2)").fit(X, y, checkpoint=path)
    for other in (
        DVSHGP(**SMALL, optimizer="natural(n_passes=3)"),
        DVSHGP(**SMALL | {"random_state": 1}, optimizer="natural(n_passes=2)"),
    ):
        plain = other.fit(X, y).elbo_
        assert other.fit(X, y, checkpoint=path).elbo_ == plain
        assert other.resumed_seconds_ == 0.0
    moved = y.copy()
    moved[3] += 1e-9
    assert (
        DVSHGP(**SMALL, optimizer="natural(n_passes=2)").fit(X, moved, checkpoint=path).resumed_seconds_
        == 0.0
    )
    path.write_bytes(b"not a checkpoint")
    assert DVSHGP(**SMALL, optimizer="natural(n_passes=2)").fit(X, y, checkpoint=path).resumed_seconds_ == 0.0


@pytest.mark.parametrize(
    "model", [DVSHGP(**SMALL, optimizer="natural(n_passes=2)"), SVSHGP(8, 5, max_iter=4, random_state=0)]
)
def test_a_checkpoint_of_an_older_version_is_refused_in_one_line(
    model: DVSHGP | SVSHGP,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(checkpoint, "EVERY", 0.0)
    X, y = draw(100)
    path = tmp_path / "checkpoint.h5"
    plain = model.fit(X, y, checkpoint=path).elbo_
    with h5py.File(path, "r+") as file:
        file.attrs["format"] = 1
    assert model.fit(X, y, checkpoint=path).elbo_ == plain
    (line,) = caplog.messages
    assert line.endswith("(format 1, not 2) is not continued; the fit starts anew")
    assert line.startswith(str(path))
    assert model.resumed_seconds_ == 0.0
    assert model.fit(X, y, checkpoint=path).resumed_seconds_ > 0.0
