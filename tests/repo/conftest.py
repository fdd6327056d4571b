"""One repository per test, over each body and object format."""

import pytest

from git_kb.repo.discover import discover
from git_kb.repo.open import open_repository

from .gitrepo import fsck, init

BODIES = [("libgit2", "sha1"), ("dulwich", "sha1"), ("dulwich", "sha256")]


@pytest.fixture(params=BODIES, ids=lambda body: "-".join(body))
def body(request):
    """(backend, object format)"""
    return request.param


@pytest.fixture
def top(tmp_path, body):
    """An empty repository's work tree; git checks every object in it after the test."""
    path = init(tmp_path / "repo", body[1])
    yield path
    fsck(path)


@pytest.fixture
def place(top):
    return discover(top)


@pytest.fixture
def repo(place, body):
    with open_repository(place, body[0]) as repository:
        yield repository


@pytest.fixture(params=["sha1", "sha256"])
def plain_top(tmp_path, request):
    """An empty repository's work tree, for what needs no body."""
    path = init(tmp_path / "repo", request.param)
    yield path
    fsck(path)
