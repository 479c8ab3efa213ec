"""What lies behind a row: thinned, rounded, and never in the way of a report."""

import json

import numpy as np
import pytest

from hgpbench.bench import record
from hgpbench.report import details, summary
from hgpbench.report.collect import collect
from hgpbench.report.digest import PIT_BINS


@pytest.fixture
def experiment(results, fake):
    results.experiment("demo", [fake("varied", 0.1), fake("flat", 0.3, noise=0.2)], seeds=3)
    results.plan(
        "demo",
        [*(results.entry(n, s) for n in ("varied", "flat") for s in range(3)), results.entry("boom", 0)],
    )
    return collect(results.root).experiments[0]


def test_curves_are_those_of_all_seeds(experiment) -> None:
    varied, flat, boom = details.of_model(experiment, summary.rows(experiment))
    digests = experiment.done("varied").values()
    assert varied["pit"] == np.sum([digest.pit for digest in digests], axis=0).tolist()
    assert (len(varied["pit"]), varied["constant_noise"], len(varied["log_noise"])) == (PIT_BINS, False, 101)
    pooled = np.concatenate([digest.log_noise for digest in digests])
    assert varied["log_noise"][50] == pytest.approx(np.median(pooled), rel=1e-4)
    assert flat["constant_noise"]
    assert flat["log_noise"] == [pytest.approx(np.log(0.2), rel=1e-4)] * 3
    assert (boom["pit"], boom["log_noise"], boom["best"]) == ([], [], [])
    assert "msll" in varied["best"]
    assert details.noise_truth(experiment)[0] == pytest.approx(-5.4, abs=0.1)


def test_a_trace_keeps_its_ends(experiment) -> None:
    run = experiment.of("varied")[0]
    told = details.of_run(run)["trace"]
    ends = [(told["iteration"][i], told["seconds"][i], told["bound"][i]) for i in (0, -1)]
    assert ends == [pytest.approx(run.digest.trace[i], rel=1e-4) for i in (0, -1)]
    assert details.of_run(experiment.of("boom")[0]) == {"params": {}, "fit": {}, "trace": None, "log": []}


def test_only_the_end_of_a_log_is_told(results, fake) -> None:
    results.experiment("demo", [fake("gp")], seeds=1)
    (results.folder("gp", 0) / record.LOG).write_text(
        "".join(f"line {i} \x1b[31m{'x' * 400}\n" for i in range(50))
    )
    run = collect(results.root).experiments[0].runs[0]
    log = details.of_run(run)["log"]
    assert [line.split()[1] for line in log] == [str(i) for i in range(38, 50)]
    assert all(len(line) == 300 and "\x1b" not in line for line in log)


def test_long_tales_of_a_fit_are_left_out(results, fake) -> None:
    results.plan("demo", [results.entry("gp", 0)])
    results.finish(fake("gp"), 0, fit={"outcome": "converged", "starts": [{"bound": 1.0}] * 100})
    run = collect(results.root).experiments[0].runs[0]
    assert details.of_run(run)["fit"] == {"outcome": "converged"}
    json.dumps(details.of_run(run))
