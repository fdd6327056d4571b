"""Where am I: the repository around a directory, as git itself sees it.

On the search path: one git process, no imports to speak of.
"""

from __future__ import annotations

import os

from git_kb.errors import KbError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# `git rev-parse` echoes flags it does not know, so this one separates answers that may hold line ends (paths).
MARK = "--kb-mark"
FACTS = ["--is-bare-repository", "--is-shallow-repository", "--is-inside-work-tree", "--show-object-format", "--show-ref-format"]
PATHS = ["--git-dir", "--git-common-dir", "--show-prefix", "--show-cdup"]


class NoRepository(KbError):
    """Git finds no repository here, or refuses the one it finds. The message is git's own."""

    def __init__(self, cwd: str, status: int, stderr: bytes):
        self.cwd, self.status = cwd, status
        text = os.fsdecode(stderr).strip()
        super().__init__(text.removeprefix("fatal: ") or f"git rev-parse in '{cwd}' ended with status {status}")


class NeedsWorkTree(KbError):
    """What was asked needs files on disk, and a bare repository (or the inside of `.git`) has none."""

    def __init__(self, git_dir: str):
        self.git_dir = git_dir
        super().__init__("this operation must be run in a work tree")


class Place:
    """One repository and where we stand in it. Paths are absolute `str`, with undecodable bytes as `os.fsdecode` has them.

    work_tree: top of the work tree; None in a bare repository and inside `.git`.
    prefix: path from the top to where we stand, b"" or ending in b"/".
    object_format: "sha1" or "sha256". ref_format: "files" or "reftable".
    env: the environment git was asked in; None is the process's own.
    """

    __slots__ = (
        "common_dir",
        "cwd",
        "env",
        "git_dir",
        "is_bare",
        "is_shallow",
        "object_format",
        "prefix",
        "ref_format",
        "work_tree",
    )

    def __init__(
        self,
        *,
        git_dir: str,
        common_dir: str,
        work_tree: str | None,
        prefix: bytes = b"",
        object_format: str = "sha1",
        ref_format: str = "files",
        is_bare: bool = False,
        is_shallow: bool = False,
        cwd: str = "",
        env: Mapping[str, str] | None = None,
    ):
        self.git_dir, self.common_dir, self.work_tree, self.prefix = git_dir, common_dir, work_tree, prefix
        self.object_format, self.ref_format, self.is_bare, self.is_shallow = object_format, ref_format, is_bare, is_shallow
        self.cwd, self.env = cwd, env

    def __repr__(self) -> str:
        return f"Place(git_dir={self.git_dir!r}, work_tree={self.work_tree!r})"

    @property
    def kb_dir(self) -> str:
        """Our own directory, shared by all work trees. It may not exist yet."""
        return self.common_dir + "/kb"

    @property
    def worktree_id(self) -> str:
        """The name of a linked work tree, "" for the main one."""
        return "" if self.git_dir == self.common_dir else os.path.basename(self.git_dir)

    @property
    def objects_dir(self) -> str:
        """Where new objects go; GIT_OBJECT_DIRECTORY moves it (as git does in a receiving push)."""
        moved = (os.environ if self.env is None else self.env).get("GIT_OBJECT_DIRECTORY")
        return os.path.join(self.git_cwd, moved) if moved else self.common_dir + "/objects"

    @property
    def alternates(self) -> list[str]:
        """Object directories that GIT_ALTERNATE_OBJECT_DIRECTORIES adds; `objects/info/alternates` needs no help."""
        listed = (os.environ if self.env is None else self.env).get("GIT_ALTERNATE_OBJECT_DIRECTORIES", "")
        return [os.path.join(self.git_cwd, path) for path in listed.split(os.pathsep) if path]

    @property
    def oid_hex_length(self) -> int:
        """Hex digits in an object id."""
        return 64 if self.object_format == "sha256" else 40

    @property
    def git_cwd(self) -> str:
        """Where git commands for this repository run, so that the paths they take and give count from the top."""
        return self.work_tree or self.git_dir

    def git_env(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the environment that makes git use this repository, whatever the current directory. `extra` goes on top.

        GIT_OPTIONAL_LOCKS=0: a reader must not take `index.lock` under a user's command. GIT_NO_REPLACE_OBJECTS=1: an id means
        the object that has it, as in libgit2 and dulwich, which know no `refs/replace`; manifests go to who has none of those.
        """
        env = dict(os.environ if self.env is None else self.env)
        env["GIT_OPTIONAL_LOCKS"] = "0"
        env["GIT_NO_REPLACE_OBJECTS"] = "1"
        env["GIT_DIR"] = self.git_dir
        if self.work_tree is None:
            env.pop("GIT_WORK_TREE", None)
        else:
            env["GIT_WORK_TREE"] = self.work_tree
        return {**env, **extra} if extra else env

    def callers_env(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the environment as it was given to us, for git commands that run hooks: those get no variable of ours.

        What names a place counts from the top of the work tree then.
        """
        env = dict(os.environ if self.env is None else self.env)
        for name, value in (("GIT_DIR", self.git_dir), ("GIT_WORK_TREE", self.work_tree or "")):
            if name in env:
                env[name] = value
        return {**env, **extra} if extra else env

    def plain(self) -> Place:
        """Return a copy that can be sent to another process."""
        env = dict(os.environ if self.env is None else self.env)
        values = {name: getattr(self, name) for name in self.__slots__ if name != "env"}
        return Place(**values, env=env)


def discover(cwd: str, env: Mapping[str, str] | None = None) -> Place:
    """Return the repository that git finds from `cwd`. Raises NoRepository with git's own words (dubious ownership too)."""
    from git_kb.repo.spawn import run_git

    status, out, err = run_git(
        ["rev-parse", "--path-format=absolute", *FACTS, MARK, PATHS[0], MARK, PATHS[1], MARK, PATHS[2], MARK, PATHS[3]],
        cwd=cwd,
        env=env,
    )
    if status != 0:
        raise NoRepository(cwd, status, err)
    parts = out.split(b"%s\n" % MARK.encode())
    facts = parts[0].split(b"\n")
    if len(parts) != 5 or len(facts) != len(FACTS) + 1:
        raise NoRepository(cwd, status, b"git rev-parse gave an answer that makes no sense: " + out)
    git_dir, common_dir, cdup = (_line(parts[i]) for i in (1, 2, 4))
    return Place(
        git_dir=os.fsdecode(git_dir),
        common_dir=os.fsdecode(common_dir),
        work_tree=_work_tree(cwd, facts, cdup if parts[4] else None),
        prefix=_line(parts[3]),
        object_format=facts[3].decode(),
        # Before 2.44 git echoes the flag; then it knows loose and packed files alone.
        ref_format="files" if facts[4].startswith(b"--") else facts[4].decode(),
        is_bare=facts[0] == b"true",
        is_shallow=facts[1] == b"true",
        cwd=cwd,
        env=env,
    )


# What in the environment makes git look elsewhere, or at other configuration.
MOVES_GIT = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_TEST_ASSUME_DIFFERENT_OWNER",
    "SUDO_UID",
)
# What in a repository's configuration moves its parts or asks for another git. A line with one of the words has to be as here.
USUAL = {b"bare": b"bare = false", b"repositoryformatversion": b"repositoryformatversion = 0"}
MAX_CONFIG = 1 << 16
UNUSUAL = (b"worktree", b"include", b"extensions")


def discover_plain(cwd: str, env: Mapping[str, str]) -> Place | None:
    """Return what `discover` would, without a process; None wherever that takes more than a look.

    That is: a `.git` directory here or above on one file system, owned by this user as are the directory and its work tree, nothing
    special in the environment or its configuration.
    """
    if any(name in env for name in MOVES_GIT) or not hasattr(os, "geteuid"):
        return None
    try:
        if os.path.realpath(cwd) != cwd:
            return None
        top, device, user = cwd, os.stat(cwd).st_dev, os.geteuid()
        while True:
            # Git takes a directory with these for a bare repository, or for the inside of `.git`.
            if os.path.lexists(top + "/HEAD"):
                return None
            try:
                found = os.lstat(top + "/.git")
                break
            except FileNotFoundError:
                above = os.path.dirname(top)
                if above == top or os.stat(above).st_dev != device:
                    return None
                top = above
        git_dir = top.rstrip("/") + "/.git"
        # 0o040000: a directory, and no link to one.
        if found.st_mode & 0o170000 != 0o040000 or found.st_dev != device or found.st_uid != user or os.stat(top).st_uid != user:
            return None
        with open(git_dir + "/config", "rb") as file:
            config = file.read(MAX_CONFIG)
        with open(git_dir + "/HEAD", "rb") as file:
            head = file.read(16)
    except OSError:
        return None
    if not _is_plain_config(config) or not head.startswith(b"ref: refs/heads/") or os.path.lexists(git_dir + "/commondir"):
        return None
    if not os.path.isdir(git_dir + "/objects") or not os.path.isdir(git_dir + "/refs"):
        return None
    below = os.fsencode(cwd)[len(os.fsencode(top.rstrip("/"))) :].lstrip(b"/")
    return Place(
        git_dir=git_dir,
        common_dir=git_dir,
        work_tree=top,
        prefix=below + b"/" if below else b"",
        is_shallow=os.path.exists(git_dir + "/shallow"),
        cwd=cwd,
        env=env,
    )


def _is_plain_config(config: bytes) -> bool:
    if len(config) == MAX_CONFIG:
        return False
    for line in config.lower().splitlines():
        # What does not look like configuration makes git stop.
        start = line.lstrip()[:1]
        if start and not (start.isalpha() or start in b"#;" or (start == b"[" and b"]" in line)):
            return False
        if any(word in line for word in UNUSUAL) or any(word in line and line.strip() != usual for word, usual in USUAL.items()):
            return False
    return True


def _line(part: bytes) -> bytes:
    return part.removesuffix(b"\n")


def _work_tree(cwd: str, facts: list[bytes], cdup: bytes | None) -> str | None:
    """Return the top of the work tree from `--show-cdup`.

    That is "../" times the depth inside the work tree, an absolute path outside of it, and no line at all when there is none.
    """
    if cdup is None or facts[0] == b"true":
        return None
    if facts[2] == b"true":
        return os.path.normpath(os.path.join(os.path.realpath(cwd), os.fsdecode(cdup)))
    return os.fsdecode(cdup) if os.path.isabs(cdup) else None
