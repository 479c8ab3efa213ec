"""What a run ends with: the labels that are no better than the mean, from stored predictions."""

from dataclasses import replace

import numpy as np

from hgpbench.bench import record
from hgpbench.prediction import Prediction
from hgpbench.report.closing import no_better
from hgpbench.report.collect import collect
from hgpbench.report.document import section


def planned(results, *labels: str, seeds: int = 2):
    return [(label, seed, results.folder(label, seed)) for label in labels for seed in range(seeds)]


def test_labels_that_learned_nothing_are_named_as_the_report_names_them(results, fake) -> None:
    results.experiment("demo", [fake("good", 0.02), fake("poor", 3.0)], seeds=2)
    (said,) = no_better(planned(results, "good", "poor"))
    assert said.startswith("poor with ")
    caution = section(collect(results.root).experiments[0]).cautions[0]
    assert caution.endswith(f": {said}.")


def test_the_trivial_predictor_is_not_named(results, fake) -> None:
    results.finish(fake("flat"), 0)
    folder = results.folder("flat", 0)
    run, arrays = record.read(folder), record.read_arrays(folder)
    mean, var = np.full_like(arrays.y, run.train_mean), np.full_like(arrays.y, run.train_var)
    record.write(folder, run, replace(arrays, prediction=Prediction(mean, var, var)))
    assert no_better(planned(results, "flat", seeds=1)) == []
    shifted = Prediction(mean, 1.1 * var, var)
    record.write(folder, run, replace(arrays, prediction=shifted))
    assert len(no_better(planned(results, "flat", seeds=1))) == 1


def test_runs_without_predictions_say_nothing(results, fake) -> None:
    results.finish(fake("poor", 3.0), 0)
    results.stop("poor", 1, "failed", "ValueError")
    results.finish(fake("torn", 3.0), 0)
    (results.folder("torn", 0) / record.PREDICTIONS).unlink()
    (said,) = no_better(planned(results, "poor", "torn", "absent"))
    assert said.startswith("poor with ")
    assert "seeds" not in said
