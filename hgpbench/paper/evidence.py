"""The runs of one experiment as a claim asks for them: by the paper's names, over shared seeds."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hgpbench.report import compare, summary
from hgpbench.report.collect import Experiment, Run
from hgpbench.report.digest import NOISE_QUANTILES
from hgpbench.report.summary import Stat

PAPER = "-paper"  # after the model in a label: the paper's settings, where those of the plain label differ
GUESS = "-guess"  # the same where the paper does not say them: EHSoD's bias correction, the kind of GPVC
GUESSED = ("ehsod", "gpvc")
AS_IN_PAPER = ("dvshgp-random", "svshgp-adam")  # variants that exist with the paper's settings only

TITLES = {
    "smse": "SMSE",
    "msll_gaussian": "MSLL",
    "total_seconds": "time",
    "processor_seconds": "processor time",
    "fit_processor_seconds": "processor time of the fit",
    "peak_memory_gb": "peak memory [GB]",
    "bound": "final bound a training row",
    "noise_var": "noise variance",
    "noise_spread": "standard deviation of the log noise variance",
    "noise_tail": "distance from the median of the log noise variance down to its 1 % quantile",
    "var_spread": "standard deviation of the log predictive variance",
    "var_correlation": "correlation of log predictive variance and log true noise variance",
    "var_log_error": "root mean square log ratio of predictive variance and true noise variance",
    "var_log_bias": "mean log ratio of predictive variance and true noise variance",
    "latent_var": "mean variance of f over the variance of the training targets",
    "bend": "sharpest turn of the mean between neighbouring test inputs",
    "mean_error": "squared error against the true function, relative to its variance,",
    "cycle": "share of the 11-year cycle explained",
    "latent_share": "share of the variance of f in the predictive variance",
    "latent_correlation": "correlation of the log variance of f and the log true noise variance",
}
SHORT = {
    "total_seconds": "time [s]",
    "processor_seconds": "processor [s]",
    "fit_processor_seconds": "processor [s]",
    "var_log_bias": "mean log ratio",
    "latent_var": "share",
    "bend": "turn",
    "noise_spread": "deviation of logs",
    "noise_tail": "tail of logs",
    "var_spread": "deviation of logs",
    "var_correlation": "correlation",
    "var_log_error": "log ratio",
    "mean_error": "relative error",
    "latent_share": "share",
    "latent_correlation": "correlation",
}
MODELS = {
    "dvshgp-n0": "DVSHGP with m0 = u0 = n0/2",
    "dpic": "dPIC",
    "ehsod": "EHSoD",
    "dvshgp-u5": "DVSHGP with u0 = 5",
    "dvshgp-random": "DVSHGP with random experts",
    "svshgp-adam": "SVSHGP by Adam",
    "dvshgp-y": "DVSHGP aggregating y",
    "dvshgp-one-stage": "DVSHGP learned in one stage",
    "lambda-0.5": "one expert with Λ from 0.5",
    "lambda-0.1": "one expert with Λ from 0.1",
    "lambda-2": "one expert with Λ from 2",
}
_SMALLER = re.compile(r"[a-z]+-\d{3,}")  # a label that ends in a number of inducing points: svshgp-500
_NUMBER = r"[-+]?\d+(\.\d*)?(e[-+]?\d+)?"


@dataclass(frozen=True)
class Sample:
    """One quantity over the seeds that all finished labels share, by the paper's names."""

    values: dict[str, dict[int, float]]  # of the names that are finished, by shared seed
    labels: dict[str, str]  # the label behind each name, finished or not

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(next(iter(self.values.values()), {}))

    @property
    def means(self) -> dict[str, float]:
        return {name: sum(values.values()) / len(values) for name, values in self.values.items()}

    @property
    def missing(self) -> list[str]:
        """Labels without a finished run."""
        return [label for name, label in self.labels.items() if name not in self.values]

    def stat(self, name: str) -> Stat:
        """Mean and deviation of one name over its own seeds."""
        return Stat.of(self.values[name].values())


@dataclass(frozen=True)
class Evidence:
    """An experiment's runs, with the paper's settings where it has them under a label of their own.

    With ``ours`` the labels are taken as they stand: the same question about our settings.
    """

    experiment: Experiment
    ours: bool = False

    def labels(self, names: Iterable[str]) -> dict[str, str]:
        """The label of each name; variants of one model are compared under the same settings."""
        wanted = list(dict.fromkeys(names))
        stems = {label.partition(":")[0] for label in self.experiment.labels}
        lacking = {
            _family(name)
            for name in wanted
            if name not in AS_IN_PAPER and paper_label(name).partition(":")[0] not in stems
        }
        keep = {name for name in wanted if self.ours or name in AS_IN_PAPER or _family(name) in lacking}
        return {name: self._done(name if name in keep else paper_label(name)) for name in wanted}

    def smaller(self, names: Iterable[str]) -> list[str]:
        """Labels that stand for a larger model of the paper, which was not run."""
        return [label for label in self.labels(names).values() if _SMALLER.fullmatch(label)]

    def _done(self, label: str) -> str:
        """The label, or a finished one of the same model with fewer inducing points where it is not."""
        if any(run.digest is not None for run in self.experiment.of(label)):
            return label
        others = [each for each in self.experiment.labels if each.startswith(f"{_family(label)}-")]
        done = [each for each in others if _SMALLER.fullmatch(each) and self.experiment.done(each)]
        return done[0] if done and ":" not in label else label

    def sample(self, names: Iterable[str], quantity: str) -> Sample:
        """A quantity over shared seeds."""
        labels = self.labels(names)
        by_name = {name: self.by_seed(label, quantity) for name, label in labels.items()}
        done = {name: values for name, values in by_name.items() if values}
        shared = sorted(set.intersection(*(set(values) for values in done.values()))) if done else []
        values = {name: {seed: each[seed] for seed in shared} for name, each in done.items() if shared}
        return Sample(values, labels)

    def every(self, names: Iterable[str], quantity: str) -> Sample:
        """A quantity over all seeds of each name."""
        labels = self.labels(names)
        values = {name: self.by_seed(label, quantity) for name, label in labels.items()}
        return Sample({name: each for name, each in values.items() if each}, labels)

    def values(self, name: str, quantity: str) -> dict[int, float]:
        """A quantity of one name by seed."""
        return self.by_seed(self.labels([name])[name], quantity)

    def combined(self, quantity: str, weights: Mapping[str, float]) -> list[float]:
        """A weighted sum over names, by the seeds that all of them have; empty where there is none."""
        labels = self.labels(weights)
        parts = [(weight, self.by_seed(labels[name], quantity)) for name, weight in weights.items()]
        shared = sorted(set.intersection(*(set(values) for _, values in parts)))
        return [sum(weight * values[seed] for weight, values in parts) for seed in shared]

    @property
    def extra(self) -> float:
        """What training rows that seeds share add to the variance of a mean; see ``report.compare``."""
        done = self.experiment.finished
        return compare.correction(done[0]) if done and compare.sampling(done[0]) == "resampled" else 0.0

    def by_seed(self, label: str, quantity: str) -> dict[int, float]:
        """A quantity of every finished run of a label; a value that is not a number is left out."""
        values = {
            run.entry.seed: quantities(run).get(quantity, math.nan) for run in self.experiment.of(label)
        }
        return {seed: value for seed, value in values.items() if not math.isnan(value)}

    def failures(self, name: str) -> frozenset[int]:
        """The seeds on which the model of a name was run and could not be fitted."""
        label = self.labels([name])[name]
        return frozenset(run.entry.seed for run in self.experiment.of(label) if run.state == "failed")

    def pairs(self, name: str, other: str) -> dict[int, tuple[Run, Run]]:
        """Finished runs of two names, by the seeds that both have."""
        labels = self.labels((name, other))
        first, second = (
            {run.entry.seed: run for run in self.experiment.of(labels[each]) if run.digest is not None}
            for each in (name, other)
        )
        return {seed: (first[seed], second[seed]) for seed in sorted(first.keys() & second.keys())}

    def sweep(self, base: str) -> dict[float, str]:
        """The paper's names of a swept model by the value of its first parameter, smallest first."""
        names, wanted = {}, self.labels([base])[base]
        for label in self.experiment.labels:
            stem, _, setting = label.partition(":")
            value = setting.partition(",")[0].partition("=")[2]
            if stem == wanted and re.fullmatch(_NUMBER, value):
                names[float(value)] = f"{base}:{setting}"
        return dict(sorted(names.items()))


def quantities(run: Run) -> dict[str, float]:
    """Scores, costs and facts of a finished run by name."""
    if run.digest is None or run.record is None:
        return {}
    values = {**summary.values(run), **run.digest.facts}
    bound, rows = run.record.fit.get("elbo"), run.record.n_train
    if isinstance(bound, int | float) and rows:
        values["bound"] = bound / rows
    if "fit_cpu" in run.record.timings:
        values["fit_processor_seconds"] = run.record.timings["fit_cpu"]
    if run.record.peak_memory is not None:
        values["peak_memory_gb"] = run.record.peak_memory / 1e9
    quantiles = run.digest.log_noise
    if quantiles:
        last = NOISE_QUANTILES - 1
        values["noise_tail"] = quantiles[last // 2] - quantiles[last // 100]
    return values


def called(name: str) -> str:
    """A model as the paper writes it."""
    return MODELS.get(name, name.upper())


def listed(names: Iterable[str]) -> str:
    """Models in words: ``DVSHGP, dPIC and VSGP``."""
    *most, last = [called(name) for name in names]
    return f"{', '.join(most)} and {last}" if most else last


def paper_label(name: str) -> str:
    """The label of a model, a variant or a point of a sweep with the paper's settings, known or guessed."""
    family = _family(name)
    return family + (GUESS if family in GUESSED else PAPER) + name.removeprefix(family)


def ours_of(label: str) -> str:
    """The label with our settings of one with the paper's."""
    return label.replace(PAPER, "").replace(GUESS, "")


def _family(name: str) -> str:
    return re.split("[-:]", name, maxsplit=1)[0]
