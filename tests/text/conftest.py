import importlib

import pytest

from git_kb.text import code


@pytest.fixture
def no_grammars(monkeypatch):
    """The extra `code` is not installed."""

    def import_module(name):
        raise ImportError(name)

    code._load.cache_clear()
    monkeypatch.setattr(importlib, "import_module", import_module)
