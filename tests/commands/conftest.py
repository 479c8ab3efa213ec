"""The command line inside this process, as the tests from end to end have it."""

from tests.cli.conftest import folder, invoke

__all__ = ["folder", "invoke"]
