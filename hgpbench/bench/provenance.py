"""Where a number came from: versions, source, machine, BLAS."""

import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil
from threadpoolctl import threadpool_info

import hgpbench

_PACKAGES = ("numpy", "scipy", "scikit-learn", "h5py", "pandas", "pydantic", "threadpoolctl")
_EXTRAS = ("mkl", "numba")


def collect(folder: Path) -> dict[str, Any]:
    """Time, versions, source, the user's folder and machine: the same for every run of one experiment."""
    return {
        "begun": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "source": source(),
        "user": commit(folder),
        "machine": machine(),
    }


def versions() -> dict[str, str]:
    """hgpbench, Python and the packages that numbers depend on, of extras those that are installed."""
    extras = [name for name in _EXTRAS if any(metadata.distributions(name=name))]
    return {
        "hgpbench": hgpbench.__version__,
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in (*_PACKAGES, *extras)},
    }


def machine() -> dict[str, Any]:
    """Processor, cores, memory and operating system; no host or user name."""
    return {
        "cpu": _cpu_model(),
        "cores": psutil.cpu_count(logical=False) or psutil.cpu_count(),
        "logical_cores": psutil.cpu_count(),
        "memory": psutil.virtual_memory().total,
        "os": f"{platform.system()} {platform.release()}",
        "python": sys.implementation.name,
    }


def blas() -> list[dict[str, Any]]:
    """The numerical libraries loaded now and the threads that each may use."""
    wanted = ("user_api", "internal_api", "version", "architecture", "num_threads", "threading_layer")
    return [{key: pool[key] for key in wanted if key in pool} for pool in threadpool_info()]


def source() -> dict[str, Any]:
    """Commit of the checkout that hgpbench runs from, and whether it has uncommitted changes."""
    root = Path(hgpbench.__file__).resolve().parents[1]
    if not (root / ".git").exists():
        return {"git_sha": None, "git_dirty": None}
    return commit(root)


def commit(folder: Path) -> dict[str, Any]:
    """Commit of the checkout that a folder lies in, and whether it has uncommitted changes."""
    sha = _git(folder, "rev-parse", "HEAD")
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return {"git_sha": sha or None, "git_dirty": None if changes is None else bool(changes)}


def _git(root: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _cpu_model() -> str:
    """The processor's own name, where the system tells it."""
    listing = Path("/proc/cpuinfo")
    if listing.is_file():
        for line in listing.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.lower().startswith(("model name", "hardware")):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
