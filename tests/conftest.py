"""What holds for every test."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def no_datasets_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What someone has fetched with --shared must not change which experiments can run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HGPBENCH_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.delenv("HGPBENCH_MIRROR", raising=False)
        yield
