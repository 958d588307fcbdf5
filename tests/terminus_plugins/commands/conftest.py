"""The real program for the tests of commands."""

from tests.support.command_line import in_process, terminus

__all__ = ["in_process", "terminus"]
