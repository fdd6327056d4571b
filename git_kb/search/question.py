"""The words of a question that name something."""

from __future__ import annotations

from git_kb.search.query import STOP_WORDS, parse_query
from git_kb.text.words import terms, words


def content_words(question: str) -> dict[str, list[str]]:
    """Return the words of a question that name something, each with its terms; without those that it excludes."""
    excluded = set(parse_query(question).excluded)
    found = {w: terms(w) for w in words(question) if w.lower() not in STOP_WORDS}
    return {w: ts for w, ts in found.items() if ts and not excluded.issuperset(ts)}


def content_terms(question: str) -> set[str]:
    """Return the terms of the words of a question that name something."""
    return {t for ts in content_words(question).values() for t in ts}
