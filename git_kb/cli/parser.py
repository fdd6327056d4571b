"""argparse with git's manners: exit code 129 for misuse, no abbreviated options, short usage on error."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import NoReturn

from git_kb.errors import UsageError

MAX_DIGITS = 18


class BadArguments(UsageError):
    """The command line does not fit the command. `usage` is set where the command is known (cli/main.py)."""

    def __init__(self, message: str, hint: str = ""):
        self.hint = hint
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

    def parse_args(self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None) -> argparse.Namespace:  # type: ignore[override]
        """Parse a command line. Raises BadArguments, HelpAsked."""
        args = _with_stuck_colour(list(args)) if args is not None else None
        try:
            parsed, rest = self.parse_known_args(args, namespace)
        except BadArguments:
            # What is missing besides says less than an unknown option.
            self._refuse(self._without_requirements(args))
            raise
        self._refuse(rest)
        return parsed

    def _without_requirements(self, args: Sequence[str] | None) -> list[str]:
        """Return the words of a command line that fit nothing, whatever else it should have."""
        actions = [action for action in self._actions if action.required]
        groups = [group for group in self._mutually_exclusive_groups if group.required]
        for action in actions:
            action.required = False
        for group in groups:
            group.required = False
        try:
            return self.parse_known_args(args)[1]
        finally:
            for action in actions:
                action.required = True
            for group in groups:
                group.required = True

    def _refuse(self, rest: list[str]) -> None:
        for word in rest:
            if word.startswith("-") and word != "-":
                raise BadArguments(f"unknown option '{word.partition('=')[0]}'")
        if rest:
            raise BadArguments(f"unexpected argument '{rest[0]}'")

    def error(self, message: str) -> NoReturn:
        """Raise BadArguments with argparse's message in our words."""
        message = re.sub(r"^argument (?:-\w/)?(-[\w-]+)(?:/--[\w-]+)*: ", r"option '\1': ", message)
        message = re.sub(r"^argument (\w+): ", r"<\1>: ", message)
        message = re.sub(r"not allowed with argument (?:-\w/)?(-[\w-]+)", r"not allowed with '\1'", message)
        raise BadArguments(message)

    def short_usage(self) -> str:
        """Return the usage on one line, without the options."""
        words = ["usage:", self.prog, "[<options>]"]
        for action in self._actions:
            if not action.option_strings:
                many = "..." if action.nargs in ("+", "*") else ""
                word = f"<{action.dest}>{many}"
                words.append(f"[{word}]" if action.nargs in ("?", "*") else word)
        return " ".join(words)

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


def add_colour_arguments(parser: argparse.ArgumentParser) -> None:
    """Add --color and --no-color. What they give goes through `Env.colour`."""
    parser.add_argument(
        "--color",
        nargs="?",
        const="always",
        choices=("always", "never", "auto"),
        metavar="WHEN",
        help="always (also without WHEN), never or auto",
    )
    parser.add_argument("--no-color", dest="color", action="store_const", const="never", help="the same as --color=never")


def _with_stuck_colour(arguments: list[str]) -> list[str]:
    """Return a command line on which `--color` does not take the next word for its value, as in git."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return [f"{a}=always" if a == "--color" else a for a in arguments[:end]] + arguments[end:]


def add_jobs_argument(parser: argparse.ArgumentParser) -> None:
    """Add --jobs. What it gives goes through `env.worker_count`."""
    parser.add_argument(
        "-j",
        "--jobs",
        type=_count,
        default=0,
        metavar="N",
        help="worker processes (default, and for 0: one a processor, at most 4)",
    )


def number(text: str) -> int:
    """Return what a number on the command line stands for."""
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number")
    # More digits than this take long to read, and no list is so long.
    if len(text.lstrip("+-").lstrip("0")) > MAX_DIGITS:
        raise argparse.ArgumentTypeError(f"'{text}' is out of range: numbers have at most {MAX_DIGITS} digits")
    return int(f"{'-' * text.startswith('-')}{text.lstrip('+-').lstrip('0') or '0'}")


def _count(text: str) -> int:
    if (n := number(text)) < 0:
        raise argparse.ArgumentTypeError(f"{n} is negative")
    return n
