"""Parsers for the manual pages: argparse-manpage calls one function a page when the package is built (setup.cfg).

The one line behind a name, which whatis(1) and apropos(1) list, stands in setup.cfg too: it is the SUMMARY of the command.
"""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial

# The builder runs this file by its path, before the package is installed.
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from git_kb.cli.main import COMMANDS, PLUMBING, PORCELAIN, command_module, command_parser

EXIT_STATUS = (
    "Exit status: 0 done; 1 the answer is no (nothing found, no such section, findings); 128 fatal; 129 usage; 130 interrupted; "
    "141 the reader of the output went away."
)


def suite() -> argparse.ArgumentParser:
    """Return the parser behind git-kb(1)."""
    text = [
        "git kb turns any git repository into a searchable, citable knowledge base. "
        "README.md and docs/, which the pages speak of, are in share/doc/git-kb beside share/man.",
        "",
    ]
    # Without it, the synopsis would have each command as if it were an argument.
    usage = "git-kb [-C DIR] [--git-dir DIR] [--work-tree DIR] [--version] COMMAND [ARGS]"
    parser = argparse.ArgumentParser(prog="git-kb", usage=usage, description="\n".join(text), epilog=EXIT_STATUS)
    parser.add_argument("-C", metavar="DIR", help="run as if started in this directory")
    parser.add_argument("--git-dir", metavar="DIR", help="the repository")
    parser.add_argument("--work-tree", metavar="DIR", help="the top of the work tree")
    parser.add_argument("--version", action="store_true", help="print the version")
    for title, table in (("commands", PORCELAIN), ("plumbing", PLUMBING)):
        group = parser.add_argument_group(title)
        for verb in table:
            group.add_argument(f"git-kb-{verb}(1)", nargs="?", help=command_module(verb).SUMMARY)
    return parser


def page(verb: str) -> argparse.ArgumentParser:
    """Return the parser behind git-kb-<verb>(1)."""
    parser = command_parser(verb, command_module(verb))
    parser.prog = f"git-kb-{verb}"
    parser.epilog = EXIT_STATUS
    return parser


# One function a verb, named as in setup.cfg: argparse-manpage takes names, not arguments.
globals().update({f"page_{verb.replace('-', '_')}": partial(page, verb) for verb in COMMANDS})
