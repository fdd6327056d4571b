"""From text to terms: what a word is, and which index terms it stands for. docs/format-index.md, "Terms".

`prepare` readies a text, `words` cuts it, `word_terms` gives the terms of one word. `text/bulk.py` does the
same by expressions for much text. Both sides of a search use the same steps, so a word of a text always
finds itself. On the search path: no `re` here.
"""

from __future__ import annotations

from bisect import bisect_right

from git_kb.text.stems import stem

# Changes whenever the terms of some text change, or their impacts: indexes of another generation are built again.
GENERATION = 3

MAX_WORD = 64  # characters of a word that count
MAX_PARTS = 12  # a word of more parts (a hash, a key) is taken whole
MAX_TERM_BYTES = 255  # a key of the term tree
# English function words: in a query of other words they say nothing, and would only favour text that has many of them.
_FUNCTION_WORDS = (
    "a about against also am among an and any are as at be been being between both but by can could did do does during for "
    "from had has have he her his how i if in into is it its many me might more most much must my no not of on or other our "
    "over per shall she should so some such than that the their them then there these they this those through to toward "
    "towards under upon us via was we were what when where which who whom whose why will with within without would you your "
)
STOP_WORDS = frozenset(_FUNCTION_WORDS.split())
# Stands between the fields of an entry's token string.
FIELDS = "\x01"

# Soft hyphen, zero-width characters, direction marks, word joiner, invisible operators, BOM, variation
# selectors.
INVISIBLE = frozenset(
    map(
        chr,
        [
            *(0xAD, 0x34F, 0x61C, 0x180B, 0x180C, 0x180D, 0x180E, 0x180F, 0xFEFF),
            *range(0x200B, 0x2010),
            *range(0x202A, 0x202F),
            *range(0x2060, 0x2070),
            *range(0xFE00, 0xFE10),
            *range(0xE0100, 0xE01F0),
        ],
    )
)
_REMOVE = dict.fromkeys(map(ord, INVISIBLE))

# Scripts written without spaces (and Hangul, whose spaced units are phrases): first and last code point,
# ascending.
_UNSEGMENTED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar (Burmese)
    (0x1100, 0x11FF),  # Hangul Jamo
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x2FDF),  # radicals
    (0x3005, 0x3007),
    (0x3021, 0x3029),
    (0x3031, 0x3035),
    (0x303B, 0x303C),
    (0x3041, 0x312F),  # kana, bopomofo
    (0x3131, 0x318E),  # compatibility jamo
    (0x31A0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xA960, 0xA97F),
    (0xA9E0, 0xA9FF),  # Myanmar extended
    (0xAA60, 0xAA7F),
    (0xAC00, 0xD7FF),
    (0xF900, 0xFAFF),
    (0xFF66, 0xFFDC),  # half-width kana and hangul
    (0x16FE0, 0x18DFF),
    (0x1AFF0, 0x1B2FF),
    (0x20000, 0x3FFFF),
)
_FIRST = [first for first, _ in _UNSEGMENTED]
_LAST = [last for _, last in _UNSEGMENTED]

# Maps each ASCII character outside words to a space.
ASCII_WORDS = {i: " " for i in range(128) if not (chr(i).isalnum() or chr(i) == "_")}


def terms(text: str, rules: str = "") -> list[str]:
    """Return the terms of a text in order: what a phrase compares. rules: how words are stemmed (`languages.rules_of`)."""
    return [term for word in words(text) for term in word_terms(word, rules)]


def folded(word: str, rules: str = "") -> str:
    """Return a word as terms of longer words may begin: folded, and not stemmed."""
    if not rules and word.isascii():
        return word.lower()
    from git_kb.text.languages import word_forms

    return word_forms(word, rules, stemmed=False)[0]


def prepare(text: str) -> str:
    """Return a text ready for cutting: in NFKC, without invisible characters, markers and base64 data."""
    if not text.isascii():
        text = _normalise(text)
    if needs_stripping(text):
        from git_kb.text.strip import strip_unsearchable

        text = strip_unsearchable(text)
    return text


def needs_stripping(text: str) -> bool:
    """Return whether a text may hold markers or base64 data."""
    return "$(" in text or "base64," in text


def words(text: str) -> list[str]:
    """Return the words of a text, in order.

    runs of letters, digits and `_`, with the combining marks that follow one.
    """
    text = prepare(text)
    if text.isascii():
        return text.translate(ASCII_WORDS).split()
    found = []
    start = -1
    for i, char in enumerate(text):
        if char.isalnum() or char == "_":
            if start < 0:
                start = i
        elif start >= 0 and not is_mark(char):
            found.append(text[start:i])
            start = -1
    if start >= 0:
        found.append(text[start:])
    return found


def is_mark(char: str) -> bool:
    if char < "\u0300":
        return False
    from git_kb.text.marks import MARK_RANGES

    i = bisect_right(MARK_RANGES, ord(char))
    # Inside a range when an odd number of ends lies at or below, or at the very last character of one.
    return i % 2 == 1 or (i > 0 and MARK_RANGES[i - 1] == ord(char))


def is_unspaced(char: str) -> bool:
    """Return whether a character belongs to a script whose text is indexed by characters and pairs of them."""
    if char < "\u0e00":
        return False
    return ord(char) <= _LAST[bisect_right(_FIRST, ord(char)) - 1]


def word_terms(word: str, rules: str = "") -> list[str]:
    """Return the terms of one word: itself; of an identifier, the whole and then its parts; of an unspaced
    run, its characters and their pairs.

    Where scripts meet inside a word, each run counts for itself. Empty for a word of underscores.
    """
    if word.isascii() or max(word) < "\u0e00":
        return _spaced_terms(word, rules)
    found: list[str] = []
    start = 0
    for i in range(1, len(word) + 1):
        if i < len(word) and is_unspaced(word[i]) == is_unspaced(word[start]):
            continue
        run = word[start:i]
        if not is_unspaced(run[0]):
            found += _spaced_terms(run, rules)
        else:
            found += _unspaced_terms(run)
        start = i
    return found


def _unspaced_terms(run: str) -> list[str]:
    """Return the units of an unspaced run, mostly characters, with the pair that each makes with the next behind it."""
    units: str | list[str] = run
    if min(run) < "\u1800" and _has_clusters(run):
        from git_kb.text.clusters import clusters

        units = clusters(run)
    found = [units[-1]] * (2 * len(units) - 1)
    found[:-1:2] = units[:-1]
    found[1::2] = map(str.__add__, units, units[1:])
    return found


def _has_clusters(run: str) -> bool:
    """Whether an unspaced run has letters of Thai, Lao, Burmese or Khmer, whose signs gather around a consonant."""
    return any("\u0e00" <= c <= "\u0eff" or "\u1000" <= c <= "\u109f" or "\u1780" <= c <= "\u17ff" for c in run)


def _spaced_terms(word: str, rules: str) -> list[str]:
    if len(word) <= MAX_WORD and word.isalpha() and (word[1:].islower() or word.isupper() or len(word) == 1):
        return _forms(word, rules)
    word = word.strip("_")[:MAX_WORD].rstrip("_")
    if not word:
        return []
    parts = _parts(word)
    if len(parts) == 1 or len(parts) > MAX_PARTS:
        return _forms(word, rules)
    return [form for piece in (word, *parts) for form in _forms(piece, rules)]


def _forms(word: str, rules: str) -> list[str]:
    """Return the folded and stemmed forms of a word or part: one, or two (`languages.word_forms`)."""
    if not rules and word.isascii():
        return [stem(word.lower())]
    from git_kb.text.languages import word_forms

    return [form if len(form) * 4 <= MAX_TERM_BYTES else _cut(form) for form in word_forms(word, rules)]


def _cut(form: str) -> str:
    return form.encode()[:MAX_TERM_BYTES].decode("utf-8", "ignore")


def _parts(word: str) -> list[str]:
    """Return the parts of an identifier: cut at `_`, at aB, at ABc (before the B), between letters and digits.

    A plural acronym (`URLs`) stays whole.
    """
    parts = []
    for piece in word.split("_"):
        start = 0
        for i in range(1, len(piece)):
            a, b = piece[i - 1], piece[i]
            if a.isdigit() != b.isdigit():
                cut = b.isalnum()  # not before a combining mark
            elif b.isupper():
                after = piece[i + 1 : i + 2]
                plural = piece[i + 1 :] == "s"
                cut = not a.isupper() or (after != "" and not after.isupper() and not after.isdigit() and not plural)
            else:
                cut = False
            if cut:
                parts.append(piece[start:i])
                start = i
        if piece:
            parts.append(piece[start:])
    return parts


def _normalise(text: str) -> str:
    from unicodedata import is_normalized, normalize

    # Removing may bring characters together that compose, and composing may give one to remove: repeat
    # until it is stable.
    while True:
        if not INVISIBLE.isdisjoint(text):
            text = text.translate(_REMOVE)
        if is_normalized("NFKC", text):
            return text
        text = normalize("NFKC", text)
