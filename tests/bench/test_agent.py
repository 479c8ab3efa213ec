"""What a worker of a cluster does with the runs that it is given."""

import psutil
import pytest

from hgpbench.bench import agent


def test_runs_keep_their_memory_as_on_one_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask's settings for its workers are not theirs; others are."""
    for name in (*agent.MALLOC, "OF_THE_USER"):
        monkeypatch.setenv(name, "65536")
    deputy = agent._Deputy()
    try:
        found = psutil.Process(deputy._process.pid).environ()
    finally:
        deputy.end()
    assert not found.keys() & set(agent.MALLOC)
    assert found["OF_THE_USER"] == "65536"
