"""The KB root: where its files are on the branch, and the catalog that marks it."""

from __future__ import annotations

from git_kb.errors import KbError

CONFIG = "kb.config.json"
CATALOG = "kb/catalog.toml"
DOCUMENTS = "kb/documents"
RAW = "kb/raw"
POOL_REF = "refs/kb/sections"


class NoKnowledgeBase(KbError):
    """There is no `kb/catalog.toml` where it should be."""

    hint = "run 'git kb init' to make a knowledge base in this repository"

    def __init__(self, where: str, stored: bool = False):
        self.where = where
        if stored:
            self.hint = "a knowledge base is part of a commit once kb/ is committed, and staged once 'git add kb' has been run"
        super().__init__(f"no knowledge base in {where} ('{CATALOG}' is missing)")
