"""Experiments that differ in their rows alone, read together."""

from dataclasses import replace

from hgpbench.paper import verdicts
from hgpbench.paper.series import joined, last_of
from hgpbench.paper.supplement import supplement

SIZES = (500, 2000, 8000)


def members(make, sizes=SIZES, ending=""):
    """What each size has to say of one claim: the bias of a variance that falls with the rows."""
    made = []
    for rows in sizes:
        experiment = make("toy", {"dvshgp-y": {"var_log_bias": -rows / 4000}}, n_train=rows)
        manifest = replace(experiment.manifest, name=f"toy-rows-{rows}{ending}")
        made.append(replace(experiment, manifest=manifest))
    return made


def test_labels_tell_their_rows(make) -> None:
    (series,) = joined(members(make))
    assert series.name == "toy-rows"
    assert series.labels == [f"dvshgp-y:rows={rows}" for rows in SIZES]
    assert [run.record.n_train for run in series.runs if run.entry.seed == 0] == list(SIZES)


def test_a_claim_is_judged_over_all_of_them(make) -> None:
    (series,) = joined(members(make))
    told = {each.claim.id: each for each in verdicts.judge(series)}
    assert told["toy-rows/aggregate-y"].said == "holds"
    (alone,) = joined(members(make, SIZES[:1]))
    assert {each.said for each in verdicts.judge(alone)} == {"not run"}


def test_quick_ones_are_a_series_of_their_own(make) -> None:
    quick, full = members(make, SIZES[::2], "-quick"), members(make)
    assert sorted(each.name for each in joined([*full, *quick])) == ["toy-rows", "toy-rows-quick"]
    (series,) = joined(quick)
    assert {each.said for each in verdicts.judge(series)} == {"not run", "holds (quick)"}


def test_the_last_section_tells_of_the_series_and_every_claim_is_told_once(make) -> None:
    experiments = [*members(make), make("toy", {})]
    assert [last_of(each, experiments) is not None for each in experiments] == [False, False, True, False]
    made = supplement(experiments)
    assert [len(addition.data["claims"]) for addition in made.additions[:2]] == [0, 0]
    ids = [claim["id"] for claim in made.additions[2].data["claims"]]
    assert "toy-rows/aggregate-y" in ids
    (closing,) = made.closings
    rulings = {each["id"]: each["verdict"] for each in closing.data}
    assert rulings["toy-rows/aggregate-y"] == "holds"
    assert len(closing.data) == len(verdicts.CLAIMS)
