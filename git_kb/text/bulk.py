"""Terms of much text, fast: the expression twin of `words.words`, and the vocabulary of a segment in the making."""

from __future__ import annotations

import re
from collections.abc import Callable

from git_kb.text.marks import MARK_RANGES
from git_kb.text.words import MAX_WORD, is_unspaced, prepare, word_terms

_MARKS = "".join(f"{chr(a)}-{chr(b)}" for a, b in zip(MARK_RANGES[::2], MARK_RANGES[1::2], strict=True))
_find_ascii: Callable[[str], list[str]] = re.compile(r"\w+", re.ASCII).findall
_find_any: Callable[[str], list[str]] = re.compile(rf"\w[\w{_MARKS}]*").findall
# A cached word costs about 150 bytes. Past this many the rest is worked out anew each time: they are mostly
# ids.
MAX_CACHED = 300_000
SURROGATES = 0xD800
MAX_TERMS = 1_000_000


def find_words(text: str) -> list[str]:
    """Return the words of a text, in order."""
    text = prepare(text)
    return _find_ascii(text) if text.isascii() else _find_any(text)


def code_point(n: int) -> int:
    """Return the code point of the n-th term, n from 1; surrogates are left out."""
    return n if n < SURROGATES else n + 0x800


class Vocabulary(dict[str, str]):
    """Word -> the characters of its terms. A term gets the next character when it is first seen.

    So `"".join(map(vocabulary.__getitem__, find_words(text)))` is the text's token string, made in C.
    """

    def __init__(self) -> None:
        super().__init__()
        self.codes: dict[str, str] = {}

    def __missing__(self, word: str) -> str:
        codes = self.codes
        chars = []
        for term in word_terms(word):
            char = codes.get(term)
            if char is None:
                char = codes[term] = chr(code_point(len(codes) + 1))
            chars.append(char)
        text = "".join(chars)
        if len(self) < MAX_CACHED and len(word) <= MAX_WORD and not is_unspaced(word[0]):
            self[word] = text
        return text

    def encode(self, text: str) -> str:
        """Return the token string of a text."""
        return "".join(map(self.__getitem__, find_words(text))) if text else ""
