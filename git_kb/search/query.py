"""The query language: words, "phrases", -exclusions, prefix*. Any string is a query.

On the search path.
"""

from __future__ import annotations

from git_kb.text.words import terms, words

OPENING = '"“„«'
CLOSING = '"”“»'


class Query:
    """A parsed query.

    weights: term -> how often it was asked for, in order of first use. phrases: terms that must stand next
    to each other, all of them needed. excluded: terms no hit may hold. prefixes: beginnings of terms.
    """

    __slots__ = ("excluded", "phrases", "prefixes", "text", "weights")

    def __init__(self, text: str):
        self.text = text
        self.weights: dict[str, int] = {}
        self.phrases: list[list[str]] = []
        self.excluded: list[str] = []
        self.prefixes: list[str] = []

    def __bool__(self) -> bool:
        """Whether there is anything to look for."""
        return bool(self.weights or self.prefixes)

    def _want(self, found: list[str]) -> None:
        for term in found:
            self.weights[term] = self.weights.get(term, 0) + 1


def parse_query(text: str) -> Query:
    """Return the query a string means. Never fails: what is no syntax is words."""
    query = Query(text)
    at = 0
    while at < len(text):
        char = text[at]
        if char.isspace():
            at += 1
            continue
        negative = char == "-" and at + 1 < len(text) and (at == 0 or text[at - 1].isspace()) and not text[at + 1].isspace()
        start = at + 1 if negative else at
        if text[start] in OPENING:
            end = _closing(text, start)
            if end > start:
                _phrase(query, text[start + 1 : end], negative)
                at = end + 1
                continue
        end = start
        while end < len(text) and not text[end].isspace():
            end += 1
        _word(query, text[start:end], negative)
        at = end
    return query


def _closing(text: str, start: int) -> int:
    """Return where the phrase that opens at `start` ends, -1 when it never does."""
    closing = CLOSING[OPENING.index(text[start])]
    for at in range(start + 1, len(text)):
        if text[at] == closing or text[at] == '"':
            return at
    return -1


def _phrase(query: Query, inside: str, negative: bool) -> None:
    found = terms(inside)
    if negative:
        # Excluding a phrase of several terms would need positions of what is not wanted; its words say enough.
        query.excluded += found
        return
    query._want(found)
    if len(found) > 1:
        query.phrases.append(found)


def _word(query: Query, word: str, negative: bool) -> None:
    if word.endswith("*") and len(found := words(word)) == 1 and len(found[0]) >= 2 and not negative:
        query.prefixes.append(found[0].casefold())
        return
    # `--dry-run` asks for its words; only a single dash before a letter or digit excludes.
    if negative and not (word[0].isalnum() or word[0] == "_"):
        negative = False
    found = terms(word)
    if negative:
        query.excluded += found
    else:
        query._want(found)
