"""Each command on the shipped smoke experiment, as a user types them."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hgpbench import config, shipped
from hgpbench.bench import estimators
from hgpbench.models import MODELS
from hgpbench.report import ledger
from hgpbench.report.lines import Line
from tests.cli.conftest import Invoke

REPOSITORY = Path(__file__).resolve().parents[2]


def in_a_process(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command as a user starts it, in a folder of its own; it must end well."""
    done = subprocess.run(
        [sys.executable, "-m", "hgpbench", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which ``hgpbench run smoke`` has run."""
    folder = tmp_path_factory.mktemp("smoke")
    done = in_a_process(folder, "run", "smoke", "--jobs", "2")
    runs = 2 * len(config.load("smoke").entries)
    assert done.stdout == f"{runs} done, 0 cached, 0 failed, 0 skipped\n"
    *ended, last = done.stderr.splitlines()
    assert len(ended) == runs
    assert last.startswith("smoke: no better than the mean of the training targets, by SMSE: linear with 1.")
    return folder


def test_smoke_covers_every_model() -> None:
    assert {entry.model for entry in config.load("smoke").entries} == set(MODELS)


def test_lines_of_runs_stand_for_the_runs(smoke: Path, invoke: Invoke) -> None:
    results = str(smoke / "results")
    runs = 2 * len(config.load("smoke").entries)
    assert invoke("export", results, "lines").stdout == f"smoke: {runs} new\n"
    again = invoke("export", results, "lines", "--only", "smoke", "--replace")
    assert again.stdout == f"smoke: {runs} as it was\n"
    plan = invoke("run", "smoke", "--known", "lines", "--dry-run", "--json")
    assert {each["state"] for each in json.loads(plan.stdout)[0]["runs"]} == {"elsewhere"}
    done = invoke("run", "smoke", "--known", "lines")
    assert done.stdout == f"0 done, {runs} cached, 0 failed, 0 skipped\n"
    told = invoke("report", "lines", "--out", "told")
    assert told.exit_code == 0, told.output
    assert "other code" not in told.stderr
    assert all(f"| {label}" in told.stdout for label in MODELS)
    missing = invoke("run", "smoke", "--known", "nowhere")
    assert missing.exit_code == 2
    assert "hgpbench export RESULTS nowhere" in missing.output


def test_lines_of_other_code_are_told_and_not_mixed(smoke: Path, invoke: Invoke) -> None:
    invoke("export", str(smoke / "results"), "lines")
    path = Path("lines/smoke.jsonl")
    lines = [Line.read(text) for text in path.read_text().splitlines()]
    old = [replace(line, record=replace(line.record, code="0" * 64)) for line in lines if line.label == "gp"]
    rest = [line for line in lines if line.label != "gp"]
    ledger.write(path, [*rest, *old])
    alone = invoke("report", "lines/smoke.jsonl", "--out", "told")
    assert alone.exit_code == 0, alone.output
    told = invoke("report", "lines", "--out", "told")
    assert "smoke: made by other code than today's: gp; `hgpbench run --known LINES` runs" in told.stderr
    ledger.write(path, [*rest, old[0], *(line for line in lines if line.label == "gp" and line.seed)])
    mixed = invoke("report", "lines")
    assert mixed.exit_code == 2
    assert "different code or data: gp (gp 0 against gp 1)" in mixed.output.replace(
        "gp 1 against gp 0", "gp 0 against gp 1"
    )
    marked = invoke("report", "lines", "--mixed", "--out", "told")
    assert re.search(r"\| gp [^|]*§", marked.stdout)
    assert "§ Runs of the same model by different code" in marked.stdout
    assert invoke("export", str(smoke / "results"), "lines").stdout.startswith("smoke: ")
    assert {line.record.code for line in ledger.read(path) if line.label == "gp"} != {"0" * 64}


def test_lines_make_a_page(smoke: Path, invoke: Invoke) -> None:
    invoke("export", str(smoke / "results"), "docs/runs")
    made = invoke(
        "report", "docs/runs", "--page", "docs/page.md", "--mixed"
    )  # of a tree with changes, or not
    assert made.exit_code == 0, made.output
    text = Path("docs/page.md").read_text(encoding="utf-8")
    assert "## smoke: Every model on a small problem" in text
    assert "`hgpbench report docs/runs --page docs/page.md`" in text
    refused = invoke("report", str(smoke / "results"), "--page", "page.md")
    assert refused.exit_code == 2
    assert "--page is made of a folder of lines" in refused.output
    assert not Path("page.md").exists()


def test_a_report_is_printed_and_written(smoke: Path, invoke: Invoke) -> None:
    result = invoke("report", str(smoke / "results"), "--plot", "--html", "--out", "told")
    assert result.exit_code == 0
    assert all(f"| {label}" in result.stdout for label in MODELS)
    page = Path("told/report.html").read_text()
    assert page.count("data:image/") == len(list(Path("told/plots").glob("*.svg"))) > 0
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert {path.suffix for path in Path("told").rglob("*") if path.is_file()} == {
        ".md",
        ".html",
        ".png",
        ".svg",
    }


@pytest.mark.parametrize("kind", ["md", "csv", "latex", "json"])
def test_every_format_names_every_model(kind: str, smoke: Path, invoke: Invoke) -> None:
    result = invoke("report", str(smoke / "results" / "smoke"), "--format", kind, "--out", "told")
    assert result.exit_code == 0
    written = "".join(path.read_text() for path in Path("told").rglob("*") if path.is_file())
    assert all(label in written for label in MODELS)


def test_the_trivial_predictor_scores_what_it_must(smoke: Path, invoke: Invoke) -> None:
    invoke("report", str(smoke / "results"), "--format", "json", "--out", "told")
    [path] = Path("told").glob("*.json")
    runs = [run for run in json.loads(path.read_text())["experiments"][0]["runs"] if run["label"] == "mean"]
    assert len(runs) == 2
    for run in runs:
        assert run["msll"] == pytest.approx(0, abs=1e-12)
        assert run["smse"] == pytest.approx(1, abs=0.1)


def test_an_unknown_format_is_refused(smoke: Path, invoke: Invoke) -> None:
    result = invoke("report", str(smoke / "results"), "--format", "docx")
    assert result.exit_code == 2
    assert "md, csv, latex, json" in result.stderr


def test_the_schema_is_json(invoke: Invoke) -> None:
    assert json.loads(invoke("schema").stdout) == config.json_schema()


def test_models_are_listed_with_reference_and_parameters(invoke: Invoke) -> None:
    text = invoke("models").stdout
    assert all(f"{name}: " in text for name in estimators.SHIPPED)
    assert "max_iter=" in text
    assert "Parameters" in invoke("models", "gp").stdout
    unknown = invoke("models", "gq")
    assert (unknown.exit_code, "did you mean 'gp'?" in unknown.stderr) == (2, True)


def test_datasets_are_listed(invoke: Invoke) -> None:
    text = invoke("datasets").stdout
    assert all(name in text for name in shipped.names("datasets"))


def test_doctor_tells_the_blas(invoke: Invoke) -> None:
    text = invoke("doctor").stdout
    assert "numpy" in text
    assert "threads" in text


def test_doctor_tells_who_chose_the_kernels(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    openblas = {"user_api": "blas", "internal_api": "openblas", "architecture": "Haswell", "num_threads": 1}
    monkeypatch.setattr("hgpbench.bench.provenance.threadpool_info", lambda: [openblas])
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    assert "(Haswell)," in invoke("doctor").stdout
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    assert "(Haswell, set by OPENBLAS_CORETYPE)," in invoke("doctor").stdout


def test_own_data_becomes_a_dataset_and_runs(folder: Path, invoke: Invoke) -> None:
    rows = "\n".join(f"{i + 5},{i % 7},{2 * i + i % 5}" for i in range(60))
    (folder / "mine.csv").write_text(f"a,b,y\n{rows}\n")
    fetched = invoke("fetch", "--csv", "mine.csv", "--target", "y", "--name", "mine")
    assert fetched.exit_code == 0, fetched.stderr
    assert fetched.stdout.startswith("mine: 60 rows, 2 inputs, target y")
    assert "mine" in invoke("datasets").stdout
    assert invoke("fetch", "mine", "--check").exit_code == 0
    (folder / "mine.yaml").write_text("name: mine\ndataset: mine\nmodels: {linear: }\n")
    plan = invoke("run", "mine.yaml", "--dry-run")
    assert plan.exit_code == 0, plan.stderr
    assert "3 to run" in plan.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fetch"], "no dataset given"),
        (["fetch", "protien"], "did you mean 'protein'?"),
        (["fetch", "toy", "--target", "y"], "--target, --name and how to read belong to --table"),
        (["fetch", "--csv", "nowhere.csv", "--target", "y", "--name", "x"], "nowhere.csv: no such file"),
        (["fetch", "protein", "--check"], "not fetched yet"),
        (["run", "smok"], "did you mean 'smoke'?"),
        (["run", "smoke", "--only", "gq"], "--only gq: no such label; did you mean 'gp'?"),
        (["run", "smoke", "--seeds", "4-2"], "--seeds 4-2"),
        (["run", "smoke", "--seeds", "x"], "'x' is not a seed or a range"),
        (["run", "smoke", "--seeds", "1", "--repeats", "2"], "give one of them"),
        (["run", "smoke", "--quick"], "no quick section"),
        (["reproduce", "toi"], "'toi' is not an experiment of the paper; did you mean 'toy'?"),
        (["reproduce", "protein"], "hgpbench fetch protein"),
        (["report", "nowhere"], "nowhere: no such folder"),
    ],
)  # fmt: skip
def test_a_wrong_command_gets_one_line_and_exit_code_2(
    words: list[str], message: str, invoke: Invoke, folder: Path
) -> None:
    result = invoke(*words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert not list(folder.iterdir())


def test_a_figure_of_the_paper_from_one_command(tmp_path: Path) -> None:
    done = in_a_process(tmp_path, "reproduce", "toy-convergence", "--quick", "--jobs", "2")
    assert "svshgp-adam" in done.stdout
    assert {path.name for path in (tmp_path / "results" / "report").glob("report.*")} == {
        "report.md",
        "report.html",
    }
    assert list((tmp_path / "results" / "report" / "plots").glob("toy-convergence-quick*.png"))


def test_every_command_and_option_is_in_the_readme(invoke: Invoke) -> None:
    readme = (REPOSITORY / "README.md").read_text()
    top = invoke("--help").stdout
    commands = [line.split()[0] for line in top.partition("Commands:")[2].splitlines() if line.strip()]
    assert {"fetch", "datasets", "models", "run", "reproduce", "report", "schema", "doctor"} <= set(commands)
    for command in commands:
        assert f"hgpbench {command}" in readme, command
        words = invoke(command, "--help").stdout.split()
        options = {word.rstrip(",.:;") for word in words if word.startswith("--")} - {"--help"}
        missing = {option for option in options if option not in readme}
        assert not missing, f"{command}: {missing}"


def test_every_model_and_dataset_is_in_the_readme() -> None:
    readme = (REPOSITORY / "README.md").read_text()
    for name in [*estimators.SHIPPED, *shipped.names("datasets")]:
        assert f"`{name}`" in readme, name
