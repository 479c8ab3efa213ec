"""YAML that is well-formed and still refused."""

from pathlib import Path

import pytest

from hgpbench.config.yamlfile import parse
from hgpbench.errors import ConfigError


def test_an_alias_to_itself_is_refused() -> None:
    with pytest.raises(ConfigError, match="alias"):
        parse("&a {name: x, dataset: *a}", Path("mine.yaml"))


def test_an_exploding_alias_is_refused() -> None:
    bomb = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n"
    bomb += "".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9))
    with pytest.raises(ConfigError, match="beyond reason"):
        parse(bomb, Path("mine.yaml"))
