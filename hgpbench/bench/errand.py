"""What travels between the command and a worker of a cluster: a run to do, the files it needs, how it ended.

Nothing here assumes that the two share a disk: the user's own modules travel with the run, a dataset is asked
for where it cannot be found by the hash of its content, and the files of a run come back as bytes.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hgpbench.bench import code
from hgpbench.bench import record as records
from hgpbench.bench.job import Job
from hgpbench.bench.record import Record
from hgpbench.config import Limits
from hgpbench.data.names import data_folder, stored_path
from hgpbench.data.source import StoredSource, open_source
from hgpbench.errors import DataError

RETURNED = (records.PREDICTIONS, records.LOG)  # files that come back with a record
BLOCK = 8 << 20  # bytes of a dataset that travel at once


@dataclass(frozen=True)
class Errand:
    """A run for a worker, and all that it needs but its dataset."""

    job: Job
    limits: Limits
    origin: dict[str, Any]
    attempt: str
    modules: dict[str, bytes]  # files of the user's own, by their path below a folder for imports
    paths: dict[str, str]  # module -> such a path
    data: str  # where the command's datasets lie, if this machine can see them
    here: str  # where the command was given, if this machine can see it
    checkpoint: bytes | None = None  # of an earlier attempt


@dataclass(frozen=True)
class Order:
    """A run, and the folders that it has on this machine."""

    job: Job
    limits: Limits
    origin: dict[str, Any]
    results: Path
    data: Path
    here: Path


@dataclass(frozen=True)
class Outcome:
    """How an errand ended: a record and files, or why there are none."""

    record: Record | None = None
    files: dict[str, bytes] = field(default_factory=dict)
    lacks_data: bool = False
    problem: str | None = None  # with the worker, not with the run


def pack(job: Job, limits: Limits, origin: dict[str, Any], attempt: str, checkpoint: bytes | None) -> Errand:
    """An errand, with the user's modules as they are now."""
    own = code.local_files(job.code)
    paths = {module: _place(module, path, job) for module, path in own.items()}
    modules = {paths[module]: path.read_bytes() for module, path in own.items()}
    folder, here = str(data_folder().absolute()), str(Path.cwd())
    return Errand(job, limits, origin, attempt, modules, paths, folder, here, checkpoint)


def unpack(errand: Errand, folder: Path) -> Job:
    """The job, with the user's modules in a folder of this machine."""
    for path, content in errand.modules.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    own = {module: folder / path for module, path in errand.paths.items()}
    job, address = errand.job, errand.job.address
    if address is not None:
        file_name = None if address.file is None else str(own[address.module])
        address = replace(address, folders=(str(folder),), file=file_name)
    return replace(job, address=address, code=code.relocated(job.code, own))


def find_data(dataset: dict[str, Any], folders: list[Path]) -> Path | None:
    """The first of some folders that has a dataset with this content."""
    for folder in folders:
        try:
            found = open_source(dataset["name"], dataset["variant"], folder)
        except (DataError, OSError):
            continue
        if found.sha256 == dataset["sha256"]:
            return folder
    return None


def data_files(dataset: dict[str, Any]) -> list[Path]:
    """What a machine needs that has not this dataset: its file, and the user's card if there is one."""
    folder = data_folder()
    source = open_source(dataset["name"], dataset["variant"], folder)
    card = folder / f"{dataset['name']}.yaml"
    stored = [source.path] if isinstance(source, StoredSource) else []
    return [*stored, *([card] if card.is_file() else [])]


def data_name(dataset: dict[str, Any]) -> str:
    """The name of the file that comes last when a dataset is sent: with it the dataset is there."""
    return stored_path(Path(), dataset["name"], dataset["variant"]).name


def _place(module: str, path: Path, job: Job) -> str:
    """Where a module lies below a folder for imports."""
    if job.address is not None and job.address.file is not None and module == job.address.module:
        return Path(job.address.file).name
    parts = module.split(".")
    inner = [*parts, "__init__"] if path.stem == "__init__" else parts
    return "/".join(inner) + path.suffix
