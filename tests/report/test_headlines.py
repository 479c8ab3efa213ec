"""The sentences on top of a report: who is best, how surely, and whom not to trust."""

from pathlib import Path
from typing import Any

from hgpbench.bench import record
from hgpbench.report.collect import collect
from hgpbench.report.document import section
from hgpbench.report.headlines import Headline, headlines
from hgpbench.report.supplement import Addition


def told(results: Any, kind: str) -> list[str]:
    (experiment,) = collect(results.root).experiments
    return [each.words for each in headlines(experiment) if each.kind == kind]


def test_the_best_is_named_with_its_rivals_nearest_first(results, fake) -> None:
    results.experiment(
        "demo", [fake("far", 0.9), fake("near", 0.06), fake("best", 0.05), fake("mid", 0.3)], seeds=4
    )
    msll, smse = told(results, "best")
    assert msll.startswith("MSLL: best is best, -")
    assert " over 4 seeds" in msll
    assert smse.startswith("SMSE: best is best, 0.")
    assert (
        "surely better than every other" in msll or ", which do not make it surely better than near" in msll
    )


def test_a_clear_winner_is_called_one(results, fake) -> None:
    results.experiment("demo", [fake("good", 0.02), fake("bad", 0.9)], seeds=6)
    assert all(line.endswith("; surely better than every other.") for line in told(results, "best"))


def test_few_seeds_say_that_nothing_can_be_tested(results, fake) -> None:
    results.experiment("demo", [fake("good", 0.02), fake("bad", 0.9)], seeds=1)
    assert all(
        line.endswith(" over 1 seed; whether that is chance cannot be tested.")
        for line in told(results, "best")
    )


def test_trivial_models_are_no_best(results, fake) -> None:
    results.experiment("demo", [fake("mean", 1.0, noise=1.0), fake("twin", 1.0, noise=1.0)], seeds=3)
    assert told(results, "best") == [
        f"{title}: no model is better than the mean and variance of the training targets."
        for title in ("MSLL", "SMSE")
    ]
    assert "No better than the mean †: mean, twin." in told(results, "caution")


def test_one_model_has_no_rival(results, fake) -> None:
    results.experiment("demo", [fake("gp", 0.1)], seeds=2)
    assert told(results, "best")[0].startswith("MSLL: gp alone has a score, -")


def test_what_is_missing_is_counted(results, fake) -> None:
    results.experiment("demo", [fake("gp", 0.1)], seeds=2)
    results.plan(
        "demo",
        [*(results.entry("gp", seed) for seed in range(2)), *(results.entry("boom", s) for s in range(3))],
    )
    results.stop("boom", 0, "failed", "why")
    assert told(results, "caution") == ["3 of 5 runs have no score (1 failed, 2 not run): boom (3)."]
    results.plan("demo", [results.entry("boom", 0)])
    assert told(results, "caution") == [
        "No run is done yet.",
        "1 of 1 runs have no score (1 failed): boom (1).",
    ]


def test_the_origin_has_data_days_machine_and_code(results, fake) -> None:
    results.experiment("demo", [fake("gp", 0.1)], seeds=2)
    for seed, begun in ((0, "2026-11-17T23:00:00+00:00"), (1, "2026-11-18T01:00:00+00:00")):
        _begin(results.folder("gp", seed), begun)
    text = " ".join(told(results, "origin"))
    for part in (
        "bumps, 1,000 training rows",
        "Runs of 2026-11-17 to 2026-11-18.",
        "Test CPU",
        "commit 0123456789",
    ):
        assert part in text
    _begin(results.folder("gp", 0), "<yesterday>")
    assert "Runs of 2026-11-18." in told(results, "origin")


def _begin(folder: Path, begun: str) -> None:
    kept, arrays = record.read(folder), record.read_arrays(folder)
    origin = {**kept.provenance, "begun": begun}
    record.write(folder, record.Record(**(vars(kept) | {"provenance": origin})), arrays)


def test_an_answer_that_was_added_takes_the_place_of_ours(results, fake) -> None:
    results.experiment("demo", [fake("gp", 0.1), fake("mean", 1.0, noise=1.0)], seeds=2)
    (experiment,) = collect(results.root).experiments
    found = section(experiment, Addition(lead=("Best: gp.", "Noise varies."))).headlines
    assert [(each.kind, each.words) for each in found[:2]] == [
        ("best", "Best: gp."),
        ("told", "Noise varies."),
    ]
    assert "best" not in {each.kind for each in found[1:]}
    assert {"caution", "origin"} <= {each.kind for each in found}


def test_a_headline_is_plain_data() -> None:
    assert vars(Headline("best", "words")) == {"kind": "best", "words": "words"}


def test_a_better_one_with_fewer_seeds_is_told_beside_the_best(results, fake) -> None:
    results.experiment("demo", [fake("good", 0.02), fake("fair", 0.3), fake("bad", 0.9)], seeds=3)
    results.stop("good", 2, "failed", "why")
    msll, smse = told(results, "best")
    assert msll.startswith("MSLL: fair is best, ")
    assert ". Lower, but with fewer seeds: good (" in msll
    assert smse.endswith(" over 2 seeds).")
