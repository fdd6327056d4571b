"""argparse with git's manners: exit code 129 for misuse, no abbreviated options, short usage on error."""

from __future__ import annotations

import argparse
from typing import NoReturn

from git_kb.errors import UsageError


class BadArguments(UsageError):
    """The command line does not fit the command. The hint is its usage."""

    def __init__(self, message: str, usage: str):
        self.hint = usage
        super().__init__(message)


class HelpAsked(Exception):
    """The command line asks for help: `text` goes to standard output, and that is all there is to do."""

    def __init__(self, text: str):
        self.text = text
        super().__init__(text)


class Parser(argparse.ArgumentParser):
    """Raises BadArguments where argparse would leave with 2, and HelpAsked where it would print and leave."""

    def __init__(self, prog: str, description: str):
        super().__init__(prog=prog, description=description, allow_abbrev=False, formatter_class=_Formatter)

    def error(self, message: str) -> NoReturn:
        raise BadArguments(message, " ".join(self.format_usage().split()))

    def print_help(self, file: object = None) -> NoReturn:
        raise HelpAsked(self.format_help())


class _Formatter(argparse.HelpFormatter):
    def __init__(self, prog: str):
        super().__init__(prog, max_help_position=28, width=100)


def add_view_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose which state of the knowledge base is read."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--at", metavar="REV", help="read it as it stood at a commit, tag, branch or tree")
    group.add_argument("--cached", action="store_true", help="read the staged state")
