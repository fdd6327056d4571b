import sys

import pygit2
import pytest

from git_kb.repo.discover import discover
from git_kb.repo.open import NoBackend, UnknownBackend, open_repository

from .gitrepo import init


def opened(top, backend=None):
    with open_repository(discover(top), backend) as repo:
        return type(repo).__name__


def test_which_body_opens_what(tmp_path):
    sha1, sha256 = init(tmp_path / "a"), init(tmp_path / "b", "sha256")
    assert opened(sha1) == opened(sha1, "") == opened(sha1, "libgit2") == opened(sha1, "pygit2") == "Libgit2Repository"
    assert opened(sha1, "dulwich") == opened(sha256) == opened(sha256, "dulwich") == "DulwichRepository"


def test_what_libgit2_refuses_goes_to_dulwich(tmp_path, monkeypatch):
    """The git of this machine may know no extension that libgit2 does not, so the refusal is made here."""

    def refuse(*_):
        raise pygit2.GitError("unsupported extension name extensions.new")

    monkeypatch.setattr(pygit2, "Repository", refuse)
    top = init(tmp_path / "a")
    assert opened(top) == "DulwichRepository"
    with pytest.raises(NoBackend, match=r"extensions\.new"):
        opened(top, "libgit2")


def test_without_pygit2_dulwich_opens(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "git_kb.repo.libgit2", None)
    assert opened(init(tmp_path / "a")) == "DulwichRepository"


def test_nothing_fits(tmp_path, monkeypatch):
    sha1, sha256 = init(tmp_path / "a"), init(tmp_path / "b", "sha256")
    with pytest.raises(NoBackend, match="libgit2: libgit2 cannot open"):
        open_repository(discover(sha256), "libgit2")
    monkeypatch.setitem(sys.modules, "git_kb.repo.libgit2", None)
    monkeypatch.setitem(sys.modules, "git_kb.repo.dulwich", None)
    with pytest.raises(NoBackend, match=r"libgit2: .*; dulwich: ") as caught:
        open_repository(discover(sha1))
    assert set(caught.value.reasons) == {"libgit2", "dulwich"}
    with pytest.raises(UnknownBackend, match="'subversion'") as caught:
        open_repository(discover(sha1), "subversion")
    assert caught.value.exit_code == 129


def test_opening_is_all_that_imports_the_libraries():
    import subprocess

    import git_kb.repo.open as module  # without site-packages: an editable install imports much of this by itself

    root = module.__file__.rpartition("/git_kb/")[0]
    code = f"import sys; sys.path.insert(0, {root!r}); import git_kb.repo.open, git_kb.repo.worktree, git_kb.repo.config, git_kb.repo.process; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, check=True, text=True)
    assert not {"pygit2", "dulwich", "subprocess", "dataclasses", "pathlib", "typing"} & set(done.stdout.split())
