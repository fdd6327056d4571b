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


class NotCheckedOut(NoKnowledgeBase):
    """The index has a knowledge base, and a sparse checkout leaves it out of the work tree."""

    def __init__(self, where: str):
        super().__init__(where)
        self.args = (f"the knowledge base in {where} is outside of its sparse checkout",)
        self.hint = "'git sparse-checkout add kb' brings it in; '--cached' and '--at HEAD' read it where it is"
