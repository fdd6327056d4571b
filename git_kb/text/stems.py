"""Stems: Porter2 ("Snowball English") for words in Latin letters, by PyStemmer."""

import Stemmer

_stem = Stemmer.Stemmer("english", 0).stemWord  # 0: no cache of its own, callers have theirs


def stem(word: str) -> str:
    """Return the stem of a folded word. Digits and words with letters beyond Latin come back unchanged."""
    if word.isdigit() or not (word.isascii() or max(word) < "\u0250"):
        return word
    stemmed: str = _stem(word)
    return stemmed
