"""Which state of the knowledge base is meant, and what it takes to open it."""

import os

import pytest
from kb import Kb

from git_kb.repo.discover import NeedsWorkTree, discover
from git_kb.repo.protocol import UnknownRevision
from git_kb.store.config import BadConfig, Config
from git_kb.store.create import OutsideLink
from git_kb.store.root import NoKnowledgeBase
from git_kb.store.state import StateName, check_root, default_state, documents_tree, open_documents, worktree_config


@pytest.fixture
def kb(tmp_path):
    return Kb.ready(tmp_path / "repo")


def test_names():
    assert str(StateName()) == "the work tree"
    assert str(StateName("v1")) == "'v1'"
    assert str(StateName(cached=True)) == "the index"


def test_defaults(kb, tmp_path):
    place = kb.place()
    assert default_state(place, None, False) == StateName()
    assert default_state(place, "v1", False) == StateName("v1")
    assert default_state(place, None, True) == StateName(cached=True)
    kb.git("clone", "-q", "--bare", ".", str(tmp_path / "bare"))
    bare = discover(str(tmp_path / "bare"))
    assert default_state(bare, None, False) == StateName("HEAD")
    assert default_state(bare, "v1", False) == StateName("v1")
    with pytest.raises(NeedsWorkTree):
        check_root(bare)


def test_documents_tree(kb):
    with kb.repo() as repo:
        assert documents_tree(repo, "HEAD") == kb.git("rev-parse", "HEAD:kb/documents")
        with pytest.raises(NoKnowledgeBase, match="no knowledge base in 'HEAD~1'"):
            documents_tree(repo, "HEAD~1")
        with pytest.raises(UnknownRevision):
            documents_tree(repo, "nope")
        with pytest.raises(UnknownRevision):
            documents_tree(repo, "HEAD:notes.txt")
        kb.git("rm", "-q", "-r", "kb/documents")
        kb.write("kb/documents", "a file now")
        kb.commit()
        assert documents_tree(repo, "HEAD") is None
        assert open_documents(repo, StateName("HEAD")).stamps == {}


def test_before_the_first_commit(tmp_path):
    kb = Kb.create(tmp_path / "repo", {})
    with kb.repo() as repo, pytest.raises(UnknownRevision, match="there is no commit yet"):
        documents_tree(repo, "HEAD")


@pytest.mark.parametrize("part", ["kb", "kb/documents"])
def test_a_link_out_of_the_repository_is_refused(kb, tmp_path, part):
    """A cloned repository must not direct our writes elsewhere."""
    os.rename(kb.path(part), tmp_path / "outside")
    os.symlink(tmp_path / "outside", kb.path(part))
    before = sorted(os.listdir(tmp_path / "outside"))
    with pytest.raises(OutsideLink):
        check_root(kb.place())
    for args in (["ingest"], ["init"], ["search", "x"]):
        done = kb.run(*args)
        assert done.code == 128
        assert f"'{part}' is a symbolic link" in done.err
    assert sorted(os.listdir(tmp_path / "outside")) == before


def test_configuration(kb):
    assert worktree_config(kb.place()) == Config(name="repo")
    os.unlink(kb.path("kb.config.json"))
    assert worktree_config(kb.place()) == Config()
    os.symlink("/dev/zero", kb.path("kb.config.json"))
    with pytest.raises(BadConfig, match="not a regular file but a symbolic link"):
        worktree_config(kb.place())
    os.unlink(kb.path("kb.config.json"))
    kb.write("kb.config.json", "{")
    done = kb.run("ingest")
    assert done.code == 128
    assert done.err.startswith("fatal: 'kb.config.json': is not JSON")
