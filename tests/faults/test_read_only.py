"""A repository that may be read only: answers come from the pool, or from the sources, and nothing is written."""

import os
import shutil
import subprocess

import pytest
from kb import Kb, files_below, needs_obedience, process

pytestmark = needs_obedience
BACKENDS = ["libgit2", "dulwich"]


def chmod(kb, mode, *below):
    subprocess.run(["chmod", "-R", mode, *(kb.path(name) for name in below or [""])], check=True)


@pytest.fixture
def kb(tmp_path):
    kb = Kb.ready(tmp_path / "repo")
    yield kb
    chmod(kb, "u+w")


def forget_pool(kb):
    kb.git("update-ref", "-d", "refs/kb/sections")
    kb.git("reflog", "expire", "--expire=now", "--all")
    kb.git("gc", "-q", "--prune=now")


def answers(kb, obey=True, **environ):
    """Return what each reading command says, and the warnings. `obey`: as its own process, which permission bits hold for."""
    cited = kb.ok("ls-sections", "--format", "{citation}").split()[2]
    said = []
    for args in (["search", "syrup"], ["search", "--at", "HEAD", "syrup"], ["query", "feed colony"], ["show", cited, "notes.txt"]):
        done = process(kb.top, *args, obey=True, **environ) if obey else kb.run(*args)
        assert done.code == 0, (args, done)
        said.append((done.out, done.err))
    return [out for out, _ in said], [err for _, err in said]


@pytest.mark.parametrize(
    ("pooled", "indexed", "backend"),
    [(True, False, "libgit2"), (False, True, "libgit2"), (False, False, "libgit2"), (False, False, "dulwich")],
)
def test_readers_answer_whatever_is_missing(kb, pooled, indexed, backend):
    wanted, _ = answers(kb, obey=False)
    if not indexed:
        shutil.rmtree(kb.path(".git/kb"))
    if not pooled:
        forget_pool(kb)
    before = files_below(os.path.join(kb.top, ".git"))
    chmod(kb, "a-w")
    found, said = answers(kb, GIT_KB_BACKEND=backend)
    assert found == wanted
    assert all("Traceback" not in err for err in said)
    assert ("it is made in memory" in said[0]) != indexed
    for args in (["ingest"], ["hash-section", "-w", "--stdin"]):
        done = process(kb.top, *args, stdin=b"text", obey=True, GIT_KB_BACKEND=backend)
        assert done.code == 128
        assert done.err.startswith("fatal: cannot write '")
    assert files_below(os.path.join(kb.top, ".git")) == before


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("closed", ["objects", "refs"])
def test_where_only_the_cache_may_be_written(kb, closed, backend):
    """The index could be stored, the sections that it needs could not."""
    wanted, _ = answers(kb, obey=False)
    shutil.rmtree(kb.path(".git/kb"))
    forget_pool(kb)
    # The pool's own directory is not there any more.
    chmod(kb, "a-w", f".git/{closed}")
    found, said = answers(kb, GIT_KB_BACKEND=backend)
    assert found == wanted
    assert "it is made in memory" in said[0]


def test_a_source_that_git_does_not_store_is_read_from_the_work_tree(kb):
    kb.write("new.md", "# New\n\nThe hornet hums.\n")
    kb.ok("ingest", "-q", "new.md")
    kb.git("update-ref", "-d", "refs/kb/sections")
    shutil.rmtree(kb.path(".git/kb"))
    assert "The hornet hums" in kb.ok("search", "hornet")
    kb.git("update-ref", "-d", "refs/kb/sections")
    assert "The hornet hums" in kb.ok("search", "hornet")
    assert "The hornet hums" in kb.ok("show", "new.md#" + kb.hits("hornet")[0].partition("#")[2])
    kb.write("new.md", "# New\n\nThe wasp hums.\n")
    assert "hums" not in kb.run("search", "hornet").out
    assert kb.run("show", kb.hits("hornet")[0]).code == 1
