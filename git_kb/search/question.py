"""The words of a question that name something."""

from __future__ import annotations

from git_kb.search.query import parse_query
from git_kb.text.words import terms, words

# English words that ask or join but name nothing. They are searched for like others; only gaps and coverage
# leave them out.
QUESTION_WORDS = frozenset({
    "a", "about", "an", "and", "any", "are", "as", "at", "be", "been", "between", "but", "by", "can", "could", "did",
    "do", "does", "for", "from", "had", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "many", "me",
    "much", "my", "of", "on", "or", "our", "shall", "should", "so", "some", "than", "that", "the", "their", "them",
    "then", "there", "these", "they", "this", "to", "us", "was", "we", "were", "what", "when", "where", "which", "who",
    "whom", "whose", "why", "will", "with", "would", "you", "your",
})  # fmt: skip


def content_words(question: str) -> dict[str, list[str]]:
    """Return the words of a question that name something, each with its terms; without those that it excludes."""
    excluded = set(parse_query(question).excluded)
    found = {w: terms(w) for w in words(question) if w.lower() not in QUESTION_WORDS}
    return {w: ts for w, ts in found.items() if ts and not excluded.issuperset(ts)}


def content_terms(question: str) -> set[str]:
    """Return the terms of the words of a question that name something."""
    return {t for ts in content_words(question).values() for t in ts}
