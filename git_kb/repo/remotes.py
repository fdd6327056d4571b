"""Remotes: which one is meant, fetching one ref and pushing one ref. Git does the talking; nothing is ever forced."""

from __future__ import annotations

import os
import time
from typing import NamedTuple

from git_kb.errors import KbError
from git_kb.repo.config import read_config
from git_kb.repo.discover import Place
from git_kb.repo.objects import is_oid
from git_kb.repo.process import GitFailed, git_at
from git_kb.repo.spawn import run_git

# Git's words decide what a failure was, so they have to be English.
PLAIN_WORDS = {"LC_ALL": "C", "LANGUAGE": ""}
# Whatever is configured: no tags, no other refs, nobody's FETCH_HEAD, no recursion, no maintenance under our feet; in a partial
# clone blobs too, since all are read at once.
FETCH = (
    "fetch", "--no-tags", "--refmap=", "--no-prune", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance",
    "--no-filter", "--quiet",
)  # fmt: skip
PUSH = ("push", "--porcelain", "--no-follow-tags", "--recurse-submodules=no")
# What a server says of a ref that another push has in hand, or has just moved.
BUSY = ("cannot lock", "failed to lock", "failed to update ref", "incorrect old value", "reference already exists")
MAX_TRIES, PAUSE_S = 5, 0.1


class NoRemote(KbError):
    """There is nothing to exchange with, or no telling which of several remotes is meant."""

    hint = "name one: 'git kb sync <remote>'; 'git remote add origin <url>' makes one"

    def __init__(self, names: list[str]):
        self.names = names
        super().__init__(f"no remote is the default one of {', '.join(names)}" if names else "this repository has no remote")


class RemoteFailed(KbError):
    """Git could not talk to the remote. The message is git's own."""

    def __init__(self, remote: str, why: str):
        self.remote, self.why = remote, why
        super().__init__(f"cannot reach '{remote}': {why}")


class PushRefused(KbError):
    """The remote did not take the push, or a hook of ours stopped it. `why` is the reason, `words` what was said besides."""

    exit_code = 1

    def __init__(self, remote: str, why: str, words: str = ""):
        self.remote, self.why, self.words = remote, why, words
        super().__init__(f"the push to '{remote}' was refused: {why}" + (f"\n{words}" if words else ""))


class PushLost(KbError):
    """The remote's ref is not where we saw it: another push came first, or is under way."""

    hint = "others are pushing to it; try again"

    def __init__(self, remote: str, why: str):
        self.remote, self.why = remote, why
        super().__init__(f"'{remote}' changed while we pushed: {why}")


class Fetched(NamedTuple):
    """The commit a remote's ref names, None where it has no such ref. `words`: what the remote said to people."""

    oid: str | None
    words: list[str]


def remote_names(place: Place) -> list[str]:
    """Return the names of the configured remotes, sorted."""
    keys = (key.split(".", 1)[1].rpartition(".") for key in read_config(place, "remote").keys())  # noqa: SIM118 - no dictionary
    return sorted({name for name, _, key in keys if name and key in ("url", "pushurl", "fetch")})


def default_remote(place: Place) -> str:
    """Return the remote that git would take: that of the current branch, else origin, else the only one. Raises NoRemote."""
    names = remote_names(place)
    status, out = git_at(place, ["symbolic-ref", "--quiet", "--short", "HEAD"], ok=(0, 1, 128))
    if status == 0:
        branch = os.fsdecode(out).removesuffix("\n")
        remote = read_config(place, "branch").get(f"branch.{branch}.remote", "")
        # "." is this repository itself.
        if remote and remote != ".":
            return remote
    if "origin" in names:
        return "origin"
    if len(names) == 1:
        return names[0]
    raise NoRemote(names)


def fetch_ref(place: Place, remote: str, ref: str, into: str | None) -> Fetched:
    """Fetch what a remote's ref names. `into`: the ref of ours that follows it; None leaves the objects without one.

    Where the remote has no such ref, ours goes. Raises RemoteFailed.
    """
    spec = f"+{ref}:{into}" if into else ref
    for attempt in range(MAX_TRIES):
        status, _, err = run_git([*FETCH, "--", remote, spec], place.git_cwd, env=place.git_env(PLAIN_WORDS))
        text = err.decode("utf-8", "replace")
        # Another fetch of ours has the ref in hand.
        if status == 0 or "cannot lock ref" not in text:
            break
        time.sleep(PAUSE_S * (attempt + 1))
    words = _said(text)
    if f"couldn't find remote ref {ref}" in text:
        if into and (old := _read(place, into)):
            git_at(place, ["update-ref", "--no-deref", "-d", into, old])
        return Fetched(None, words)
    if status != 0:
        raise RemoteFailed(remote, _reason(text, status))
    if into:
        return Fetched(_read(place, into), words)
    return Fetched(_ask(place, remote, ref), words)


def push_ref(place: Place, remote: str, oid: str, ref: str, verify: bool = True) -> list[str]:
    """Push a commit to a remote's ref, which has to be an ancestor of it; return what the remote said to people.

    `verify`: the user's pre-push hook may refuse it. Raises RemoteFailed, PushRefused, PushLost.
    """
    hook = [] if verify else ["--no-verify"]
    status, out, err = run_git([*PUSH, *hook, "--", remote, f"{oid}:{ref}"], place.git_cwd, env=place.git_env(PLAIN_WORDS))
    text = err.decode("utf-8", "replace")
    for line in out.decode("utf-8", "replace").split("\n"):
        flag, _, rest = line.partition("\t")
        if flag == "!":
            why = rest.partition("\t")[2] or rest
            reason = why.partition("(")[2].rpartition(")")[0] or why
            if why.startswith("[rejected]") or any(word in reason for word in BUSY):
                raise PushLost(remote, reason)
            raise PushRefused(remote, reason, "\n".join(_said(text)))
    if status == 1:
        # Git has talked to the remote and says nothing of the ref: the pre-push hook said no.
        raise PushRefused(remote, "it was stopped here, by a pre-push hook", _reason(text, status))
    if status != 0:
        raise RemoteFailed(remote, _reason(text, status))
    return _said(text)


def _ask(place: Place, remote: str, ref: str) -> str | None:
    """Return what a remote's ref names just now, by a question alone; it may have moved on since the fetch."""
    status, out, err = run_git(["ls-remote", "--", remote, ref], place.git_cwd, env=place.git_env(PLAIN_WORDS))
    if status != 0:
        raise RemoteFailed(remote, _reason(err.decode("utf-8", "replace"), status))
    for line in out.decode("utf-8", "replace").splitlines():
        oid, _, name = line.partition("\t")
        if name == ref and is_oid(oid, place.oid_hex_length):
            return oid
    return None


def _read(place: Place, ref: str) -> str | None:
    status, out = git_at(place, ["rev-parse", "--verify", "--quiet", "--end-of-options", ref], ok=(0, 1, 128))
    return out.decode().strip() if status == 0 else None


def _said(text: str) -> list[str]:
    """Return the lines that came from the other side."""
    return [line.rstrip() for line in text.split("\n") if line.startswith("remote: ")]


def _reason(text: str, status: int) -> str:
    """Return git's own words of why, without its advice."""
    lines = [line for line in text.strip().split("\n") if line and not line.startswith(("remote: ", "hint: "))]
    return str(GitFailed(["connection"], status, "\n".join(lines).encode()))
