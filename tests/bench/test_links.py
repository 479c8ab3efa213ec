"""A run writes into its folder and nowhere else, whatever lies in the folder already."""

from pathlib import Path
from typing import Any

from hgpbench import config
from hgpbench.bench import record as records
from hgpbench.bench.campaign import Options, prepare


def test_links_in_a_run_s_folder_are_not_written_through(
    hgpbench: Any, experiment: Any, workplace: Path
) -> None:
    path = experiment("mean:")
    results = workplace / "results"
    [planned] = prepare(config.load(str(path)), Options(results)).planned
    folder = results / planned.job.folder
    folder.mkdir(parents=True)
    names = (".lock", records.LOG, records.RECORD, records.PREDICTIONS, records.CHECKPOINT)
    for name in names:
        (workplace / f"precious{name}").write_text("mine")
        (folder / name).symlink_to(workplace / f"precious{name}")
    done = hgpbench("run", "mine.yaml")
    assert done.returncode == 0, done.stderr
    assert records.read(folder).status == "done"
    assert all((workplace / f"precious{name}").read_text() == "mine" for name in names)
