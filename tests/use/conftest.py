"""A table with categories, dates and missing cells, in a folder of its own."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest


def draw(rows: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    size = rng.uniform(0, 5, rows)
    city = rng.choice(["Bonn", "Oslo", "Rome"], rows)
    when = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 300, rows), unit="D")
    price = 2 * size + (city == "Rome") + rng.normal(size=rows) * (0.1 + 0.1 * size)
    frame = pd.DataFrame({"city": city, "size": size, "when": when.strftime("%Y-%m-%d"), "price": price})
    frame.loc[rng.choice(rows, rows // 10, replace=False), "size"] = np.nan
    return frame


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HGPBENCH_CACHE", str(tmp_path / ".cache"))
    monkeypatch.delenv("HGPBENCH_DATA", raising=False)
    draw(150).to_csv(tmp_path / "mine.csv", index=False)
    draw(40, seed=1).drop(columns="price").to_csv(tmp_path / "new.csv", index=False)
    return tmp_path
