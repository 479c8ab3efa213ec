"""The page as a reader uses it, in a real browser: from a file, by mouse and by keyboard."""

import csv
import io
import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hgpbench.bench import record
from hgpbench.bench.manifest import Entry, Manifest
from hgpbench.bench.record import Record
from hgpbench.metrics import METRICS
from hgpbench.report import compare
from hgpbench.report.collect import Collection, Experiment, Run, collect
from hgpbench.report.compare import Comparison
from hgpbench.report.digest import PIT_BINS, Digest
from hgpbench.report.document import write_up
from hgpbench.report.page import page
from hgpbench.report.pictures import Picture
from tests.browser import MISSING, Browser, executable

pytestmark = pytest.mark.skipif(executable() is None, reason=MISSING)

SCRIPT = "<img src=x onerror=alert(1)><script>document.title='taken'</script>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as made:
        yield made


@pytest.fixture(scope="module")
def address(results_at: Callable[..., Any], fake: Callable[..., Any], tmp_path_factory: Any) -> str:
    """Two experiments that share models; one has a run that failed, and names that try to be markup."""
    folder = tmp_path_factory.mktemp("page")
    results = results_at(folder / "results")
    fakes = [
        fake("mean", 1.0, noise=1.0, seconds=0.01),
        fake("gp", 0.3, noise=0.2, seconds=3.0),
        fake("vshgp", 0.05, mixture=True, seconds=20.0),
        fake("dvshgp, wide", 0.1, mixture=True, seconds=8.0),
    ]
    results.experiment("demo", fakes, seeds=4)
    entries = [results.entry(each.label, seed) for each in fakes for seed in range(4)]
    results.plan("demo", [*entries, replace(results.entry("boom", 0), label=SCRIPT, model=SCRIPT)])
    stopped = {"status": "failed", "reason": SCRIPT, "model": SCRIPT, "log_tail": ["first line", SCRIPT]}
    record.write(results.folder("boom", 0), results.record("boom", 0, **stopped))
    results.plan("other", [entry for entry in entries if entry.seed < 3 and entry.label != "gp"])
    document = write_up(collect(results.root))
    path = folder / "report.html"
    still = [
        Picture(name, name, 4.0, b"", b"<svg xmlns='http://www.w3.org/2000/svg'/>")
        for name in ("noise", "boxes")
    ]
    path.write_text(page(document, {"demo": still}), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def opened(browser: Browser, address: str) -> Iterator[Browser]:
    """The page at its widest; whatever it complains of fails the test."""
    browser.complaints.clear()
    browser.open(address)
    yield browser
    assert browser.complaints == []


IN_DEMO = "document.querySelector('#demo')"
ROWS = f"[...{IN_DEMO}.querySelectorAll('.sortable tbody tr')]"
LABELS = f"{ROWS}.map((row) => row.querySelector('.name').textContent)"


def press(browser: Browser, words: str, inside: str = IN_DEMO) -> None:
    browser.run(
        f"[...{inside}.querySelectorAll('button')].find((b) => b.textContent.trim() === {json.dumps(words)}).click()"
    )


def type_into_filter(browser: Browser, words: str) -> None:
    browser.run(
        f"(() => {{ const field = {IN_DEMO}.querySelector('input[type=search]'); field.value = {json.dumps(words)};"
        "field.dispatchEvent(new Event('input')); })()"
    )


def choose(browser: Browser, place: int, value: str) -> None:
    browser.run(
        f"(() => {{ const list = {IN_DEMO}.querySelectorAll('select')[{place}]; list.value = {json.dumps(value)};"
        "list.dispatchEvent(new Event('change')); })()"
    )


def test_the_answer_is_on_the_first_screen(opened: Browser) -> None:
    place = "document.querySelector('nav li').getBoundingClientRect().bottom"
    assert opened.run(place) < 900
    assert "MSLL: vshgp is best" in opened.run("document.querySelector('nav li').textContent")
    assert opened.run(f"{IN_DEMO}.querySelector('.headlines').textContent").count("is best") == 2


def test_the_table_says_what_the_printed_ones_say(opened: Browser) -> None:
    """Numbers are formatted twice, here and in Python; a difference would be two truths."""
    opened.run(f"{IN_DEMO}.querySelectorAll('.tools details').forEach((each) => {{ each.open = true; }})")
    opened.until(f"{IN_DEMO}.querySelectorAll('fieldset input').length > 20")
    opened.run(
        "(() => { for (let i = 0; i < 40; i += 1) {"
        f" const box = {IN_DEMO}.querySelectorAll('fieldset input')[i]; if (box && !box.checked) box.click(); }} }})()"
    )
    cells = """(table) => {
      const names = [...table.querySelectorAll('thead th')].map((th) => th.textContent.trim());
      return [...table.querySelectorAll('tbody tr')].flatMap((row) => {
        const own = [...row.children].map((cell) => cell.textContent.trim());
        const label = own[0].replace(/ [†‡ ]+$/, '');
        return own.slice(1).map((text, i) => [label, names[i + 1], text]);
      });
    }"""
    live = opened.run(f"({cells})({IN_DEMO}.querySelector('.sortable'))")
    still = opened.run(f"[...{IN_DEMO}.querySelectorAll('.still table')].flatMap({cells})")
    found = {(label, name): text for label, name, text in live}
    compared = [(label, name, text) for label, name, text in still if (label, name) in found]
    # But for the coverages, which are printed without deviations; what has no run is printed with the scores.
    assert len(compared) == 4 * 16 + 7
    assert [(label, name, found[label, name]) for label, name, _ in compared] == compared


def test_columns_sort_both_ways_and_back_to_the_plan(opened: Browser) -> None:
    plan = ["mean", "gp", "vshgp", "dvshgp, wide", SCRIPT]
    assert opened.run(LABELS) == ["vshgp", "dvshgp, wide", "gp", "mean", SCRIPT]
    press(opened, "SMSE")
    by_smse = opened.run(LABELS)
    assert sorted(by_smse[:3]) == ["dvshgp, wide", "gp", "vshgp"]
    assert opened.run(f"{IN_DEMO}.querySelector('th[data-name=smse]').ariaSort") == "ascending"
    press(opened, "SMSE")
    assert opened.run(LABELS) == [*by_smse[3::-1], SCRIPT]  # without a score comes last either way
    press(opened, "SMSE")
    assert opened.run(LABELS) == plan
    press(opened, "model")
    assert opened.run(LABELS) == sorted(plan)


def test_models_are_filtered_and_switched_off_everywhere(opened: Browser) -> None:
    drawn = (
        f"[...{IN_DEMO}.querySelectorAll('.mark.mean')].map((each) => each.getAttribute('data-label')).sort()"
    )
    assert opened.run(drawn) == ["dvshgp, wide", "gp", "mean", "vshgp"]
    type_into_filter(opened, "gp -wide")
    assert opened.run(LABELS) == ["vshgp", "gp"]
    assert opened.run(drawn) == ["gp", "vshgp"]
    assert opened.run(f"{IN_DEMO}.querySelector('.count').textContent") == "2 of 5 models"
    type_into_filter(opened, "")
    press(opened, "vshgp", f"{IN_DEMO}.querySelector('.models')")
    assert opened.run(LABELS) == ["dvshgp, wide", "gp", "mean", SCRIPT]
    assert opened.run(drawn) == ["dvshgp, wide", "gp", "mean"]
    press(opened, "none")
    assert opened.run(LABELS) == []
    press(opened, "all")
    assert len(opened.run(LABELS)) == 5


def test_axes_and_scales_are_chosen(opened: Browser) -> None:
    words = f"{IN_DEMO}.querySelector('.drawing').getAttribute('aria-label')"
    assert opened.run(words) == "MSLL (exact), lower is better against total [s]"
    choose(opened, 0, "smse")
    choose(opened, 1, "coverage95")
    assert opened.run(words) == "SMSE, lower is better against 95 % coverage [%], nominal is best"
    tick = f"{IN_DEMO}.querySelector('.drawing .grid').textContent"
    linear = opened.run(tick)
    opened.run(
        f"[...{IN_DEMO}.querySelectorAll('.check')].find((c) => c.textContent.includes('log up')).click()"
    )
    assert opened.run(tick) != linear
    assert opened.run(f"{IN_DEMO}.querySelectorAll('.seed').length") > 0
    opened.run(
        f"[...{IN_DEMO}.querySelectorAll('.check')].find((c) => c.textContent.trim() === 'seeds').click()"
    )
    assert opened.run(f"{IN_DEMO}.querySelectorAll('.seed').length") == 0


def test_pointing_at_a_model_tells_its_scores(opened: Browser) -> None:
    opened.run(f"{IN_DEMO}.querySelector('.drawing').scrollIntoView({{block: 'center'}})")
    box = f"{IN_DEMO}.querySelector('.mark.mean[data-label=gp]').getBoundingClientRect()"
    x, y = opened.run(f"(() => {{ const b = {box}; return [b.x + b.width / 2, b.y + b.height / 2]; }})()")
    opened.point(x, y)
    told = opened.run(f"{IN_DEMO}.querySelector('.tip').textContent")
    assert told.startswith("gpMSLL (exact): ")
    assert "4 of 4 runs" in told
    assert opened.run(f"{ROWS}.filter((row) => row.classList.contains('lit')).length") == 1


def test_curves_are_switched_on(opened: Browser) -> None:
    curves = (
        f"new Set([...{IN_DEMO}.querySelectorAll('.pair .curve')].map((each) => each.dataset.label)).size"
    )
    assert opened.run(curves) == 3  # the trivial one is off at first
    panel = f"{IN_DEMO}.querySelector('.pair').parentElement"
    press(opened, "mean", panel)
    assert opened.run(curves) == 4
    press(opened, "none", panel)
    assert opened.run(curves) == 0


def test_the_drawer_tells_all_of_a_model_and_closes_by_keyboard(opened: Browser) -> None:
    opened.run(f"{IN_DEMO}.querySelector('tr[data-label=vshgp] .name').focus()")
    opened.key("Enter", "\r")
    opened.until("document.querySelector('dialog[open]')")
    text = opened.run("document.querySelector('dialog[open]').innerText")
    for part in (
        "4 of 4 runs done",
        "Seeds",
        "Convergence",
        "runs/vshgp/3",
        "Compared with others",
        "better than",
    ):
        assert part in text
    assert opened.run("document.querySelectorAll('dialog[open] path.curve').length") == 4
    opened.key("Escape")
    opened.until("!document.querySelector('dialog[open]')")


def test_points_are_reached_by_keyboard(opened: Browser) -> None:
    focused = "document.activeElement.getAttribute('aria-label')"
    opened.run(f"{IN_DEMO}.querySelector('.mark.mean[tabindex=\"0\"]').focus()")
    first = opened.run(focused)
    assert first.startswith("mean, MSLL (exact): ")
    opened.key("ArrowRight")
    assert opened.run(focused).startswith("gp, MSLL (exact): ")
    opened.key("End")
    assert opened.run(focused).startswith("vshgp, MSLL (exact): ")
    opened.key("Home")
    assert opened.run(focused) == first
    opened.key("Enter", "\r")
    assert (
        opened.run("document.querySelector('dialog[open]').getAttribute('aria-label')") == "Details of mean"
    )


def test_a_link_opens_what_it_was_taken_from(opened: Browser, address: str) -> None:
    press(opened, "SMSE")
    press(opened, "SMSE")
    press(opened, "dvshgp, wide", f"{IN_DEMO}.querySelector('.models')")
    type_into_filter(opened, "gp")
    choose(opened, 0, "crps")
    opened.until("location.hash.includes('crps')")
    seen = (opened.run(LABELS), opened.run(f"{IN_DEMO}.querySelector('.drawing').getAttribute('aria-label')"))
    assert seen[0] == ["gp", "vshgp"]
    link = opened.run("location.href")
    opened.open(address)
    assert opened.run(LABELS) != seen[0]
    opened.open(link)
    again = (
        opened.run(LABELS),
        opened.run(f"{IN_DEMO}.querySelector('.drawing').getAttribute('aria-label')"),
    )
    assert again == seen
    press(opened, "reset")
    opened.until("location.hash === ''")


@pytest.mark.parametrize(
    "odd",
    [
        "#?",
        "#?demo~sort=nonsense&x~y=1",
        "#?demo~columns=smse,who%25&demo~open=nobody",
        "#?demo~hide=%E0%A4%A",
    ],
)
def test_a_broken_link_still_shows_the_page(odd: str, opened: Browser, address: str) -> None:
    opened.open(address + odd)
    assert len(opened.run(LABELS)) == 5


def downloaded(browser: Browser, words: str) -> str:
    """What a button would have saved: the text of the blob that it makes."""
    browser.run(
        "(() => { const make = URL.createObjectURL; URL.createObjectURL = (b) => { window.kept = b; return make(b); }; })()"
    )
    browser.ask("Page.setDownloadBehavior", behavior="deny")
    press(browser, words)
    return str(browser.run("window.kept.text()"))


def test_the_table_and_the_data_are_downloaded(opened: Browser) -> None:
    type_into_filter(opened, "gp")
    lines = list(csv.DictReader(io.StringIO(downloaded(opened, "CSV"))))
    assert [line["label"] for line in lines] == ["vshgp", "dvshgp, wide", "gp"]
    data = json.loads(downloaded(opened, "JSON"))
    (model,) = [each for each in data["experiments"][0]["models"] if each["label"] == "gp"]
    assert float(lines[2]["msll_mean"]) == model["stats"]["msll"]["mean"]


def test_foreign_words_stay_words(opened: Browser) -> None:
    assert opened.run("document.title") == "hgpbench report: demo, other"
    assert opened.run("document.querySelectorAll('img[src=x]').length") == 0
    opened.run(f"{ROWS}.find((row) => row.dataset.label.startsWith('<img')).querySelector('.name').click()")
    text = opened.run("document.querySelector('dialog[open]').innerText")
    assert text.count(SCRIPT) >= 4  # heading, model, reason, log
    assert opened.run("document.title") == "hgpbench report: demo, other"


def test_no_other_script_than_ours_may_run(browser: Browser, address: str) -> None:
    browser.open(address)
    browser.run(
        "(() => { const s = document.createElement('script'); s.textContent = 'window.taken = 1'; document.body.append(s); })()"
    )
    assert browser.run("window.taken === undefined")
    assert any("Content Security Policy" in each for each in browser.complaints)


@pytest.mark.parametrize("width", [1280, 768, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_no_width_needs_scrolling_sideways(width: int, dark: bool, opened: Browser, address: str) -> None:
    opened.open(address, width, dark=dark)
    assert opened.run("document.documentElement.scrollWidth") <= width
    assert opened.run(f"{IN_DEMO}.querySelectorAll('.sortable tbody tr').length") == 5
    table = f"{IN_DEMO}.querySelector('.sortable')"
    assert opened.run(f"{table}.offsetWidth <= {table}.parentElement.clientWidth")
    ground = opened.run("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(22, 24, 27)" if dark else "rgb(255, 255, 255)")
    press(opened, "gp", f"{IN_DEMO}.querySelector('.sortable')")
    assert opened.run("document.querySelector('dialog[open]').scrollWidth") <= width


def test_print_and_no_script_have_the_tables_and_pictures_instead(opened: Browser, address: str) -> None:
    seen = f"[...{IN_DEMO}.querySelectorAll('.still')].filter((each) => each.offsetParent).length"
    live = f"Boolean({IN_DEMO}.querySelector('.look').offsetParent)"
    printed = 4 + 1  # the tables of numbers, and the picture that the script draws anew
    assert (opened.run(seen), opened.run(live)) == (0, True)
    opened.ask("Emulation.setEmulatedMedia", media="print")
    assert (opened.run(seen), opened.run(live)) == (printed, False)
    assert opened.run("document.querySelector('nav').offsetParent !== null")  # the answers of all experiments
    opened.ask("Emulation.setEmulatedMedia", media="")
    opened.ask("Emulation.setScriptExecutionDisabled", value=True)
    opened.open(address)
    assert (opened.run(seen), opened.run(live)) == (printed, False)
    opened.ask("Emulation.setScriptExecutionDisabled", value=False)


MODELS, SEEDS = 200, 10


def crowd() -> Experiment:
    """Many models with scores drawn at random, as if read from disk."""
    rng = np.random.default_rng(0)
    curve = tuple(np.sort(rng.normal(size=401)).tolist())
    trace = tuple((float(i), i / 10, -100 / (i + 1)) for i in range(100))
    runs = []
    for label, seed in itertools.product((f"model-{m:03d}" for m in range(MODELS)), range(SEEDS)):
        scores = dict(zip(METRICS, rng.uniform(0.1, 0.9, len(METRICS)).tolist(), strict=True))
        pit = tuple(rng.integers(0, 9, PIT_BINS).tolist())
        dataset, split = {"name": "toy", "variant": None, "target": "y"}, {"train": 100, "test": 50}
        told = Record("done", None, "crowd", label, "vshgp", {"n_inducing_f": 100}, seed, "", dataset, split, n_train=100,
            n_test=50, timings={"fit_wall": 1.0 + seed, "predict_wall": 0.1}, fit={"outcome": "converged"})  # fmt: skip
        digest = Digest(scores, False, pit, curve, (), trace, {})
        runs.append(
            Run(
                Entry(label, "vshgp", seed, f"runs/{label}/{seed}", label), Path(), "done", None, told, digest
            )
        )
    plan = Manifest("crowd", "", {"name": "toy", "variant": None}, {}, tuple(run.entry for run in runs))
    return Experiment(plan, tuple(runs))


def test_a_crowd_is_shown_at_once_and_sorted_at_once(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As little work as this needs, by counts that no busy machine changes: cells, drawn elements, rows moved."""
    experiment = crowd()
    pairs = [
        Comparison("msll", first, second, SEEDS, 0.1, 0.5, 1.0)
        for first, second in itertools.combinations(experiment.labels, 2)
    ]
    monkeypatch.setattr(compare, "compare", lambda of, metric: pairs)  # tested elsewhere; here as many
    path = tmp_path / "crowd.html"
    path.write_text(page(write_up(Collection((experiment,))), {}), encoding="utf-8")
    browser.complaints.clear()
    browser.open(path.as_uri())
    rows = "[...document.querySelectorAll('.sortable tbody tr')]"
    assert browser.run(f"{rows}.length") == MODELS
    assert browser.run("document.querySelectorAll('*').length") < 100 * MODELS
    browser.run("window.cells = new Set(document.querySelectorAll('.sortable td'))")
    press(browser, "SMSE", "document")
    smse = browser.run(f"{rows}.map((row) => Number(row.children[3].firstChild.textContent))")
    assert smse == sorted(smse)
    assert browser.run(
        "[...document.querySelectorAll('.sortable td')].every((cell) => window.cells.has(cell))"
    )
    painted = browser.run("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    ready = browser.run("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
    assert painted < ready  # the answer is there before the script has read the data
    assert browser.complaints == []


def test_models_are_compared_across_experiments(opened: Browser) -> None:
    rows = "[...document.querySelectorAll('#across tbody tr')].map((row) => [...row.children].map((c) => c.textContent.trim()))"
    table = opened.run(rows)
    assert [row[0] for row in table] == ["vshgp", "dvshgp, wide", "mean"]
    assert [row[1] for row in table] == ["1.00", "2.00", "3.00"]
    assert opened.run("document.querySelectorAll('#across thead th').length") == 4


def test_models_at_the_edge_of_the_frame_stand_beside_each_other_and_axes_have_ticks(
    browser: Browser, results_at: Callable[..., Any], fake: Callable[..., Any], tmp_path: Path
) -> None:
    results = results_at(tmp_path / "results")
    trivial = [
        fake(f"baseline-{word}", 1.0, noise=1.0, seconds=0.01) for word in ("one", "number-two", "three")
    ]
    results.experiment(
        "demo", [*trivial, fake("gp", 0.2, seconds=0.1), fake("vshgp", 0.1, seconds=17.0)], seeds=2
    )
    path = tmp_path / "edge.html"
    path.write_text(page(write_up(collect(results.root)), {}), encoding="utf-8")
    browser.open(path.as_uri())
    browser.until(f"{IN_DEMO}.querySelector('.mark.out')")
    script = (
        f"[...{IN_DEMO}.querySelectorAll('.mark.out, .label.out')].map((each) => {{"
        " const b = each.getBoundingClientRect(); return [b.left, b.right, b.top, b.bottom]; })"
    )
    boxes = browser.run(script)
    assert len(boxes) == 6  # three markers and their names
    for (left, right, top, bottom), (left2, right2, top2, bottom2) in itertools.combinations(boxes, 2):
        assert right <= left2 or right2 <= left or bottom <= top2 or bottom2 <= top
    browser.open(path.as_uri(), 390)
    browser.until(f"{IN_DEMO}.querySelector('.drawing')")
    across = f"[...{IN_DEMO}.querySelectorAll('.drawing .grid text[text-anchor=middle]')].map((t) => t.textContent)"
    assert browser.run(across)[:3] == ["0.1", "1", "10"]


def test_a_short_logarithmic_axis_has_more_than_one_tick(
    browser: Browser, results_at: Callable[..., Any], fake: Callable[..., Any], tmp_path: Path
) -> None:
    results = results_at(tmp_path / "results")
    results.experiment("demo", [fake("gp", 0.2, seconds=21.0)], seeds=1)
    path = tmp_path / "short.html"
    path.write_text(page(write_up(collect(results.root)), {}), encoding="utf-8")
    browser.open(path.as_uri())
    browser.until(f"{IN_DEMO}.querySelector('.drawing')")
    across = f"{IN_DEMO}.querySelector('.drawing').querySelectorAll('.grid text[text-anchor=middle]').length"
    assert browser.run(across) > 1


@pytest.mark.parametrize("width", [1280, 768, 390])
def test_long_numbers_do_not_cut_the_table_off(width: int, browser: Browser, tmp_path: Path) -> None:
    """Of scores whose deviations are so small that they ask for all the digits there are."""
    whole = crowd()
    few = [run for run in whole.runs if run.entry.label < "model-004" and run.entry.seed < 3]
    runs = []
    for run in few:
        assert run.digest is not None
        scores = dict.fromkeys(METRICS, -0.0774861 * (1 + 1e-4 * run.entry.seed))
        runs.append(replace(run, digest=replace(run.digest, scores=scores)))
    path = tmp_path / "long.html"
    path.write_text(page(write_up(Collection((replace(whole, runs=tuple(runs)),))), {}), encoding="utf-8")
    browser.open(path.as_uri(), width)
    table = "document.querySelector('.sortable')"
    browser.until(f"{table}.querySelector('tbody tr')")
    browser.until(f"{table}.offsetWidth <= {table}.parentElement.clientWidth")
    assert browser.run(f"{table}.querySelectorAll('thead th').length") >= 4
