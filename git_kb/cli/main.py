"""`git kb`: find the verb, build its parser alone, run it, turn the outcome into an exit code as git has them."""

from __future__ import annotations

import os
import sys

from git_kb.errors import KbError, UsageError, shortened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import NoReturn

    from git_kb.cli.env import Env
    from git_kb.cli.parser import Parser

# Verb -> module below git_kb.cli. The order is that of the help.
PORCELAIN = {
    "init": "init",
    "ingest": "ingest",
    "search": "search",
    "query": "query",
    "show": "show",
    "recall": "recall",
    "status": "status",
    "log": "log",
    "diff": "diff",
    "blame": "blame",
    "index": "index",
    "fsck": "fsck",
    "sync": "sync",
    "gc": "gc",
    "hooks": "hooks",
    "export": "export",
    "import": "import",
}
PLUMBING = {
    "hash-section": "hash_section",
    "cat-section": "cat_section",
    "add-section": "add_section",
    "update-section": "update_section",
    "rm-section": "rm_section",
    "mk-document": "mk_document",
    "rm-document": "rm_document",
    "ls-sections": "ls_sections",
    "ls-documents": "ls_documents",
    "ls-segments": "ls_segments",
    "dump-segment": "dump_segment",
    "chunk": "chunk",
    "tokens": "tokens",
    "merge-driver": "merge_driver",
    "textconv": "textconv",
}
COMMANDS = {**PORCELAIN, **PLUMBING}

USAGE_LINE = "usage: git kb [-C <dir>] [--git-dir <dir>] [--work-tree <dir>] <command> [<args>]"
FATAL, USAGE, INTERRUPTED, BROKEN_PIPE = 128, 129, 130, 141


def main(argv: list[str] | None = None) -> int:
    """Run one command line (without the program's name) and return its exit code. Entry point of `bin/git-kb`."""
    arguments = sys.argv[1:] if argv is None else argv
    from git_kb.cli.env import process_env

    env = process_env()
    try:
        return run(arguments, env)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return BROKEN_PIPE
    except OSError as e:
        where = f" '{shortened(os.fsdecode(e.filename))}'" if e.filename else ""
        env.err.write(f"fatal: {(e.strerror or str(e)).lower()}{where}\n")
        return FATAL
    finally:
        env.close()


def main_verb(verb: str) -> int:
    """Entry point of the dashed forms, `bin/git-kb-<verb>`."""
    return main([verb, *sys.argv[1:]])


def leave(code: int) -> NoReturn:
    """End the process. Where nothing needs an ordered end, at once: the interpreter takes 4 ms to take itself apart."""
    # Whatever starts workers or other programs by way of the library has imported this.
    if "threading" in sys.modules:
        sys.exit(code)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue  # `main` has said what there was to say
    os._exit(code)


def run(arguments: list[str], env: Env) -> int:
    """Run one command line in a given world."""
    try:
        code = _run(arguments, env)
        env.out.flush()
        return code
    except KbError as e:
        env.report(e)
        try:
            env.out.flush()
        except (KbError, BrokenPipeError):
            pass  # the first failure is the one that counts
        return e.exit_code


def _run(arguments: list[str], env: Env) -> int:
    rest = _global_options(list(arguments), env)
    if not rest or rest[0] in ("-h", "--help", "help"):
        return _help(rest[1:], env)
    if rest[0] in ("--version", "version"):
        from git_kb import __version__

        env.out.write(f"git-kb version {__version__}\n")
        return 0
    verb = rest[0]
    if verb.startswith("-"):
        raise UnknownOption(verb.partition("=")[0])
    if verb not in COMMANDS:
        raise UnknownVerb(verb)
    if verb == "search":
        import gc

        from git_kb.cli.fast import quick_search

        # Some ten milliseconds of work leave nothing worth collecting.
        gc.disable()
        quick = quick_search(rest[1:], env)
        gc.enable()
        if quick is not None:
            return quick
    if verb == "merge-driver":
        from git_kb.cli.merge_driver import run_plain

        plain = run_plain(rest[1:], env)
        if plain is not None:
            return plain
    if verb == "hooks":
        from git_kb.cli.quickhook import quick_hook

        quick = quick_hook(rest[1:], env)
        if quick is not None:
            return quick
    from git_kb.cli.parser import BadArguments, HelpAsked

    module = command_module(verb)
    parser = command_parser(verb, module)
    try:
        args = parser.parse_args(module.prepare(rest[1:]) if hasattr(module, "prepare") else rest[1:])
        return int(module.run(args, env))
    except HelpAsked as e:
        env.out.write(e.text)
        return 0
    except BadArguments as e:
        e.usage = parser.short_usage()
        e.hint = e.hint or f"see 'git kb {verb} -h'"
        raise


class UnknownVerb(UsageError):
    """There is no such command. The hint names the nearest ones."""

    def __init__(self, verb: str):
        from difflib import get_close_matches

        self.verb = verb
        near = get_close_matches(verb, COMMANDS, 3, 0.6)
        self.hint = f"the most similar: {', '.join(near)}" if near else "'git kb -h' lists the commands"
        super().__init__(f"'{verb}' is not a git kb command")


class UnknownOption(UsageError):
    """There is no such option before the command."""

    usage = USAGE_LINE
    hint = "see 'git kb -h'"

    def __init__(self, option: str):
        self.option = option
        super().__init__(f"unknown option '{option}'")


class MissingValue(UsageError):
    """A global option lacks its value."""

    usage = USAGE_LINE
    hint = "see 'git kb -h'"

    def __init__(self, option: str):
        super().__init__(f"option '{option}' needs a value")


def _global_options(rest: list[str], env: Env) -> list[str]:
    """Take `-C DIR`, `--git-dir`, `--work-tree` off the front, as git does, and apply them."""
    environ = dict(env.environ)
    changed = False
    while rest and rest[0].startswith("-"):
        option, equals, value = rest[0].partition("=")
        if option not in ("-C", "--git-dir", "--work-tree"):
            break
        del rest[0]
        if not equals:
            if not rest:
                raise MissingValue(option)
            value = rest.pop(0)
        if option == "-C":
            env.cwd = os.path.normpath(os.path.join(env.cwd, value))
            if not os.path.isdir(env.cwd):
                raise KbError(f"cannot change to '{value}': no such directory")
        else:
            environ["GIT_DIR" if option == "--git-dir" else "GIT_WORK_TREE"] = os.path.join(env.cwd, value)
            changed = True
    if changed:
        env.environ = environ
    return rest


def command_module(verb: str) -> ModuleType:
    """Return the module of a verb: SUMMARY, add_arguments(parser), run(args, env)."""
    from importlib import import_module

    return import_module(f"git_kb.cli.{COMMANDS[verb]}")


def command_parser(verb: str, module: ModuleType) -> Parser:
    """Return the parser of one verb."""
    from git_kb.cli.parser import Parser

    parser = Parser(prog=f"git kb {verb}", description=(module.__doc__ or "").partition("\n\n")[2] or f"{module.SUMMARY}.")
    module.add_arguments(parser)
    return parser


def _help(topics: list[str], env: Env) -> int:
    """`git kb -h`, `git kb help [VERB]`: short usage on stdout."""
    if topics and topics[0] in COMMANDS:
        env.out.write(command_parser(topics[0], command_module(topics[0])).format_help())
        return 0
    if topics:
        raise UnknownVerb(topics[0])
    env.out.write(f"{USAGE_LINE}\n")
    for title, table in (("commands", PORCELAIN), ("for scripts", PLUMBING)):
        env.out.write(f"\n{title}:\n")
        for verb in table:
            env.out.write(f"   {verb:14} {command_module(verb).SUMMARY}\n")
    env.out.write("\n'git kb <command> -h' has its options; 'git help kb' is the manual.\n")
    return 0
