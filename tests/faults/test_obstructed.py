"""Something else stands where the index keeps its files: commands say so, move it aside and answer."""

import os

import pytest
from kb import Kb, needs_obedience, process
from odd import ODD, a_file, directory, named_pipe, time_limit

from git_kb.index.segments import read_current

DIRECTORIES = (".", "segments", "views")
LOCKS = ("lock", "lock.guard")
FILES = ("current", "segments/*", "views/worktree.kbv", "views/tree", *LOCKS)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A knowledge base with an index, and a view of a commit."""
    return tmp_path_factory.mktemp("model") / "repo"


@pytest.fixture
def kb(model, tmp_path):
    with time_limit(60):
        yield Kb.copy(model, tmp_path / "repo", "search", "--at", "HEAD", "syrup")


def at(kb, part):
    """Return where a part of the index is."""
    kb_dir = kb.place().kb_dir
    if part == "segments/*":
        part = "segments/" + read_current(kb_dir)[0]
    if part == "views/tree":
        part = next(f"views/{n}" for n in os.listdir(kb_dir + "/views") if n.startswith("tree-"))
    return os.path.normpath(os.path.join(kb_dir, part))


CASES = [(part, odd) for part in FILES for odd in ODD] + [
    (part, odd) for part in DIRECTORIES for odd in (a_file, *ODD) if odd is not directory
]
IDS = [f"{part}-{odd.__name__}" for part, odd in CASES]


@pytest.mark.parametrize(("part", "odd"), CASES, ids=IDS)
def test_what_is_in_the_way_is_moved_aside_and_the_answer_is_the_same(kb, part, odd):
    wanted = kb.ok("search", "--limit", "3", "syrup"), kb.ok("search", "--at", "HEAD", "syrup")
    path = at(kb, part)
    odd(path)
    looked = kb.run("status")
    assert looked.code == 0
    assert path in looked.err or part in LOCKS
    assert kb.run("fsck").code == (0 if part in LOCKS else 1)
    done = [kb.run("search", *options, "syrup") for options in (("--limit", "3"), ("--at", "HEAD"))]
    assert [(d.code, d.out) for d in done] == [(0, answer) for answer in wanted]
    # A reader that has nothing to write does not look at the locks.
    assert [f"'{path}' is " in d.err for d in done].count(True) == (part not in LOCKS)
    written = kb.run("ingest", "-f")
    assert written.code == 0
    if part in LOCKS:
        assert f"'{path}' is " in written.err
    assert os.path.lexists(path + ".broken-1")
    assert kb.run("search", "syrup").err == ""
    kb.check()


@pytest.mark.parametrize("part", [*FILES, "segments", "views", "."])
def test_what_is_not_ours_is_kept(kb, part):
    path = at(kb, part)
    if part in DIRECTORIES:
        with open(path + "/mine", "w") as file:
            file.write("precious")
    else:
        directory(path)
    for command in (["search", "syrup"], ["ingest", "-f"], ["index", "--rebuild"]):
        assert kb.run(*command).code == 0
    kept = path if part in DIRECTORIES else path + ".broken-1"
    with open(kept + "/mine") as file:
        assert file.read() == "precious"


@pytest.mark.parametrize("part", ["current", "views/worktree.kbv", "segments", "."])
def test_what_cannot_be_moved_is_named_and_the_index_is_made_in_memory(kb, part, monkeypatch):
    wanted = kb.ok("search", "syrup")
    path = at(kb, part)
    (named_pipe if part == "." else directory)(path)
    rename = os.rename

    def refused(old, new, **more):
        if old == path:
            raise PermissionError(1, "Operation not permitted", old)
        rename(old, new, **more)

    monkeypatch.setattr(os, "rename", refused)
    if part == "segments":
        a_file(path)
    done = kb.run("search", "syrup")
    assert (done.code, done.out) == (0, wanted)
    assert f"'{path}' is not a " in done.err
    assert "cannot be moved out of the way" in done.err
    written = kb.run("ingest")
    assert written.code == 128
    assert written.err.startswith(f"fatal: '{path}' is not a ")
    assert "hint: move it away by hand" in written.err


def test_nothing_is_moved_onto_what_was_moved_before(kb):
    path = at(kb, "current")
    for n in (1, 2):
        directory(path)
        assert kb.run("search", "syrup").code == 0
        assert os.path.isdir(f"{path}.broken-{n}")


@needs_obedience
@pytest.mark.parametrize("part", [*FILES, *DIRECTORIES])
def test_what_cannot_be_read_is_moved_aside(kb, part):
    wanted = kb.ok("search", "syrup")
    path = at(kb, part)
    if not os.path.lexists(path):
        a_file(path)
    os.chmod(path, 0)
    done = process(kb.top, "search", "syrup", obey=True)
    assert (done.code, done.out) == (0, wanted)
    assert process(kb.top, "ingest", "-f", obey=True).code == 0
    os.chmod(path + ".broken-1", 0o700)


@needs_obedience
def test_a_guard_that_cannot_be_written_can_be_locked(kb):
    os.chmod(at(kb, "lock.guard"), 0o444)
    assert process(kb.top, "ingest", "-f", obey=True).code == 0
    assert not os.path.lexists(at(kb, "lock.guard") + ".broken-1")
