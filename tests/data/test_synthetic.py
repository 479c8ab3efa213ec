"""Synthetic draws: seeded, on the grids of the paper, with the noise that the truth says."""

import numpy as np
import pytest

from hgpbench.data.split import Split
from hgpbench.data.synthetic import GENERATORS
from hgpbench.errors import DataError

TOY, SINC2D = GENERATORS["toy"], GENERATORS["sinc2d"]


def test_toy_has_the_paper_s_function_and_noise() -> None:
    x = np.array([[-3.25], [0.0], [0.5], [7.0]])
    mean, noise_var = TOY.truth(x)
    t = x[:, 0]
    np.testing.assert_allclose(
        mean, [np.sin(np.pi * -3.25) / (np.pi * -3.25), 1.0, 2 / np.pi, 0.0], atol=1e-15
    )
    np.testing.assert_allclose(np.sqrt(noise_var), 0.05 + 0.2 * (1 + np.sin(2 * t)) / (1 + np.exp(-0.2 * t)))


def test_sinc2d_is_the_toy_of_a_tenth_of_the_product() -> None:
    X = np.random.default_rng(0).uniform(-10, 10, (50, 2))
    np.testing.assert_array_equal(SINC2D.truth(X), TOY.truth(0.1 * X[:, :1] * X[:, 1:]))


def test_default_sizes_are_the_paper_s() -> None:
    assert TOY.sizes(TOY.split) == (500, 500)
    assert SINC2D.sizes(SINC2D.split) == (10_000, 4_900)


def test_test_points_are_even_grids() -> None:
    line = TOY.fold(Split(10, 101), seed=0)
    np.testing.assert_allclose(np.diff(line.X_test[:, 0]), 0.2)
    assert line.X_test[[0, -1], 0].tolist() == [-10, 10]
    plane = SINC2D.fold(Split(10, 49), seed=0)
    assert plane.X_test.shape == (49, 2)
    assert len(np.unique(plane.X_test, axis=0)) == 49
    assert len(np.unique(plane.X_test[:, 1])) == 7
    np.testing.assert_array_equal(plane.test_index, np.arange(49))


def test_one_seed_repeats_and_two_differ() -> None:
    first, again, other = (TOY.fold(Split(20, 30), seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first.y_train, again.y_train)
    np.testing.assert_array_equal(first.y_test, again.y_test)
    assert not np.array_equal(first.X_train, other.X_train)
    assert not np.array_equal(first.y_test, other.y_test)


def test_the_training_size_does_not_touch_the_test_noise() -> None:
    few, many = TOY.fold(Split(20, 30), 1), TOY.fold(Split(2000, 30), 1)
    np.testing.assert_array_equal(few.y_test, many.y_test)


@pytest.mark.parametrize("generator", [TOY, SINC2D])
def test_residuals_follow_the_true_noise(generator: object) -> None:
    fold = GENERATORS[generator.name].fold(Split(40_000, 40_000 if generator is TOY else 200**2), seed=2)
    mean, noise_var = generator.truth(fold.X_train)
    np.testing.assert_array_equal(fold.truth_mean, generator.truth(fold.X_test)[0])
    for residual in (
        (fold.y_train - mean) / np.sqrt(noise_var),
        (fold.y_test - fold.truth_mean) / np.sqrt(fold.truth_noise_var),
    ):
        assert abs(residual.mean()) < 0.02
        assert abs(residual.std() - 1) < 0.02


def test_training_inputs_fill_the_cube_evenly() -> None:
    X = SINC2D.fold(Split(20_000, 4), seed=3).X_train
    counts = np.histogram2d(X[:, 0], X[:, 1], bins=4, range=[[-10, 10]] * 2)[0]
    assert counts.sum() == 20_000
    np.testing.assert_allclose(counts, 1250, rtol=0.12)


def test_scored_in_sample_uses_the_training_points() -> None:
    fold = TOY.fold(Split(15, "train"), seed=0)
    np.testing.assert_array_equal(fold.X_test, fold.X_train)
    np.testing.assert_array_equal(fold.y_test, fold.y_train)


@pytest.mark.parametrize("split", [Split(0.5, 10), Split(10, "rest"), Split("all", "train")])
def test_only_counts_can_be_drawn(split: Split) -> None:
    with pytest.raises(DataError, match="need a count"):
        TOY.fold(split, seed=0)


def test_a_plane_needs_a_square_number() -> None:
    with pytest.raises(DataError, match=r"take 4,900"):
        SINC2D.fold(Split(10, 5_000), seed=0)


def test_hashes_tell_the_generators_apart() -> None:
    assert len({TOY.sha256, SINC2D.sha256}) == 2
    assert len(TOY.sha256) == 64
