"""A knowledge base with hooks, and `git-kb` where hooks find it."""

import os
import sys

import pytest
from kb import ROOT, Kb

WRAPPER = """#!/bin/sh
echo "$*" >>'{log}'
PYTHONPATH='{root}' exec '{python}' '{root}/bin/git-kb' "$@"
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Put `git-kb` on PATH. Returns a function that gives the command lines it was started with."""
    directory, log = tmp_path / "bin", tmp_path / "started"
    directory.mkdir()
    path = directory / "git-kb"
    path.write_text(WRAPPER.format(log=log, root=ROOT, python=sys.executable))
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}:{os.environ['PATH']}")
    return lambda: log.read_text().splitlines() if log.exists() else []


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    return tmp_path_factory.mktemp("model") / "kb"


@pytest.fixture
def kb(tmp_path, model, program):
    return Kb.copy(model, tmp_path / "kb")


@pytest.fixture
def hooked(kb):
    """`kb` with our hooks."""
    kb.ok("hooks", "install", "-q")
    return kb
