"""What the commands that change single sections and documents share: the lock, names of sections, the index, the answer."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

from git_kb.cli.env import Env

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.index.segments import Segments
    from git_kb.index.view import View
    from git_kb.ingest.operations import Change, Work
    from git_kb.output.near import NearReport


def add_common_arguments(parser: argparse.ArgumentParser, index: bool = True) -> None:
    """Add the options that all of them have."""
    parser.add_argument("-n", "--dry-run", action="store_true", help="say what would be done, write nothing")
    parser.add_argument("-q", "--quiet", action="store_true", help="only errors and warnings on standard error")
    if index:
        parser.add_argument("--no-index", action="store_true", help="leave indexing to the next search; no near-duplicates then")
    parser.add_argument("--json", action="store_true", help="the outcome as one JSON object")


class Timer:
    """Milliseconds since it was made."""

    def __init__(self) -> None:
        self.begin = time.monotonic()

    @property
    def ms(self) -> int:
        return round((time.monotonic() - self.begin) * 1000)


def change(args: argparse.Namespace, env: Env, operation: str, do: Callable[[Work], Change]) -> Change:
    """Run an operation under the writer's lock, and say which files changed."""
    from git_kb.ingest.operations import Work
    from git_kb.store.state import check_root, worktree_config

    env.quiet = args.quiet or args.json
    check_root(env.place)
    config = worktree_config(env.place)
    if args.dry_run:
        changed = do(Work(env.repo, config, env.warn))
    else:
        with env.lock(operation):
            changed = do(Work(env.repo, config, env.warn))
    would = "would change" if args.dry_run else "changed"
    for path in changed.sources:
        env.note(f"{would} {os.fsdecode(path)}")
    return changed


def section_name(name: str, env: Env) -> str:
    """Return a kbid or citation for what was typed: one of these, `<path>:<line>` or `<path>#<heading>`. Others stay."""
    import re

    from git_kb.cli.names import at_path
    from git_kb.errors import NotFound
    from git_kb.index.view import ViewDocument
    from git_kb.model.section import is_kbid_prefix
    from git_kb.store.freshness import with_fresh_view
    from git_kb.store.state import StateName, check_root

    if not name or is_kbid_prefix(name.lower()) or re.search(r"(?:#|\A)c-[0-9a-f]{8,64}(?:-[0-9]+)?\Z", name):
        return name
    check_root(env.place)
    try:
        found = with_fresh_view(env.repo, StateName(), env.hooks("index"), lambda view, _: at_path(view, name, env))
    except NotFound:
        return name
    return found[0].citation if found and not isinstance(found, ViewDocument) else name


def n_terms(changed: Change) -> int:
    """Return how many different terms a section gives the index."""
    from git_kb.text.fields import fields
    from git_kb.text.languages import rules_of
    from git_kb.text.words import word_terms, words

    rules = rules_of(changed.language) if changed.language else ""
    parts = fields(changed.type, changed.content, changed.title)
    return len({term for part in parts for word in words(part) for term in word_terms(word, rules)})


def near_duplicates(changed: Change, args: argparse.Namespace, env: Env) -> list[dict[str, object]] | None:
    """Bring the index up to date and return what is nearly the same as a section; None when that is not looked for."""
    if args.dry_run or args.no_index:
        return None
    from git_kb.model.section import kbid_bytes
    from git_kb.output.near import near_line, near_report
    from git_kb.store.freshness import with_fresh_view
    from git_kb.store.near import near_duplicates as near
    from git_kb.store.state import StateName

    hooks = env.hooks("index")
    # What is indexed is one section: nothing to speak of.
    hooks.note = lambda message: None
    new = set() if changed.skipped else {kbid_bytes(changed.kbid)}

    def look(view: View, segments: Segments) -> NearReport:
        return near_report(view, near(env.place.kb_dir, view, segments, new, hooks))

    report = with_fresh_view(env.repo, StateName(), hooks, look)
    for pair in report.pairs[:1]:
        env.note(f"near-duplicate: {near_line(pair, env.place.prefix)}")
    return [{key: value for key, value in one.items() if key != "of"} for one in report.data()]


def sources(changed: Change) -> list[str]:
    """Return the sources that changed, as manifests have them."""
    from git_kb.model.source import source_of_path

    return [source_of_path(path) for path in changed.sources]


def tag(text: str) -> str:
    """Return a tag on one line. Raises argparse.ArgumentTypeError when there is nothing of it."""
    if not (found := " ".join(text.split())):
        raise argparse.ArgumentTypeError("a tag needs at least one visible character")
    return found


def write_json(data: dict[str, object], env: Env) -> None:
    from git_kb.output.jsontext import json_text

    env.out.write(json_text(data) + "\n")
