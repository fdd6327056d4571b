"""The short way through `git kb hooks run`: most commits are not about knowledge, and each waits for this.

No argparse and no git library. What there is something to say about goes the long way (cli/hooks.py), which does all of it.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from git_kb.cli.env import Env
    from git_kb.repo.discover import Place


def quick_hook(arguments: list[str], env: Env) -> int | None:
    """Run `git kb hooks run [--stop-code N] NAME [ARGS...]`; None when this is no such command or there is more to do."""
    rest = arguments[1:] if arguments[:1] == ["run"] else []
    if rest[:1] == ["--stop-code"] and len(rest) > 1 and rest[1].isdecimal():
        rest = rest[2:]
    if not rest or any(word.startswith("-") for word in rest):
        return None
    name, values = rest[0], rest[1:]
    place = env.place
    if place.work_tree is None:
        return None
    if name == "pre-commit":
        from git_kb.hooks.staged import concerns_us, staged_changes

        return None if concerns_us(place, staged_changes(place), source_test) else 0
    if name not in ("post-commit", "post-merge", "post-checkout", "post-rewrite"):
        return None
    if not wants_warming(place, name, values):
        return 0
    if name != "post-checkout" and ingests_by_itself(place):
        return None
    warm_in_background(env, place)
    return 0


def source_test(config: bytes) -> Callable[[bytes], bool]:
    """Return the test for paths that the patterns in the bytes of kb.config.json take; the default ones where it makes no sense."""
    from git_kb.ingest.patterns import compile_patterns
    from git_kb.store.config import BadConfig, Config, parse_config

    try:
        parsed = parse_config(config) if config else Config()
    except BadConfig:
        parsed = Config()
    included, excluded = compile_patterns(parsed.include), compile_patterns(parsed.exclude)

    def test(path: bytes) -> bool:
        name = path.decode("utf-8", "surrogateescape")
        return included(name) and not excluded(name)

    return test


def wants_warming(place: Place, name: str, arguments: list[str]) -> bool:
    """Return whether there is a knowledge base here, and no rebase or the like goes on."""
    from git_kb.hooks.underway import is_underway
    from git_kb.store.root import CATALOG

    return os.path.isfile(os.path.join(place.work_tree or "", CATALOG)) and not is_underway(place, name, arguments)


def ingests_by_itself(place: Place) -> bool:
    """Return kb.autoIngest. Only git's own configuration has it: a clone must not decide what is written here."""
    from git_kb.repo.config import read_config

    return read_config(place).get_bool("kb.autoIngest")


def warm_in_background(env: Env, place: Place) -> None:
    """Have the index of this work tree brought up to date by a process that nobody waits for. Nothing where it is current."""
    from git_kb.repo.spawn import detach
    from git_kb.store.viewfile import current_view

    if (current := current_view(place)) is not None:
        view, segments = current
        view.close()
        segments.close()
        return
    env.out.flush()
    if not detach():
        return
    # From here on a process without a terminal: whatever fails is told by the next search.
    try:
        os.nice(10)
        from git_kb.hooks.warm import ask, warm_all

        ask(place)
        warm_all(place.kb_dir, warm_now)
    finally:
        os._exit(0)


def warm_now(place: Place) -> None:
    """Bring the index of a work tree up to date, silently."""
    from io import StringIO

    from git_kb.cli.env import Env
    from git_kb.errors import KbError
    from git_kb.store.freshness import fresh_view
    from git_kb.store.state import StateName

    env = Env(place.work_tree or "", place.env or {}, StringIO(), StringIO())
    env.use(place)
    try:
        fresh_view(env.repo, StateName(), env.hooks("warm", jobs=1))
    except (KbError, OSError):
        pass  # the next search meets it, and says so
    finally:
        env.close()
