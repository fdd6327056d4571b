"""A knowledge base for tests: a real repository, and `git kb` run in this process or as its own."""

import ctypes
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple

import pytest

from git_kb.cli.env import Env
from git_kb.cli.main import run
from git_kb.repo.discover import discover
from git_kb.repo.open import open_repository

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

GUIDE = """\
# Guide

How to keep bees.

## Install the hive

Set the hive on level ground. Face the entrance to the south.

## Feed the colony

Feed syrup in spring. Never feed honey from another colony.
"""
CODE = '''\
"""Weighing hives."""


def weigh(hive):
    """Return the mass of a hive in kilograms."""
    return hive.mass_kg
'''
NOTES = "A swarm leaves in May.\n\nCatch the swarm with a skep.\n"
CORPUS = {"docs/guide.md": GUIDE, "src/weigh.py": CODE, "notes.txt": NOTES}


class Done(NamedTuple):
    """What a command gave."""

    code: int
    out: str
    err: str


def git(*args, cwd, input=b"", check=True, **env):
    """Run git and return its stdout as text without the last line end."""
    done = subprocess.run(["git", *args], cwd=cwd, input=input, capture_output=True, env={**os.environ, **env})
    assert done.returncode == 0 or not check, (args, done.returncode, done.stderr)
    return os.fsdecode(done.stdout).removesuffix("\n")


def in_process(cwd, *args, stdin=b"", **environ):
    """Run one command line in this process, as cli.main.run does it."""
    env = Env(str(cwd), {**os.environ, **environ}, io.StringIO(), io.StringIO(), io.BytesIO(stdin))
    try:
        code = run([os.fsdecode(a) for a in args], env)
    finally:
        env.close()
    return Done(code, env.out.getvalue(), env.err.getvalue())


def command(*args):
    """Return the argv of `git kb` as its own process."""
    return [sys.executable, "-m", "git_kb", *args]


def process_environ(**environ):
    """Return the environment of such a process."""
    return {**os.environ, "PYTHONPATH": ROOT, **environ}


def obey_permissions():
    """Drop root's right to pass over permission bits, from the next exec on."""
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


# Tests in which permission bits have to count, though we may be root.
needs_obedience = pytest.mark.skipif(sys.platform != "linux", reason="only Linux can take root's rights from a single program")


def _knows_reftable():
    with tempfile.TemporaryDirectory() as top:
        return subprocess.run(["git", "init", "-q", "--ref-format=reftable", top], capture_output=True).returncode == 0


needs_reftable = pytest.mark.skipif(not _knows_reftable(), reason="git before 2.45 knows no reftable")


def process(cwd, *args, stdin=b"", obey=False, **environ):
    """Run `git kb` as its own process. `obey`: permission bits count, for root too (on Linux)."""
    done = subprocess.run(
        command(*args),
        cwd=cwd,
        input=stdin,
        capture_output=True,
        env=process_environ(**environ),
        timeout=120,
        preexec_fn=obey_permissions if obey else None,
    )
    return Done(done.returncode, os.fsdecode(done.stdout), os.fsdecode(done.stderr))


class Kb:
    """One repository's work tree, and what tests do in it."""

    def __init__(self, top):
        self.top = str(top)

    @classmethod
    def create(cls, top, files=CORPUS, object_format="sha1"):
        """Make a repository with these files committed. No knowledge base yet."""
        git("init", "-q", "-b", "main", f"--object-format={object_format}", str(top), cwd="/")
        kb = cls(top)
        if files:
            for name, data in files.items():
                kb.write(name, data)
            kb.commit("sources")
        return kb

    @classmethod
    def ready(cls, top, files=CORPUS, object_format="sha1"):
        """Make a repository with these files ingested and all committed."""
        kb = cls.create(top, files, object_format)
        kb.ok("init", "-q")
        kb.ok("ingest", "-q")
        kb.commit("knowledge base")
        return kb

    @classmethod
    def copy(cls, model, top, *command):
        """Return a copy of the repository at `model`, which is made first where it is missing: `ready`, and a command run in it."""
        if not model.exists():
            cls.ready(model).ok(*command)
        shutil.copytree(model, top)
        return cls(top)

    def path(self, name):
        return os.path.join(os.fsencode(self.top), os.fsencode(name))

    def write(self, name, data="text\n"):
        """Write a file, so that git sees it changed even within one tick of the clock."""
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def git(self, *args, **more):
        return git(*args, cwd=self.top, **more)

    def commit(self, message="a commit"):
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def run(self, *args, cwd="", stdin=b"", **environ):
        return in_process(os.path.join(self.top, cwd), *args, stdin=stdin, **environ)

    def ok(self, *args, **more):
        """Run a command that must end well; return its stdout."""
        done = self.run(*args, **more)
        assert done.code == 0, (args, done)
        return done.out

    def json(self, *args, **more):
        return json.loads(self.ok(*args, "--json", **more))

    def hits(self, *query, **more):
        """Return the citations a search gives, best first."""
        done = self.run("search", "--json", *query, **more)
        assert done.code in (0, 1), done
        return [r["citation"] for r in json.loads(done.out)["results"]]

    def manifests(self):
        """Return file name -> bytes of kb/documents."""
        directory = os.path.join(self.top, "kb", "documents")
        if not os.path.isdir(directory):
            return {}
        return {name: self.read(f"kb/documents/{name}") for name in sorted(os.listdir(directory))}

    def documents(self):
        """Return the docids of the work tree's manifests."""
        return [name.removesuffix(".toml") for name in self.manifests()]

    def pool_tree(self):
        return self.git("rev-parse", "-q", "--verify", "refs/kb/sections^{tree}", check=False)

    def kb_files(self):
        """Return path below .git/kb -> bytes."""
        return files_below(os.path.join(git("rev-parse", "--path-format=absolute", "--git-common-dir", cwd=self.top), "kb"))

    def segments(self):
        return {path: data for path, data in self.kb_files().items() if path.startswith("segments/")}

    def place(self):
        return discover(self.top)

    def repo(self, backend=None):
        return open_repository(self.place(), backend)

    def check(self):
        """Have git and git kb check everything; nothing may be found."""
        self.git("fsck", "--strict", "--no-dangling")
        assert self.json("fsck")["errors"] == []


def forget_source(kb, name):
    """Take a source's committed blob, a loose object, and what the file says away."""
    oid = kb.git("rev-parse", f"HEAD:{name}")
    os.unlink(kb.path(f".git/objects/{oid[:2]}/{oid[2:]}"))
    kb.write(name, "something else\n")


def files_below(directory):
    """Return relative path -> bytes of all files below a directory."""
    found = {}
    for top, _, names in os.walk(directory):
        for name in names:
            full = os.path.join(top, name)
            with open(full, "rb") as file:
                found[os.path.relpath(full, directory)] = file.read()
    return found


def assert_message(done, code, *parts):
    """Check an error: its exit code, one line that begins as git's do, what it names, and no traceback."""
    assert done.code == code, done
    assert done.err.startswith("fatal: " if code == 128 else "error: "), done.err
    assert "Traceback" not in done.err
    for part in parts:
        assert part in done.err
    assert done.out == ""
