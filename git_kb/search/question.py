"""The words of a question that name something."""

from __future__ import annotations

from collections.abc import Sequence

from git_kb.search.query import parse_query, stop_words
from git_kb.text.words import word_terms, words


def content_words(question: str, rules: Sequence[str] = ("",)) -> dict[str, list[list[str]]]:
    """Return the words of a question that name something, without those that it excludes, each with its readings.

    A reading is the terms of a word in one of the view's languages (`View.rules`).
    """
    excluded = set(parse_query(question, rules).excluded)
    stops = stop_words(question, rules)
    found = {}
    for word in words(question):
        readings = [list(ts) for ts in dict.fromkeys(tuple(word_terms(word, r)) for r in rules) if ts]
        if readings and word.casefold() not in stops and not any(excluded.issuperset(ts) for ts in readings):
            found[word] = readings
    return found


def content_terms(question: str, rules: Sequence[str] = ("",)) -> set[str]:
    """Return the terms of the words of a question that name something."""
    return {t for readings in content_words(question, rules).values() for ts in readings for t in ts}
