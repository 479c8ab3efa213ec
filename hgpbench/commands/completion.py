"""Names that the shell offers after a few letters."""

from pathlib import Path

from hgpbench import shipped


def dataset_names(incomplete: str) -> list[str]:
    """Shipped datasets that begin like this."""
    return [name for name in shipped.names("datasets") if name.startswith(incomplete)]


def config_names(incomplete: str) -> list[str]:
    """Shipped experiments and experiment files of this folder that begin like this."""
    here = [str(path) for path in Path().glob("*.yaml")]
    return [name for name in [*shipped.names("configs"), *here] if name.startswith(incomplete)]


def model_names(incomplete: str) -> list[str]:
    """Models that begin like this."""
    from hgpbench.commands import described

    return [name for name in described.models() if name.startswith(incomplete)]
