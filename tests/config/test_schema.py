"""The JSON Schema that editors use."""

import json

from hgpbench import config, shipped


def test_the_shipped_schema_is_in_step() -> None:
    stored = json.loads((shipped.folder("configs") / "schema.json").read_text())
    assert stored == config.json_schema(), "run: hgpbench schema > configs/schema.json"
