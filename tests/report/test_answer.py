"""The answer to a comparison: the right model, ties, noise that varies or not, and what comes next."""

from dataclasses import replace
from pathlib import Path

import pytest

from hgpbench.bench.asked import Asked, find, write
from hgpbench.errors import RecordError
from hgpbench.report.answer import Gap, answer
from hgpbench.report.collect import collect
from tests.report.conftest import Fake, Results

ASKED = Asked("my table.csv", "height", 1_400, "--missing drop", ("gp, not made for 9,000 rows",), copies=3)


def said(results: Results, fakes: list[Fake]) -> tuple[str, ...]:
    [experiment] = collect(results.experiment("demo", fakes, 3)).experiments
    return answer(experiment, ASKED)


def test_the_best_model_is_named_with_its_command(results: Results) -> None:
    lines = said(results, [Fake("mean", error=1.0, noise=1.0), Fake("good"), Fake("flat", noise=0.05)])
    assert lines[0].startswith("Best: good. ")
    assert "over 3 seeds" in lines[0]
    assert lines[1].startswith("No other model is as good. Behind, in nats a row: flat ")
    assert any(line.startswith("The noise varies: with the means of good") for line in lines)
    assert "Beware: 3 of the 1,400 rows are copies of another row." in lines
    assert "Left out: gp, not made for 9,000 rows." in lines
    assert (
        "`hgpbench fit 'my table.csv' --target height --model model --missing drop -o model.h5`" in lines[-1]
    )


def test_what_cannot_be_saved_is_not_what_comes_next(results: Results) -> None:
    [experiment] = collect(
        results.experiment("demo", [Fake("good"), Fake("flat", noise=0.05)], 3)
    ).experiments
    own = answer(experiment, replace(ASKED, folder="results/demo"))[-1]
    assert own.startswith("Next: `hgpbench fit --from results/demo --label good -o model.h5` fits good")
    other = answer(experiment, replace(ASKED, folder="results/demo", peers=("good",)))[-1]
    assert "--label flat" in other
    assert "(good, another package's, cannot be saved" in other
    grouped = answer(experiment, replace(ASKED, folder="results/demo", group="site"))[-1]
    assert "--drop site" in grouped
    assert answer(experiment, replace(ASKED, peers=("good", "flat")))[-1].startswith("Next: none of these")


def test_a_tie_is_called_one(results: Results) -> None:
    lines = said(results, [Fake("one"), Fake("two", seconds=0.1)])
    assert "As good, as far as these rows tell: " in lines[1]
    assert any("the cheapest that is as good" in line for line in lines) == ("Best: one" in lines[0])


def test_a_part_of_the_rows_is_told_as_such(results: Results) -> None:
    [experiment] = collect(results.experiment("demo", [Fake("good"), Fake("mean", 1.0)], 3)).experiments
    whole, part = (answer(experiment, replace(ASKED, whole=rows)) for rows in (1_000, 36_584))
    told = [line for line in part if line not in whole]
    assert len(told) == 1
    assert told[0].startswith("Beware: for want of time this is on 1,000 of 36,584 training rows")
    assert any(line.startswith("Cost of good: ") and "200 MB at most" in line for line in whole)


def test_who_may_be_the_best_and_had_no_time_is_told_with_the_budget_that_would_do(results: Results) -> None:
    [experiment] = collect(results.experiment("demo", [Fake("good"), Fake("mean", 1.0)], 3)).experiments
    asked = replace(ASKED, whole=1_000, missed=("nnhgp",), enough=1_630.0, chosen=("750 rows: nnhgp -0.45",))
    lines = answer(experiment, asked)
    assert (
        "Beware: for want of time nnhgp is not in the table, as good as any with fewer rows; "
        "--budget 28min should do for all rows."
    ) in lines
    assert "Chosen by a look at fewer rows: 750 rows: nnhgp -0.45." in lines
    assert not any("Beware: for want" in line for line in answer(experiment, replace(asked, missed=())))
    part = answer(experiment, replace(asked, missed=(), whole=9_000, enough=9_000.0))
    assert any(line.endswith("may be the best; --budget 3h should do for all rows.") for line in part)


def test_good_means_with_bad_intervals_are_no_lack_of_knowledge(results: Results) -> None:
    sure = [Fake("mean", error=1.0, noise=1.0), Fake("sure", error=0.1, noise=1e-4)]
    first, *_ = said(results, sure)
    assert first.startswith("No model gives better densities than")
    assert "Yet sure explains " in first


def test_gaps_are_told_from_chance() -> None:
    assert Gap(0.03, 0.02).is_tie
    assert Gap(0.005, 0.0001).is_tie
    assert not Gap(0.05, 0.02).is_tie


def test_what_was_asked_is_kept(tmp_path: Path) -> None:
    assert find(tmp_path) is None
    write(tmp_path, ASKED)
    assert find(tmp_path) == ASKED
    (tmp_path / "compare.json").write_text("{}")
    with pytest.raises(RecordError, match="compare again"):
        find(tmp_path)
