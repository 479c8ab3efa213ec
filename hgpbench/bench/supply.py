"""Datasets for workers of a cluster that lack them, block by block."""

from pathlib import Path
from typing import Any

from hgpbench.bench import agent
from hgpbench.bench import errand as errands
from hgpbench.bench.errand import BLOCK
from hgpbench.cluster import Cluster
from hgpbench.errors import ClusterError, HgpbenchError


def send(cluster: Cluster, address: str, topic: str, dataset: dict[str, Any]) -> str:
    """Send a worker a dataset; what went wrong, in a line, or nothing."""
    try:
        for path in reversed(errands.data_files(dataset)):  # the rows last: with them it is there
            _send_file(cluster, address, topic, str(dataset["sha256"]), path)
    except (OSError, HgpbenchError) as error:
        return f"could not be sent dataset {dataset['name']}: {error}"
    return ""


def _send_file(cluster: Cluster, address: str, topic: str, sha256: str, path: Path) -> None:
    size, offset = path.stat().st_size, 0
    with path.open("rb") as file:
        while offset < size or offset == 0:
            block = file.read(BLOCK)
            last = offset + len(block) >= size
            details = sha256, topic, path.name, offset, block, last
            answer = cluster.ask([address], agent.receive, *details).get(address)
            if isinstance(answer, Exception):
                raise ClusterError(f"{type(answer).__name__}: {answer}"[:300])
            offset += len(block)
            if last:
                return
