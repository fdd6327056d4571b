"""git kb ingest: bring files and directories into the knowledge base.

Cuts each source into sections, stores the sections in refs/kb/sections and writes one manifest a source
below kb/documents/ in the work tree. A source whose blob has not changed costs a lookup. Directories give
what kb.config.json includes and git does not ignore; a file named here is taken whatever the patterns say,
and stays up to date with its directory from then on. The language of a document is what its front matter calls
lang, else what its text shows, else language.default of kb.config.json; words are stemmed by it.
A symbolic link in a directory is not followed. One that is named here stands for what it points to, which is
ingested under its own name if it is in this repository. Nothing is staged or committed without --commit.
With --commit, exactly the manifests of the sources named here that HEAD has otherwise are committed (the first time,
also kb/catalog.toml and kb/AGENTS.md), never the sources. 'git commit' makes the commit from an index of our own: hooks
run, it is signed where commit.gpgsign says so, and what else is staged stays staged. It is refused during a merge,
cherry-pick or revert. When git does not commit, the manifests stay written, nothing is staged, and the same command
tries again.
'-' is standard input: its bytes become a file below kb/raw/stdin/, named by the title (--title, or what the text gives) and a hash
of the bytes, so that the same text is the same document; --type says what it is (default: text/markdown).
Sections that came in are compared with all others: pairs whose terms have a Jaccard similarity of 0.85 or more
are told, which changes nothing else. In JSON they are "near_duplicates", at most 1000 of "near_duplicates_total"
pairs and at most 10 of one group with the same terms; null when they were not looked for: without an index, or when more
than 20000 sections came in at once. With --near-duplicates, all sections are compared with all others.
"""

from __future__ import annotations

import argparse
import os

from git_kb.cli.env import Env, worker_count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from git_kb.cli.progress import Progress
    from git_kb.errors import KbError
    from git_kb.index.segments import Segments
    from git_kb.index.view import View
    from git_kb.ingest.ingest import Summary
    from git_kb.output.near import NearReport

# With more new sections than this, looking for near-duplicates makes an ingest a fifth longer, and who brings in that much at once
# wants it done (bench/README.md).
MANY_NEW = 20_000
SUMMARY = "bring files and directories into the knowledge base"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from git_kb.cli.parser import add_jobs_argument

    parser.add_argument(
        "path", nargs="*", default=["."], help="files and directories (default: from here on down); '-' is standard input"
    )
    parser.add_argument("-n", "--dry-run", action="store_true", help="say what would be done, write nothing")
    parser.add_argument("-q", "--quiet", action="store_true", help="no summary, only warnings")
    parser.add_argument("-v", "--verbose", action="store_true", help="name every source that was added, changed or skipped")
    add_jobs_argument(parser)
    parser.add_argument("-f", "--force", action="store_true", help="cut again what has not changed, and mend damaged sections")
    parser.add_argument("--prune", action="store_true", help="drop the manifests of sources that no longer exist")
    parser.add_argument(
        "--tag", action="append", default=[], type=_tag, metavar="TAG", help="add a tag to each document (repeatable)"
    )
    parser.add_argument("--tier", choices=["S", "A", "B"], help="set the tier of each document")
    parser.add_argument("--title", type=_title, help="title of the document (one source only)")
    parser.add_argument("--commit", action="store_true", help="commit the manifests of these sources, and nothing else")
    parser.add_argument(
        "-m", "--message", action="append", metavar="MSG", help="message of the commit (repeated: one paragraph each)"
    )
    parser.add_argument("--type", metavar="MIME", help="MIME type of standard input (default: text/markdown)")
    parser.add_argument("--no-index", action="store_true", help="leave indexing to the next search")
    parser.add_argument(
        "--near-duplicates",
        action=argparse.BooleanOptionalAction,
        default=None,
        help=f"tell all sections that say nearly the same as another one (default: new ones, of at most {MANY_NEW} at once)",
    )
    parser.add_argument("--json", action="store_true", help="the summary as one JSON object")
    parser.add_argument("--progress", action=argparse.BooleanOptionalAction, default=None, help="show progress on standard error")


def _tag(text: str) -> str:
    """Return a tag on one line. Raises argparse.ArgumentTypeError when there is nothing of it."""
    tag = " ".join(text.split())
    _need_visible(tag, "a tag")
    return tag


def _title(text: str) -> str:
    """Return a title. Raises argparse.ArgumentTypeError when there is nothing of it."""
    _need_visible(text, "a title")
    return text


def _need_visible(text: str, what: str) -> None:
    if not any(c.isprintable() and not c.isspace() for c in text):
        raise argparse.ArgumentTypeError(f"{what} needs at least one visible character")


def run(args: argparse.Namespace, env: Env) -> int:
    from git_kb.cli.parser import BadArguments
    from git_kb.cli.progress import Progress
    from git_kb.ingest.ingest import Options, ingest
    from git_kb.ingest.select import resolve_path, select_sources
    from git_kb.store.state import check_root, worktree_config

    if args.message is not None and not args.commit:
        raise BadArguments("-m is for --commit")
    env.quiet = args.quiet or args.json
    check_root(env.place)
    if args.commit:
        from git_kb.repo.commit import check_can_commit

        check_can_commit(env.place)
    config = worktree_config(env.place)
    options = Options(
        jobs=worker_count(args.jobs),
        dry_run=args.dry_run,
        prune=args.prune,
        force=args.force or bool(args.tag or args.tier or args.title),
        tags=tuple(args.tag),
        tier=args.tier or "",
        title=args.title or "",
    )
    progress = Progress(env, args.progress)
    given = None
    if "-" in args.path:
        from git_kb.ingest.given import given_source

        if args.commit:
            raise BadArguments("--commit commits no sources, so what comes from standard input is committed with 'git add kb'")
        if args.path.count("-") > 1:
            raise BadArguments("standard input can be read once")
        given = given_source(env.stdin.read(), args.type or "text/markdown", options.title, config)
    elif args.type is not None:
        raise BadArguments("--type is for standard input: name it with '-'")
    paths = [path for path in args.path if path != "-"]
    if given is not None and options.title and paths:
        raise BadArguments("--title is for one source, here are standard input and others")

    def work(beat: Callable[[], None]) -> Summary:
        named = list(paths)
        to_come = given is not None and args.dry_run and not given.is_there(env.place)
        for path in paths:
            resolve_path(env.place, path)
        if given is not None and not to_come:
            named.append(given.write(env.place))
        selection = select_sources(env.place, named, config, env.warn, options.force)
        n_work = len(selection.work) + to_come
        if options.title and n_work != 1:
            raise BadArguments(f"--title is for one source, here are {n_work}")
        summary = ingest(env.repo, selection, config, options, progress, beat)
        if given is not None and to_come:
            given.would_be(env.repo, summary)
        return summary

    if args.dry_run:
        summary = work(lambda: None)
    else:
        with env.lock("ingest") as lock:
            summary = work(lock.refresh)
    progress.clear()
    if not args.json:
        _report(summary, args, env)
    near = None if args.dry_run or args.no_index else _index(summary, args, env, progress)
    if not args.json and near is not None and near.total:
        _report_near(near, args, env)
    commit, error = (None, None) if args.dry_run or not args.commit else _commit(summary, args, env)
    if args.json:
        from git_kb.output.jsontext import json_text

        # Without --commit there is nothing to say of a commit.
        env.out.write(json_text({**_data(summary, near), **({"commit": commit} if args.commit else {})}) + "\n")
    if error is not None:
        raise error
    return 0


def _commit(summary: Summary, args: argparse.Namespace, env: Env) -> tuple[str | None, KbError | None]:
    """Commit the manifests. Returns the commit's id, None when there was nothing to commit, and why git did not commit."""
    from git_kb.errors import KbError
    from git_kb.ingest.commit import commit_manifests
    from git_kb.ingest.select import resolve_path
    from git_kb.output.terminal import visible
    from git_kb.repo.commit import NotCommitted
    from git_kb.store.root import CONFIG

    scopes = [resolve_path(env.place, path)[0] for path in args.path]
    message = "\n\n".join(args.message) + "\n" if args.message is not None else None
    try:
        # Those that are gone may be what is at no path any more.
        done = commit_manifests(env.repo, scopes, summary.pruned, message, env.warn)
    except NotCommitted as e:
        env.err.write(visible(os.fsdecode(e.stderr)))
        return None, e
    except KbError as e:
        return None, e
    if done is None:
        env.note("nothing to commit: HEAD has the manifests of these sources as they are")
        return None, None
    made, sources = done
    env.err.write(visible(os.fsdecode(made.stderr)))
    n_files, n = made.n_files, len(sources)
    env.note(f"committed {n_files} file{'s' * (n_files != 1)} of {n} source{'s' * (n != 1)}: {made.oid[:10]}")
    tree = env.repo.tree_of(made.oid)
    if left := [name for name in (CONFIG, ".gitattributes") if env.repo.entry_at(tree, name.encode()) is None]:
        env.note(f"not in it: {' and '.join(left)}; to share how this knowledge base is set up, commit that, too")
    return made.oid, None


def _index(summary: Summary, args: argparse.Namespace, env: Env, progress: Progress) -> NearReport | None:
    """Bring the index up to date. Returns the near-duplicates of what came in, None when they were not looked for."""
    from git_kb.model.section import RAW_SIZE, kbid_bytes
    from git_kb.store.freshness import with_fresh_view
    from git_kb.store.state import StateName

    hooks = env.hooks("index", progress, args.jobs)

    n_new = len(summary.new_sections)
    automatic = args.near_duplicates is None and n_new <= MANY_NEW
    new = set(map(kbid_bytes, summary.new_sections)) if automatic else set()
    # What is new in a large ingest takes memory that the index can use.
    summary.new_sections.clear()

    def look(view: View, segments: Segments) -> NearReport | None:
        if not automatic and not args.near_duplicates:
            if n_new > MANY_NEW and args.near_duplicates is None:
                env.note(f"near-duplicates of {n_new} new sections are not looked for; 'git kb ingest --near-duplicates' tells all")
            return None
        wanted = new if automatic else {id_[:RAW_SIZE] for id_ in view.part(0, view.n_documents).entry_ids()}
        from git_kb.output.near import near_report
        from git_kb.store.near import near_duplicates

        return near_report(view, near_duplicates(env.place.kb_dir, view, segments, wanted, hooks))

    near = with_fresh_view(env.repo, StateName(), hooks, look)
    progress.clear()
    return near


def _report_near(near: NearReport, args: argparse.Namespace, env: Env) -> None:
    from git_kb.output.near import near_line

    more = "" if args.verbose else "; 'git kb ingest --near-duplicates --verbose' names all there are"
    env.note(f"near-duplicates: {near.total} pair{'s' * (near.total != 1)} of sections{more}")
    for pair in near.pairs if args.verbose else near.pairs[:1]:
        env.note(f"  {near_line(pair, env.place.prefix)}")
    if args.verbose and near.total > len(near.pairs):
        env.note(f"  and {near.total - len(near.pairs)} more")


def _report(summary: Summary, args: argparse.Namespace, env: Env) -> None:
    for path, warning in summary.warnings:
        env.warn(f"'{os.fsdecode(path)}': {warning}")
    for path, reason in summary.skipped:
        env.warn(f"skipped '{os.fsdecode(path)}': {reason}")
    if args.verbose:
        for mark, paths in (("new", summary.new), ("changed", summary.changed)):
            for path in paths:
                env.note(f"{mark} {os.fsdecode(path)}")
    for old, new in summary.moved:
        env.note(f"moved {old} -> {new}")
    for source in summary.gone:
        env.warn(f"source '{source}' is gone; 'git kb ingest --prune' drops its document")
    for source in summary.pruned:
        env.note(f"dropped {source}")
    if not any((summary.new, summary.changed, summary.moved, summary.n_unchanged, summary.skipped, summary.gone, summary.pruned)):
        env.note(
            "no source is there: 'sources' in kb.config.json chooses from directories; what is named itself is taken all the same"
        )
    would = "would be " if args.dry_run else ""
    parts = [
        f"{len(summary.new)} new",
        f"{len(summary.changed)} changed",
        *([f"{len(summary.moved)} moved"] if summary.moved else []),
        f"{summary.n_unchanged} unchanged",
        f"{len(summary.skipped)} skipped",
        *([f"{len(summary.gone)} gone"] if summary.gone else []),
    ]
    env.note(f"sources: {', '.join(parts)}; sections: {summary.n_sections} {would}cut, {summary.n_sections_new} {would}new")


def _data(summary: Summary, near: NearReport | None) -> dict[str, object]:
    from git_kb.model.source import source_of_path

    # Paths as manifests have them: JSON holds no bytes that are not UTF-8.
    return {
        "new": [source_of_path(p) for p in summary.new],
        "changed": [source_of_path(p) for p in summary.changed],
        "moved": [{"from": old, "to": new} for old, new in summary.moved],
        "unchanged": summary.n_unchanged,
        "skipped": [{"path": source_of_path(p), "reason": r} for p, r in summary.skipped],
        "warnings": [{"path": source_of_path(p), "warning": w} for p, w in summary.warnings],
        "gone": summary.gone,
        "pruned": summary.pruned,
        "sections": summary.n_sections,
        "sections_new": summary.n_sections_new,
        "near_duplicates": None if near is None else near.data(),
        "near_duplicates_total": None if near is None else near.total,
    }
