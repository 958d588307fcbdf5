"""The real program for the tests of the command line."""

from tests.support.command_line import in_process, terminus

__all__ = ["in_process", "terminus"]
