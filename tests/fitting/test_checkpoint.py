"""A fit that was stopped continues from its file to the same bits, and only from its own."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from hgpbench import sealed
from hgpbench.fitting import checkpoint
from hgpbench.models import DVSHGP, NNGP, NNHGP, SVGP, SVSHGP, Estimator
from tests.models.zoo import draw

SMALL = {"n_experts": 4, "n_inducing_f": 12, "n_inducing_g": 8, "random_state": 0}


class Stopped(Exception):
    pass


FITS = {
    # The guard takes f back at the close of a window, every twelve steps; passes about the noise follow.
    "dvshgp guarded": DVSHGP(**SMALL, optimizer="natural(n_passes=20)"),
    "dvshgp to its limit": DVSHGP(**SMALL, optimizer="natural(n_passes=6, guard=false)"),
    "dvshgp, two workers": DVSHGP(
        **SMALL | {"n_experts": 20},
        optimizer="natural(n_passes=2)",
        kernel="matern32",
        noise_kernel="matern52",
        n_jobs=2,
    ),
    "svshgp": SVSHGP(
        8, 5, batch_size=50, max_iter=24, kernel="matern12", noise_kernel="matern32", random_state=0
    ),
    "svshgp that stands still": SVSHGP(
        8, 5, batch_size=50, max_iter=400, tol=0.5, holdout=0.1, random_state=0
    ),
    "svgp that stands still": SVGP(8, batch_size=50, max_iter=400, tol=0.5, random_state=0),
    "nngp by stages": NNGP(max_iter=6, random_state=0),
    # Weights are asked for, so that f and g are learned again.
    "nnhgp by stages": NNHGP(n_noise_neighbors=20, weights=1.0, max_iter=3, n_restarts=1, random_state=0),
}
STAGES = {"nngp by stages": 7, "nnhgp by stages": 40}  # fewest


def left_by(model: Estimator, X: np.ndarray) -> dict[str, object]:
    """Everything that a fit leaves, but for its times, as text that only the same bits give."""
    model.set_params(n_jobs=1)
    numbers = {name: getattr(model, name) for name in ("elbo_", "n_iter_", "n_evaluations_", "jitter_")}
    arrays = {"trace": model.trace_[:, [0, 2]]} | model.predict_dist(X).arrays()
    return {"outcome": model.outcome_} | numbers | {name: array.tobytes() for name, array in arrays.items()}


@pytest.mark.parametrize("name", FITS)
def test_a_fit_resumed_from_any_of_its_states_ends_with_the_same_bits(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "EVERY", 0.0)
    workers = "workers" in name
    monkeypatch.setattr("hgpbench.models.dvshgp.WORTH_WORKERS", 0.0 if workers else np.inf)
    X, y = draw(200)
    path, states = tmp_path / "checkpoint.h5", []
    offer = checkpoint.Checkpoint.offer

    def keep(self: checkpoint.Checkpoint, state: Callable[[], checkpoint.Arrays]) -> None:
        offer(self, state)
        states.append(path.read_bytes())

    with monkeypatch.context() as patched:
        patched.setattr(checkpoint.Checkpoint, "offer", keep)
        whole = clone(FITS[name]).fit(X, y, checkpoint=path)
    expected = left_by(whole, X)
    assert left_by(clone(FITS[name]).fit(X, y), X) == expected
    assert len(states) >= STAGES.get(name, whole.n_iter_ - 1)
    every = max(1, len(states) // (3 if workers else 20))  # of long fits some, and always the last
    for state in states[::-every]:
        path.write_bytes(state)
        resumed = clone(FITS[name]).fit(X, y, checkpoint=path)
        assert resumed.resumed_seconds_ > 0.0
        assert left_by(resumed, X) == expected


def test_the_guard_and_the_tolerance_of_these_fits_do_end_them() -> None:
    X, y = draw(200)
    for name in ("dvshgp guarded", "svshgp that stands still", "svgp that stands still"):
        assert clone(FITS[name]).fit(X, y).outcome_ == "converged", name


def test_a_damaged_checkpoint_counts_as_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(checkpoint, "EVERY", 0.0)
    X, y = draw(100)
    path, model = tmp_path / "checkpoint.h5", DVSHGP(**SMALL, optimizer="natural(n_passes=1)")
    plain = model.fit(X, y, checkpoint=path).elbo_
    sound, rng = path.read_bytes(), np.random.default_rng(0)
    for trial in range(60):
        damaged = bytearray(sound)
        if trial % 3 == 0:
            damaged = damaged[: rng.integers(len(damaged))]
        else:
            damaged[rng.integers(len(damaged))] ^= 1 << rng.integers(8)
        path.write_bytes(damaged)
        stored = checkpoint.Checkpoint(path, "any")
        assert stored.stored is None
        assert stored.seconds == 0.0
    assert all("is not continued; the fit starts anew" in line for line in caplog.messages)
    assert model.fit(X, y, checkpoint=path).elbo_ == plain
    assert model.resumed_seconds_ == 0.0


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
        DVSHGP(**SMALL, optimizer="natural(n_passes=2)", kernel="matern52"),
        DVSHGP(**SMALL, optimizer="natural(n_passes=2)", noise_kernel="matern52"),
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
    content = path.read_bytes()
    path.write_bytes(content[sealed.SEAL_BYTES :])  # as versions without a seal wrote them
    assert model.fit(X, y, checkpoint=path).elbo_ == plain
    (line,) = caplog.messages
    assert line.endswith("a checkpoint of another version is not continued; the fit starts anew")
    assert line.startswith(str(path))
    assert model.resumed_seconds_ == 0.0
    assert model.fit(X, y, checkpoint=path).resumed_seconds_ > 0.0
