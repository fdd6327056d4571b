"""git kb sync: make the section pool here and that of a remote one.

Fetches refs/kb/sections of the remote, takes what this clone lacks, and pushes what the remote lacks. Both pools then hold the
sections of both. Pushes are never forced: where others push at the same time, it fetches again and tries again. Without
REMOTE: that of the current branch, else origin, else the only one. Branches and tags are left to git fetch, pull and push.
What comes in is checked first: a section that is not what its name says is left out of both pools, and named.
Exit status 1 when the remote refuses the push; what came in is kept. docs/sync.md has the whole.
"""

from __future__ import annotations

import argparse

from git_kb.cli.env import Env

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.store.sync import Synced

SUMMARY = "unite the section pool with that of a remote"
# Longer lists are for --json.
MAX_NAMED = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("remote", nargs="?", help="name, URL or path of a repository (default: as for git fetch)")
    parser.add_argument(
        "-n", "--dry-run", action="store_true", help="fetch, and say what would be done; both pools stay as they are"
    )
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--fetch", action="store_true", help="only look at what the remote has, for 'git kb status'")
    group.add_argument("--no-push", action="store_true", help="take what the remote has, push nothing")
    group.add_argument("--push-only", action="store_true", help="push what the remote lacks, take nothing")
    parser.add_argument("--no-verify", action="store_true", help="run no pre-push hook")
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing but errors and warnings")
    parser.add_argument("--json", action="store_true", help="the outcome as one JSON object")


def run(args: argparse.Namespace, env: Env) -> int:
    from git_kb.repo.remotes import default_remote
    from git_kb.store.sync import Way, sync

    env.quiet = args.quiet or args.json
    way = Way.FETCH if args.fetch else Way.TAKE if args.no_push else Way.GIVE if args.push_only else Way.BOTH
    remote = default_remote(env.place) if args.remote is None else args.remote
    done = sync(env.repo, remote, way, dry_run=args.dry_run, verify=not args.no_verify)
    if args.json:
        from git_kb.output.jsontext import json_text

        env.out.write(json_text(_data(done, args.dry_run)) + "\n")
    _report(done, args, env)
    if done.refused and done.n_sent:
        raise done.refused
    return 0


def _data(done: Synced, dry_run: bool) -> dict[str, object]:
    return {
        "remote": done.remote,
        "dry_run": dry_run,
        "received": done.n_received,
        "sent": done.n_sent,
        "pushed": done.pushed,
        "refused": done.refused.why if done.refused else None,
        "commit": done.commit,
        "remote_commit": done.remote_commit,
        "tries": done.n_tries,
        "left_out": [{"path": e.path, "side": e.side, "detail": e.why} for e in done.left_out],
    }


def _report(done: Synced, args: argparse.Namespace, env: Env) -> None:
    for line in done.words:
        env.note(line)
    for entry in done.left_out[:MAX_NAMED]:
        whose = "of this pool" if entry.side == "ours" else f"of '{done.remote}'"
        env.warn(f"'{entry.path}' {whose} is left out: {entry.why}")
    if len(done.left_out) > MAX_NAMED:
        env.warn(f"and {len(done.left_out) - MAX_NAMED} more are left out; --json names all")
    if any(entry.side == "ours" for entry in done.left_out):
        env.note("hint: 'git kb ingest -f' makes sections again from their sources")
    if done.refused and not done.n_sent:
        # It was only to be rid of what is left out.
        env.warn(f"'{done.remote}' keeps what is left out here: {done.refused.why}")
    if not done.n_received and not done.n_sent:
        env.note(
            f"'{done.remote}' and this pool have the same sections" if done.remote_commit or done.commit else "there is no pool yet"
        )
        return
    if args.fetch or args.dry_run:
        taken = "would come in" if args.dry_run and not args.fetch and not args.push_only else "not here"
        given = "would be sent" if args.dry_run and not args.fetch and not args.no_push else "not there"
    else:
        taken = "left there" if args.push_only else "came in"
        given = "kept back" if args.no_push or done.refused else "sent"
    env.note(f"'{done.remote}': {_sections(done.n_received)} {taken}, {_sections(done.n_sent)} {given}")


def _sections(n: int) -> str:
    return f"{n} section{'s' * (n != 1)}"
