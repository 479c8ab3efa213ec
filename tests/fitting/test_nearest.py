"""Which kernel of f is taken: the density of left-out rows decides among those that err no more than others."""

import numpy as np
import pytest

from hgpbench.fitting.nearest import Signal, Task, begun, best_of
from hgpbench.gp.tasks import serially

KINDS = ("se", "matern12", "matern32")
DENSITIES = (0.14, 0.2, 0.3)


@pytest.mark.parametrize(
    ("errors", "winner"),
    [
        ((1.0, 1.0, 1.0), "matern32"),  # the greatest density
        ((1.0, 1.0, 1.3), "matern12"),  # which may not be bought with squared error
        ((1.0, 1.2, 1.3), "se"),
        ((1.0, 1.0, 1.005), "matern32"),  # but for a hundredth of it
    ],
)
def test_density_decides_among_kernels_that_do_not_surely_err_more(errors, winner) -> None:
    rng = np.random.default_rng(0)
    common = rng.chisquare(1, 4000)
    judged = {
        kernel: (np.full(4000, density), error * common)
        for kernel, density, error in zip(KINDS, DENSITIES, errors, strict=True)
    }
    found, others, densities = best_of(
        KINDS, lambda kernel: Signal(kernel, {}, 5, evaluations=2), lambda signal: judged[signal.kernel]
    )
    # Who is far behind does not compete again.
    hopeful = {"se": KINDS, "matern12": KINDS, "matern32": ("matern12", "matern32")}
    assert found.kernel == winner
    assert found.evaluations == 6
    assert [other.kernel for other in others] == [kernel for kernel in hopeful[winner] if kernel != winner]
    assert densities == pytest.approx(dict(zip(KINDS, DENSITIES, strict=True)))


def test_errors_that_chance_may_explain_exclude_no_kernel() -> None:
    plain = np.ones(4000)
    other = plain.copy()
    other[:5] += [100.0, 100.0, 100.0, -100.0, -100.0]  # more by a fortieth, give or take a twentieth
    judged = {"se": (np.zeros(4000), plain), "matern12": (np.ones(4000), other)}
    found, _, _ = best_of(
        ("se", "matern12"), lambda kernel: Signal(kernel, {}, 5), lambda signal: judged[signal.kernel]
    )
    assert found.kernel == "matern12"


def test_one_kernel_needs_no_judge() -> None:
    found, others, densities = best_of(("se",), lambda kernel: Signal(kernel, {}, 5), lambda signal: 1 / 0)
    assert found.kernel == "se"
    assert others == ()
    assert densities == {}


def test_the_noise_level_of_a_contender_is_learned_from_more_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that tell of it may be rare: one row in two hundred is off by far."""
    rng = np.random.default_rng(2)
    X = rng.uniform(-3, 3, (4000, 1))
    y = np.sin(2 * X[:, 0]) + (rng.random(4000) < 0.005) * rng.normal(size=4000)
    task = Task.of(X, y, np.random.default_rng(0), serially)
    asked, bound = [], Task.bound
    monkeypatch.setattr(Task, "bound", lambda *given: asked.append(len(given[3])) or bound(*given))
    found = begun(task, "se", 10, 0, 15)
    assert asked == [500, 2000, 4000]
    off = found.judged(task, np.arange(4000))[1]
    assert found.values["sigma2"] == pytest.approx(off.mean(), rel=0.3)
