"""Which operations of git run which hooks, with which GIT_INDEX_FILE and GIT_DIR: what our hooks rest on, told by git itself.

A line a hook: its name and arguments, the index it is to look at and GIT_DIR, relative to the repository ("-" where they are not set),
and what goes on.
"""

import os
import re

import pytest
from kb import git

LOGGED = (
    "pre-commit",
    "pre-merge-commit",
    "post-commit",
    "post-merge",
    "post-checkout",
    "post-rewrite",
    "pre-rebase",
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
)
SCRIPT = """#!/bin/sh
test -e "$(git rev-parse --git-dir)/rebase-merge" && state=' rebasing'
test -e "$(git rev-parse --git-dir)/CHERRY_PICK_HEAD" && state="$state picking"
echo "${0##*/} $* [${GIT_INDEX_FILE--}] [${GIT_DIR--}]$state" >>"%s"
"""
ZEROS, ID = re.compile(r"\b0{40}\b"), re.compile(r"\b[0-9a-f]{40}\b")


class Logged:
    """A repository with a second branch, a linked work tree, and hooks that write down that they ran."""

    def __init__(self, tmp_path, linked):
        self.log, self.main = tmp_path / "log", str(tmp_path / "main")
        git("init", "-q", "-b", "main", self.main, cwd=tmp_path)
        self.top = self.main
        self.commit("a.md", "base")
        self.git("branch", "other")
        if linked:
            self.top = str(tmp_path / "linked")
            self.git("worktree", "add", "-q", "-b", "work", self.top, cwd=self.main)
        for name in LOGGED:
            path = os.path.join(self.main, ".git", "hooks", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(SCRIPT % self.log)
            os.chmod(path, 0o755)

    def git(self, *args, cwd=None, check=True):
        return git(*args, cwd=cwd or self.top, check=check)

    def quiet(self, *args, check=True):
        """Run git without hooks, to make a history."""
        return self.git("-c", "core.hooksPath=/dev/null", *args, check=check)

    def write(self, name, text):
        with open(os.path.join(self.top, name), "w") as file:
            file.write(text + "\n")

    def commit(self, name, text):
        self.write(name, text)
        self.quiet("add", name)
        self.quiet("commit", "-q", "-m", text)

    def on_other(self, name, text):
        """Commit on the other branch, and come back."""
        branch = self.quiet("rev-parse", "--abbrev-ref", "HEAD")
        self.quiet("switch", "-q", "other")
        self.commit(name, text)
        self.quiet("switch", "-q", branch)

    def lines(self):
        if not self.log.exists():
            return []
        text = self.log.read_text().replace(os.path.realpath(self.main) + "/", "").replace(os.path.realpath(self.top), "LINKED")
        text = re.sub(r"next-index-\d+", "next-index-PID", ID.sub("ID", ZEROS.sub("0", text)))
        return text.splitlines()


def commit(r):
    r.write("b.md", "x")
    r.quiet("add", ".")
    r.git("commit", "-q", "-m", "x")


def commit_all(r):
    r.write("a.md", "x")
    r.git("commit", "-q", "-a", "-m", "x")


def commit_path(r):
    r.write("a.md", "x")
    r.git("commit", "-q", "-m", "x", "--", "a.md")


def commit_unverified(r):
    r.write("a.md", "x")
    r.git("commit", "-q", "-a", "-n", "-m", "x")


def amend(r):
    r.git("commit", "-q", "--amend", "-m", "y")


def merge(r):
    r.on_other("o.md", "o")
    r.commit("m.md", "m")
    r.git("merge", "-q", "--no-edit", "other")


def fast_forward(r):
    r.on_other("o.md", "o")
    r.git("merge", "-q", "other")


def pull(r):
    r.on_other("o.md", "o")
    r.git("pull", "-q", "--ff-only", r.main, "other")


def squash(r):
    r.on_other("o.md", "o")
    r.commit("m.md", "m")
    r.git("merge", "-q", "--squash", "other")


def conflicted_merge(r):
    r.on_other("a.md", "o")
    r.commit("a.md", "m")
    r.git("merge", "-q", "other", check=False)
    r.write("a.md", "both")
    r.git("commit", "-q", "-a", "-m", "x")


def rebase(r):
    r.commit("m.md", "m")
    r.commit("n.md", "n")
    r.on_other("o.md", "o")
    r.git("rebase", "-q", "other")


def pick_one(r):
    r.on_other("o.md", "o")
    r.commit("m.md", "m")
    r.git("cherry-pick", "other")


def pick_two(r):
    r.on_other("o.md", "o")
    r.on_other("p.md", "p")
    r.commit("m.md", "m")
    r.git("cherry-pick", "other~2..other")


def revert(r):
    r.commit("m.md", "m")
    r.git("revert", "--no-edit", "HEAD")


def am(r):
    r.on_other("o.md", "o")
    r.quiet("format-patch", "-q", "-1", "-o", r.main + "/../patches", "other")
    r.git("am", "-q", r.main + "/../patches/0001-o.patch")


def switch(r):
    r.git("switch", "-q", "other")


def checkout_path(r):
    r.git("checkout", "-q", "--", "a.md")


def add_worktree(r):
    r.git("worktree", "add", "-q", r.main + "/../new", "other")


def nothing_runs(r):
    r.write("a.md", "x")
    r.git("stash", "-q")
    r.git("stash", "pop", "-q")
    r.git("reset", "-q", "--hard")
    r.git("branch", "-f", "other", "HEAD")
    r.git("update-ref", "refs/x", "HEAD")
    r.git("fetch", "-q", r.main)


# Hook and arguments, index below the git directory, state. GIT_DIR is set in a linked work tree, and nowhere else.
TABLE = [
    (commit, ["pre-commit  [index]", "post-commit  [index]"]),
    (commit_all, ["pre-commit  [index.lock]", "post-commit  [index]"]),
    (commit_path, ["pre-commit  [next-index-PID.lock]", "post-commit  [index]"]),
    (commit_unverified, ["post-commit  [index]"]),
    (amend, ["pre-commit  [index]", "post-commit  [index]", "post-rewrite amend [-]"]),
    (merge, ["pre-merge-commit  [index]", "post-merge 0 [-]"]),
    (fast_forward, ["post-merge 0 [-]"]),
    (pull, ["post-merge 0 [-]"]),
    (squash, ["post-merge 1 [-]"]),
    (conflicted_merge, ["pre-commit  [index.lock]", "post-commit  [index]"]),
    (
        rebase,
        [
            "pre-rebase other [-]",
            "post-checkout ID ID 1 [-] rebasing",
            "post-commit  [index] rebasing picking",
            "post-commit  [index] rebasing picking",
            "post-rewrite rebase [-] rebasing",
        ],
    ),
    (pick_one, ["post-commit  [index] picking"]),
    (pick_two, ["post-commit  [index] picking"] * 2),
    (revert, ["post-commit  [index]"]),
    (am, ["applypatch-msg rebase-apply/final-commit [-]", "pre-applypatch  [-]", "post-applypatch  [-]"]),
    (switch, ["post-checkout ID ID 1 [-]"]),
    (checkout_path, ["post-checkout ID ID 0 [-]"]),
    (add_worktree, ["post-checkout 0 ID 1 [-]"]),
    (nothing_runs, []),
]


@pytest.mark.parametrize("linked", [False, True], ids=["main", "linked"])
@pytest.mark.parametrize(("operation", "expected"), TABLE, ids=lambda value: getattr(value, "__name__", ""))
def test_which_hooks_git_runs(operation, expected, linked, tmp_path):
    repository = Logged(tmp_path, linked)
    operation(repository)
    git_dir = ".git/worktrees/linked" if linked else ".git"
    # Of another work tree git tells nothing.
    own = f"[{git_dir}]" if linked and operation is not add_worktree else "[-]"
    lines = [line.replace(f"{git_dir}/", "") for line in repository.lines()]
    wanted = [re.sub(r"(\[[^]]*\])", rf"\1 {own}", line, count=1) for line in expected]
    assert lines == wanted
