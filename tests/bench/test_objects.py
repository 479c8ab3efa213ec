"""Objects by class path, pipelines and a noise about a mean: what a config may ask of somebody else's model."""

import sys
from pathlib import Path

import numpy as np
import pytest

from hgpbench import config
from hgpbench.bench import estimators, plan
from hgpbench.bench.job import Job
from hgpbench.config import yamlfile
from hgpbench.errors import ConfigError
from hgpbench.peers.wrapped import NOISES, WithNoise
from tests.models.zoo import draw

HEAD = "name: x\ndataset: toy\nsplit: {train: 30, test: 20}\nmodels:\n  a: "
GPR = "sklearn.gaussian_process:GaussianProcessRegressor"
KERNELS = "sklearn.gaussian_process.kernels"
KERNEL = f"{{class: {KERNELS}:Sum, k1: {{class: {KERNELS}:Matern, nu: 1.5}}, k2: {{class: {KERNELS}:WhiteKernel}}}}"
PIPELINE = (
    "{model: sklearn.pipeline:Pipeline, steps: [[scale, {class: sklearn.preprocessing:StandardScaler}], "
    "[last, {class: %s}]]%s}"
)


def planned(folder: Path, text: str) -> Job:
    document = yamlfile.parse(HEAD + text, folder / "x.yaml")
    [job] = plan.make(config.check(document), [0], [], None)
    return job


def test_a_kernel_is_an_object(tmp_path: Path) -> None:
    job = planned(tmp_path, f"{{model: '{GPR}', kernel: {KERNEL}}}")
    model = estimators.build(job)
    assert str(model.kernel) == "Matern(length_scale=1, nu=1.5) + WhiteKernel(noise_level=1)"
    other = planned(tmp_path, f"{{model: '{GPR}', kernel: {KERNEL.replace('1.5', '2.5')}}}")
    assert job.identity != other.identity
    assert job.identity == planned(tmp_path, f"{{model: '{GPR}', kernel: {KERNEL}}}").identity


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_it_beats_the_gp_without_one(tmp_path: Path) -> None:
    """scikit-learn's default, a kernel that learns nothing, is no rival to be shown."""
    X, y = draw(80)
    Xs, ys = draw(200, seed=1)
    losses = []
    for given in (f"model: '{GPR}'", f"model: '{GPR}', kernel: {KERNEL}"):
        mean, std = estimators.build(planned(tmp_path, f"{{{given}}}")).fit(X, y).predict(Xs, return_std=True)
        std = np.maximum(std, 1e-3)
        losses.append(np.mean(np.log(std) + 0.5 * ((ys - mean) / std) ** 2))
    assert losses[1] < losses[0] - 1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_pipeline_tells_what_its_last_step_tells(tmp_path: Path) -> None:
    X, y = draw(60)
    model = estimators.build(planned(tmp_path, PIPELINE % (GPR, "")))
    assert model.steps[-1][1].random_state == 0
    mean, std = model.fit(X, y).predict(X, return_std=True)
    assert mean.shape == std.shape == (60,)
    with pytest.raises(ConfigError, match=r"x\.yaml:5: models\.a: .* predicts a mean only: .* two-stage"):
        planned(tmp_path, PIPELINE % ("sklearn.linear_model:LinearRegression", ""))
    wrapped = estimators.build(
        planned(tmp_path, PIPELINE % ("sklearn.linear_model:LinearRegression", ", noise: residual"))
    )
    assert isinstance(wrapped, WithNoise)


@pytest.mark.parametrize("noise", NOISES)
def test_any_regressor_gets_a_noise(noise: str, tmp_path: Path) -> None:
    text = f"{{model: 'sklearn.tree:DecisionTreeRegressor', max_depth: 6, noise: {noise}}}"
    X, y = draw(600)
    Xs, ys = draw(600, seed=1)
    found = estimators.build(planned(tmp_path, text)).fit(X, y).predict_dist(Xs)
    square = float(np.mean((ys - found.mean) ** 2 / found.var))
    assert (square > 1.3) if noise == "residual" else (0.5 < square < 1.5)  # the tree knows its own rows
    assert (np.ptp(found.var) > 0) == (noise == "two-stage")
    if noise == "conformal":
        low, high = found.quantile([0.05, 0.95])
        assert np.mean((ys > low) & (ys < high)) == pytest.approx(0.9, abs=0.06)


def test_two_stages_find_the_noise_that_varies() -> None:
    from sklearn.neighbors import KNeighborsRegressor

    X, y = draw(1500)
    model = WithNoise(KNeighborsRegressor(25), "two-stage", random_state=0).fit(X, y)
    Xs, _ = draw(300, seed=1)
    truth = 2 * (-2 + 0.7 * Xs[:, 0])
    assert np.corrcoef(np.log(model.predict_dist(Xs).noise_var), truth)[0, 1] > 0.7


def test_a_parameter_called_noise_is_the_models_own(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "class Own:\n    def __init__(self, noise=1.0):\n        self.noise = noise\n"
        "    def fit(self, X, y):\n        return self\n    def predict(self, X, return_std=False):\n        return X\n"
    )
    sys.modules.pop("own", None)
    assert estimators.build(planned(tmp_path, "{model: own:Own, noise: 2.5}")).noise == 2.5
    sys.modules.pop("own", None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{{model: '{GPR}', kernel: {{nu: 1.5}}}}", "models.a.kernel: a mapping stands for an object and names its class"),
        (f"{{model: '{GPR}', kernel: {{class: {KERNELS}:Matren}}}}", "models.a.kernel: model 'sklearn.gaussian_process.kernels:Matren' cannot be imported"),
        (f"{{model: '{GPR}', kernel: {{class: {KERNELS}:Matern, n: 1}}}}", "has no parameter 'n'; did you mean 'nu'?"),
        (f"{{model: '{GPR}', kernel: {{class: {KERNELS}:Sum}}}}", "models.a.kernel: sklearn.gaussian_process.kernels:Sum cannot be made: TypeError"),
        (f"{{model: '{GPR}', kernel: {{class: {KERNELS}:Matern, nu: .nan}}}}", "nan is not allowed"),
        (f"{{model: '{GPR}', kernel: {{class: own.py:Matern}}}}", "name the module, not its file"),
        ("{model: vsgp, n_inducing: {class: builtins:int}}", "models.a.n_inducing: a model of hgpbench takes no objects"),
        ("{model: 'sklearn.linear_model:LinearRegression'}", "predicts a mean only"),
        ("{model: 'sklearn.linear_model:LinearRegression', noise: none}", "models.a.noise: 'none' is not allowed; allowed: residual, cv-residual"),
        ("{model: vsgp, noise: residual}", "vsgp has no such parameter"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line_before_anything_runs(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as told:
        planned(tmp_path, text)
    assert message in str(told.value)
    assert "x.yaml:5: models.a" in str(told.value)
    assert "\n" not in str(told.value)


def test_an_installed_package_offers_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "offered.py").write_text(
        "class Given:\n    def fit(self, X, y):\n        return self\n    def predict(self, X, return_std=False):\n        return X\n"
    )
    about = tmp_path / "offered-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: offered\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[hgpbench.models]\nfamous = offered:Given\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for cached in (estimators.find, estimators._offered):
        cached.cache_clear()
    assert planned(tmp_path, "{model: famous}").model == "offered:Given"
    with pytest.raises(ConfigError, match="did you mean 'famous'"):
        planned(tmp_path, "{model: famuos}")
    monkeypatch.undo()
    for cached in (estimators.find, estimators._offered):
        cached.cache_clear()
