"""What the runs show and the paper does not say, each a sentence that appears only where it is true."""

from collections.abc import Iterator
from dataclasses import dataclass

from hgpbench.paper.claims_sinc2d import ALL
from hgpbench.paper.criteria import Criterion
from hgpbench.paper.evidence import Evidence, called, ours_of
from hgpbench.paper.published import counterpart, departures, printouts
from hgpbench.paper.values import OURS
from hgpbench.paper.verdicts import CLAIMS
from hgpbench.report.collect import Experiment
from hgpbench.report.numbers import plain

SIMPLE = {
    "linear": "Linear regression (linear)",
    "hetlinear": "Linear regression with a second one for the noise (hetlinear)",
}
_SCORES = {"smse": "SMSE", "msll_gaussian": "MSLL"}
_COMPARED = (*ALL, "svgp")
_DENSITY_GAIN = 0.01  # of MSLL; less is not worth a sentence


@dataclass(frozen=True)
class PrintedEvidence(Evidence):
    """The paper's own printed numbers in the place of runs."""

    def by_seed(self, label: str, quantity: str) -> dict[int, float]:
        for printout in printouts(self.experiment):
            for name, text in printout.models.get(label, {}).items():
                if name in OURS and OURS[name][0] == quantity:
                    return dict.fromkeys(range(2), float(text))  # two alike: taken as it is, without scatter
        return {}

    def _done(self, label: str) -> str:
        return label


def sentences(experiment: Experiment) -> list[str]:
    """Everything that there is to say of one experiment of the paper."""
    if counterpart(experiment) is None:
        return []
    parts = (_below_print, _simple_wins, _floor, _settings, _density, _own_words)
    return [sentence for part in parts for sentence in part(experiment)]


def _below_print(experiment: Experiment) -> Iterator[str]:
    """A simple model, or one with a linear mean, that beats all that the paper prints."""
    candidates = [label for label in experiment.labels if label in SIMPLE or label.endswith("-linear")]
    for score, title in _SCORES.items():
        printed = PrintedEvidence(experiment, ours=True).sample(_COMPARED, score).means
        ours = Evidence(experiment, ours=True)
        for label in candidates if printed else ():
            best = min(printed, key=lambda name: printed[name])
            sample = ours.sample([label], score)
            if label in sample.means and sample.means[label] < printed[best]:
                yield (
                    f"{SIMPLE.get(label, f'A linear mean function ({label})')} has {title} "
                    f"{plain(sample.means[label])} (n = {len(sample.seeds)}{_where(experiment)}), below "
                    "every one that the paper prints: the lowest there is "
                    f"{plain(printed[best])}, of {called(best)}."
                )


def _simple_wins(experiment: Experiment) -> Iterator[str]:
    """Models of the paper that a simple one beats in these runs."""
    evidence = Evidence(experiment, ours=True)
    rivals = [label for label in experiment.labels if ours_of(label) in _COMPARED]
    for simple, words in SIMPLE.items():
        for score, title in _SCORES.items():
            pairs = {rival: evidence.sample((simple, rival), score) for rival in rivals}
            beaten = [
                f"{rival} ({plain(pair.means[simple])} against {plain(pair.means[rival])})"
                for rival, pair in pairs.items()
                if not pair.missing and pair.means[simple] < pair.means[rival]
            ]
            if beaten:
                yield f"{words} has a lower {title} than {', '.join(beaten)}."


def _floor(experiment: Experiment) -> Iterator[str]:
    """Where the truth is known: its own scores, and how near the best model comes."""
    evidence = Evidence(experiment, ours=True)
    gaps = {
        label: _mean_gap(evidence, label, "msll_gaussian", "truth_msll")
        for label in experiment.labels
        if evidence.by_seed(label, "truth_msll")
    }
    if gaps:
        best = min(gaps, key=lambda label: gaps[label])
        smse, msll = (evidence.sample([best], name).means[best] for name in ("truth_smse", "truth_msll"))
        yield (
            f"The true function and noise themselves score SMSE {plain(smse)} and MSLL {plain(msll)}: "
            f"no model can be expected to do better. The nearest in MSLL is {best}, {plain(gaps[best], 2)} "
            f"above (n = {len(evidence.by_seed(best, 'msll'))})."
        )


def _settings(experiment: Experiment) -> Iterator[str]:
    """What our settings change where the paper's have a label of their own."""
    evidence = Evidence(experiment, ours=True)
    for paper in experiment.labels:
        ours = ours_of(paper)
        samples = [evidence.sample((ours, paper), name) for name in (*_SCORES, "processor_seconds")]
        if ours == paper or any(sample.missing for sample in samples):
            continue
        smse, msll = (
            f"{plain(each.means[ours])} (paper's {plain(each.means[paper])})" for each in samples[:2]
        )
        share = plain(samples[2].means[ours] / samples[2].means[paper], 2)
        yield (
            f"With our settings in place of the paper's, {ours} has SMSE {smse} and MSLL {msll} in {share} "
            f"times the processor time (n = {len(samples[0].seeds)})."
        )


def _density(experiment: Experiment) -> Iterator[str]:
    """What scoring by a normal density, as the paper does, changes for the mixture that it changes most."""
    evidence = Evidence(experiment, ours=True)
    gains = {
        label: _mean_gap(evidence, label, "msll_gaussian", "msll")
        for label in experiment.labels
        if evidence.by_seed(label, "msll")
    }
    most = max(gains, key=lambda label: abs(gains[label]), default="")
    if most and abs(gains[most]) >= _DENSITY_GAIN:
        side = "below" if gains[most] > 0 else "above"
        yield (
            f"By its exact density, a mixture, {most} has an MSLL {plain(abs(gains[most]), 2)} {side} "
            "that by the normal density of the same moments, which is the paper's way; none differs more."
        )


def _own_words(experiment: Experiment) -> Iterator[str]:
    """Claims that the paper's own printed numbers contradict."""
    base, printed = counterpart(experiment), PrintedEvidence(experiment, ours=True)
    for claim in CLAIMS if printouts(experiment) else ():
        if claim.experiment == base and isinstance(claim.test, Criterion):
            finding = claim.test.check(printed)
            if finding.answer == "no":
                figures = finding.figures.replace(" (n = 2)", "")
                yield f"The paper's own numbers contradict its words ({claim.says[:-1]}): {figures}."


def _where(experiment: Experiment) -> str:
    """How the runs depart from the paper's, for a sentence that sets them against its numbers."""
    return "".join(f"; {each.words}" for each in departures(experiment))


def _mean_gap(evidence: Evidence, label: str, quantity: str, reference: str) -> float:
    """Mean over seeds of one quantity minus another of the same runs."""
    values, references = evidence.by_seed(label, quantity), evidence.by_seed(label, reference)
    return sum(values[seed] - references[seed] for seed in references) / len(references)
