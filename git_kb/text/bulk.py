"""Terms of much text, fast: the expression twin of `words.words`, and the vocabulary of a segment in the making."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import repeat

from git_kb.text.marks import MARK_RANGES
from git_kb.text.stems import stem
from git_kb.text.words import ASCII_WORDS, FIELDS, MAX_PARTS, MAX_WORD, is_unspaced, needs_stripping, prepare, word_terms

_MARKS = "".join(f"{chr(a)}-{chr(b)}" for a, b in zip(MARK_RANGES[::2], MARK_RANGES[1::2], strict=True))
_find_any: Callable[[str], list[str]] = re.compile(rf"\w[\w{_MARKS}]*").findall
# The parts of an identifier in ASCII, as `words._parts` cuts them.
find_parts: Callable[[str], list[str]] = re.compile(r"[A-Z]+s(?![A-Za-z0-9])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+").findall
# A cached word costs about 150 bytes. Past this many the rest is worked out anew each time: they are mostly
# ids.
MAX_CACHED = 300_000
SURROGATES = 0xD800
MAX_TERMS = 1_000_000
# Stands between entries while they are cut together.
TEXTS = "\x02"
N_RESERVED = 2
# Maps each ASCII character to a space, but for words and the two above.
_JOINED_WORDS = {i: " " for i in ASCII_WORDS if chr(i) not in (FIELDS, TEXTS)}


def find_words(text: str) -> list[str]:
    """Return the words of a text, in order."""
    text = prepare(text)
    return text.translate(ASCII_WORDS).split() if text.isascii() else _find_any(text)


def code_point(n: int) -> int:
    """Return the code point of the n-th term, n from 1; reserved ones and surrogates are left out."""
    n += N_RESERVED
    return n if n < SURROGATES else n + 0x800


class Vocabulary(dict[str, str]):
    """Word -> the characters of its terms, in the default rules. A term gets the next character when it is first seen.

    So `"".join(map(vocabulary.__getitem__, find_words(text)))` is the text's token string, made in C.
    """

    def __init__(self) -> None:
        super().__init__({FIELDS: FIELDS, TEXTS: TEXTS})
        self.codes: dict[str, str] = {}
        # The same for other rules (`languages.rules_of`).
        self.others: dict[str, _OtherWords] = {}

    def __missing__(self, word: str) -> str:
        if not word.isascii():
            text = "".join(map(self.char, word_terms(word)))
            cached = not is_unspaced(word[0])
        elif word.isalpha() and (word[1:].islower() or len(word) == 1):
            text = self.char(stem(word[:MAX_WORD].lower()))
            cached = True
        else:
            text = self._identifier(word.strip("_")[:MAX_WORD].rstrip("_"))
            cached = True
        if cached and len(self) < MAX_CACHED and len(word) <= MAX_WORD:
            self[word] = text
        return text

    def _identifier(self, word: str) -> str:
        """Return the characters of an ASCII word without underscores around it: `words.word_terms`, faster."""
        if not word:
            return ""
        whole = self.char(stem(word.lower()))
        parts = find_parts(word)
        if not 1 < len(parts) <= MAX_PARTS:
            return whole
        # A part has no parts, so the word that it is has its one character.
        return whole + "".join(map(self.__getitem__, parts))

    def words_of(self, rules: str) -> dict[str, str]:
        """Return word -> the characters of its terms under some rules."""
        if not rules:
            return self
        found = self.others.get(rules)
        if found is None:
            found = self.others[rules] = _OtherWords(self, rules)
        return found

    def char(self, term: str) -> str:
        char = self.codes.get(term)
        if char is None:
            char = self.codes[term] = chr(code_point(len(self.codes) + 1))
        return char

    def encode(self, texts: list[tuple[str, str, str]], rules: Sequence[str] = ()) -> list[str]:
        """Return the token string of each text, given as its fields. rules: those of each text; without them, the default ones."""
        strings: list[str] = []
        run: list[str] = []
        run_rules = ""
        for three, its_rules in zip(texts, rules or repeat(""), strict=False):
            text = f" {FIELDS} ".join(three)
            plain = text.isascii() and text.count(FIELDS) == 2 and TEXTS not in text and not needs_stripping(text)
            if plain and its_rules == run_rules:
                run.append(text)
                continue
            # Codes are given in order of first use, so what was put off comes first.
            strings += self._encode_run(run, run_rules)
            run.clear()
            if plain:
                run.append(text)
                run_rules = its_rules
            else:
                chars = self.words_of(its_rules).__getitem__
                strings.append(FIELDS.join(["".join(map(chars, find_words(field))) for field in three]))
        return strings + self._encode_run(run, run_rules)

    def _encode_run(self, texts: list[str], rules: str) -> list[str]:
        """Return the token strings of texts in ASCII, with their fields joined: cut as one text."""
        words = f" {TEXTS} ".join(texts).translate(_JOINED_WORDS).split()
        return "".join(map(self.words_of(rules).__getitem__, words)).split(TEXTS) if texts else []

    def permute(self, moved: dict[int, str]) -> None:
        """Give terms other characters: `moved` maps old ones to new ones."""
        for table in (self, self.codes, *self.others.values()):
            for key, string in table.items():
                table[key] = string.translate(moved)


class _OtherWords(dict[str, str]):
    """Word -> the characters of its terms under other rules than the default ones."""

    def __init__(self, vocabulary: Vocabulary, rules: str):
        super().__init__({FIELDS: FIELDS, TEXTS: TEXTS})
        self.char, self.rules = vocabulary.char, rules

    def __missing__(self, word: str) -> str:
        text = "".join(map(self.char, word_terms(word, self.rules)))
        if len(self) < MAX_CACHED and len(word) <= MAX_WORD and not is_unspaced(word[0]):
            self[word] = text
        return text
