"""The machine, its numerical libraries and versions, as lines and as plain data."""

import os
from typing import Any

from hgpbench import units
from hgpbench.bench import provenance
from hgpbench.commands.listings import Listing

KERNELS_VARIABLE = "OPENBLAS_CORETYPE"  # by which an environment holds OpenBLAS to one processor's code


def doctor() -> Listing:
    """Machine, numerical libraries and versions."""
    machine = provenance.machine()
    source = provenance.source()
    rows = [
        ("cpu", f"{machine['cpu']}, {machine['cores']} cores ({machine['logical_cores']} logical)"),
        ("memory", units.show_bytes(machine["memory"])),
        ("system", machine["os"]),
    ]
    for pool in provenance.blas():
        library = f"{pool['internal_api']} {pool.get('version') or ''}".strip()
        kernels = pool.get("architecture", "?")
        if pool["internal_api"] == "openblas" and KERNELS_VARIABLE in os.environ:
            kernels += f", set by {KERNELS_VARIABLE}"
        rows.append((pool["user_api"], f"{library} ({kernels}), {pool['num_threads']} threads"))
    rows += list(provenance.versions().items())
    if source["git_sha"]:
        rows.append(("source", source["git_sha"][:12] + (" with changes" if source["git_dirty"] else "")))
    return Listing((), tuple(rows))


def as_data() -> dict[str, Any]:
    """Machine, numerical libraries, versions and source."""
    return {
        "machine": provenance.machine(),
        "blas": provenance.blas(),
        "versions": provenance.versions(),
        "source": provenance.source(),
    }
