"""Which language a text is in: by its script, its function words, and letters that few languages have.

Deterministic, and from a sample, so that it costs little. It has no opinion on what is short or mixed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from itertools import repeat

from git_kb.model.document import is_language
from git_kb.text.bulk import find_words
from git_kb.text.fields import split_code
from git_kb.text.function_words import LANGUAGES, function_words

# Characters looked at: so many from the start, and of longer texts as many from the middle.
SAMPLE = 4000
# Evidence needed: words that speak for the language, different ones among them, and the share of all words they make up.
MIN_WORDS, MIN_DIFFERENT, MIN_SHARE = 5, 3, 0.08
# The evidence has to be so many times that for any language of other letters or kin.
MIN_LEAD = 1.25
# A letter of a script without cases, or a syllable of Hangul, says as much as so many Latin letters.
DENSE = 3
MIN_LETTERS = 12
PROSE_TYPES = ("text/markdown", "text/plain", "text/x-rst", "text/html", "text/asciidoc", "text/org")

# Words of these have much in common: neither has to lead before the other.
_KIN = {
    (one, other)
    for kin in map(str.split, ("da no sv", "es pt ca it ro fr", "cs pl hr lt et", "fi et", "nl de", "hi ne mr"))
    for one in kin
    for other in kin
}
# Letters that tell of a language: a word with one of them speaks for it.
_LETTERS = {
    letter: languages.split()
    for letters, languages in (
        ("ß", "de"),
        ("ığ", "tr"),
        ("ş", "tr ro"),
        ("țșţ", "ro"),
        ("ă", "ro vi"),
        ("őű", "hu"),
        ("ñ", "es eu"),
        ("ã", "pt"),
        ("õ", "pt et"),
        ("œ", "fr"),
        ("łśżźń", "pl"),
        ("ąę", "pl lt"),
        ("ěřů", "cs"),
        ("ėųįū", "lt"),
        ("øæ", "da no"),
        ("å", "sv da no"),
        ("ć", "hr pl"),
        ("č", "cs hr lt"),
        ("šž", "cs hr lt et"),
        ("đ", "vi hr"),
        ("ơư", "vi"),
        ("ĉĝŭŝ", "eo"),
    )
    for letter in letters
}
_HAN, _KANA, _HANGUL = "zh", "ja", "ko"
# First and last character, language: that of the script, or the most written one in it.
_SCRIPTS = (
    ("\u0370", "\u03ff", "el"),
    ("\u0400", "\u052f", "ru"),
    ("\u0531", "\u058a", "hy"),
    ("\u05d0", "\u05f4", "he"),
    ("\u0620", "\u06ff", "ar"),
    ("\u0750", "\u077f", "ar"),
    ("\u0900", "\u097f", "hi"),
    ("\u0980", "\u09ff", "bn"),
    ("\u0a00", "\u0a7f", "pa"),
    ("\u0a80", "\u0aff", "gu"),
    ("\u0b00", "\u0b7f", "or"),
    ("\u0b80", "\u0bff", "ta"),
    ("\u0c00", "\u0c7f", "te"),
    ("\u0c80", "\u0cff", "kn"),
    ("\u0d00", "\u0d7f", "ml"),
    ("\u0d80", "\u0dff", "si"),
    ("\u0e00", "\u0e7f", "th"),
    ("\u0e80", "\u0eff", "lo"),
    ("\u0f00", "\u0fff", "bo"),
    ("\u1000", "\u109f", "my"),
    ("\u10a0", "\u10ff", "ka"),
    ("\u1200", "\u137f", "am"),
    ("\u1780", "\u17ff", "km"),
    ("\u1f00", "\u1fff", "el"),
    ("\u3041", "\u30ff", _KANA),
    ("\u3400", "\u9fff", _HAN),
    ("\uac00", "\ud7a3", _HANGUL),
)
_DENSE = frozenset((_HAN, _KANA, _HANGUL))
# Language of the script -> (letters that it lacks, language that has them), the surest first.
_LACKING = {
    "ru": (("ў", "be"), ("їєґ", "uk"), ("ѓќѕ", "mk"), ("ђћјљњ", "sr"), ("әғқңұһ", "kk"), ("өү", "mn"), ("і", "uk")),
    "ar": (("ښګړټډږڼ", "ps"), ("ٹڈڑےں", "ur"), ("ێۆڵڕە", "ckb"), ("پچژگیک", "fa")),
}
# A letter counts as used when it makes up this part of the letters of its script.
MIN_LETTER_SHARE = 0.002
_CODE_SPAN = re.compile(r"`[^`\n]*`")
# Without the scheme, so that the search is for a fixed string.
_URL = re.compile(r"://[^\s)>]*")

# Folded word -> languages that have it among their function words.
_SPEAKS_FOR: dict[str, list[str]] = {}
for _language in LANGUAGES:
    for _word in function_words(_language):
        # In code and formulae, a letter is a name.
        if len(_word) > 1 or not _word.isascii():
            _SPEAKS_FOR.setdefault(_word, []).append(_language)


def detect_language(text: str) -> str:
    """Return the code of the language a text is in, "" when that is not clear."""
    sample = text if len(text) <= 2 * SAMPLE else text[:SAMPLE] + text[len(text) // 2 :][:SAMPLE]
    if sample.isascii():
        return _by_words(sample, LANGUAGES)
    counts = Counter(sample)
    scripts: Counter[str] = Counter()
    n_latin = 0
    for char, n in counts.items():
        if not char.isalpha():
            continue
        if char < "\u0250" or "\u1e00" <= char <= "\u1eff":
            n_latin += n
            continue
        for first, last, language in _SCRIPTS:
            if first <= char <= last:
                scripts[language] += n * (DENSE if language in _DENSE else 1)
                break
    if scripts:
        # Japanese is written in Han characters as well: a tenth of kana is enough.
        if 10 * scripts[_KANA] >= scripts[_HAN] > 0:
            scripts[_KANA] += scripts.pop(_HAN)
        language, n = min(scripts.items(), key=lambda item: (-item[1], item[0]))
        if n >= max(n_latin, MIN_LETTERS):
            return _of_script(language, sample, counts, n)
    return _by_words(sample, LANGUAGES)


def _of_script(language: str, sample: str, counts: Mapping[str, int], n_letters: int) -> str:
    """Return which of the languages of a script a text is in. `language`: the most written one."""
    for letters, other in _LACKING.get(language, ()):
        if sum(counts.get(c, 0) + counts.get(c.upper(), 0) * (c.upper() != c) for c in letters) > MIN_LETTER_SHARE * n_letters:
            return other
    if language == "ru" and not any(counts.get(c) for c in "ыэёЫЭЁ") and counts.get("ъ", 0) > MIN_LETTER_SHARE * n_letters:
        return "bg"
    if language == "hi":
        return _by_words(sample, ("hi", "mr", "ne"), 1, 1) or "hi"
    return language


def _by_words(sample: str, languages: tuple[str, ...], least: int = MIN_WORDS, least_different: int = MIN_DIFFERENT) -> str:
    """Return the language that most words speak for, if it is clear. least: words that have to; least_different: of these."""
    folded = _URL.sub(" ", sample).casefold()
    words = find_words(folded)
    votes: dict[str, int] = {}
    different: dict[str, int] = {}
    counts = Counter(words)
    known = _SPEAKS_FOR.keys() & counts.keys()
    speaking = [(word, _SPEAKS_FOR[word]) for word in known]
    if not folded.isascii():
        marked = (word for word in counts if not word.isascii() and word not in known)
        speaking += [(word, _by_letters(word)) for word in marked]
    for word, spoken in speaking:
        n = counts[word]
        for language in spoken:
            votes[language] = votes.get(language, 0) + n
            different[language] = different.get(language, 0) + 1
    most = max(map(votes.get, languages, repeat(0)))
    if not most:
        return ""
    best = next(language for language in languages if votes.get(language) == most)
    n = votes[best]
    if n < least or different[best] < least_different or n < MIN_SHARE * len(words):
        return ""
    rivals = (language for language in languages if votes.get(language, 0) * MIN_LEAD > n)
    return "" if any(other != best and (best, other) not in _KIN for other in rivals) else best


def _by_letters(word: str) -> list[str]:
    """Return the languages that have the letters of a word which few have."""
    return list({language for char in word if char in _LETTERS for language in _LETTERS[char]})


def declared_language(code: str) -> str:
    """Return the language that front matter's word for it means (`de`, `pt-BR`), "" when it is no language code."""
    code = code.strip().replace("_", "-").partition("-")[0].lower()
    return code if is_language(code) else ""


def document_language(mime: str, text: str) -> str:
    """Return the language of a document's prose, "" when that is not clear, or when it is code or data."""
    if mime not in PROSE_TYPES:
        return ""
    if mime == "text/markdown":
        text = _CODE_SPAN.sub(" ", split_code(text[: 8 * SAMPLE])[0])
    return detect_language(text)
