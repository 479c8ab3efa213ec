"""What a plan tells before it lists anything."""

import json
from pathlib import Path

from tests.cli.conftest import Invoke

CONFIG = "name: {}\ndataset: toy\nsplit: {{train: 40, test: 20}}\nrepeats: 2\nmodels: {{linear: , gp: }}\n"


def test_totals_come_first(folder: Path, invoke: Invoke) -> None:
    for name in ("one", "two"):
        (folder / f"{name}.yaml").write_text(CONFIG.format(name))
    whole, _, title, cost, headings, *_ = invoke(
        "run", "one.yaml", "two.yaml", "--dry-run"
    ).stdout.splitlines()
    assert whole.startswith("in all 8 to run: about ")
    assert whole.endswith(" MB of memory")
    assert title == "one: one.yaml"
    assert cost.startswith("4 to run: about ")
    assert headings.split() == ["LABEL", "MODEL", "SEED", "STATE", "FOLDER"]
    alone = invoke("run", "one.yaml", "--dry-run").stdout.splitlines()
    assert alone[0] == title
    told = json.loads(invoke("run", "one.yaml", "--dry-run", "--json").stdout)
    assert told[0]["memory_bytes"] > 1e8
