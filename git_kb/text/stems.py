"""Stems, by PyStemmer: Porter2 ("Snowball English"), and the stemmers of other languages when they are asked for."""

import Stemmer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_stem = Stemmer.Stemmer("english", 0).stemWord  # 0: no cache of its own, callers have theirs
_loaded: "dict[str, Callable[[str], str]]" = {"english": _stem}


def stem(word: str) -> str:
    """Return the Porter2 stem of a folded word in ASCII. Digits come back unchanged."""
    if word.isdigit():
        return word
    stemmed: str = _stem(word)
    return stemmed


def stemmer(name: str) -> "Callable[[str], str]":
    """Return the function that stems a folded word by one of Snowball's algorithms."""
    found = _loaded.get(name)
    if found is None:
        found = _loaded[name] = Stemmer.Stemmer(name, 0).stemWord
    return found
