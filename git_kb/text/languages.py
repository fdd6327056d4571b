"""What a word becomes in the languages beyond plain English: folding, stemming, n-grams. docs/format-index.md, "Languages".

On the search path of words that are not ASCII, and of knowledge bases with documents in other languages: no `re` here.
"""

from __future__ import annotations

from unicodedata import combining, decimal, normalize

from git_kb.text.stems import stemmer

LATIN, GREEK, CYRILLIC, ARMENIAN, HEBREW, ARABIC, DEVANAGARI, TAMIL, OTHER = range(9)
# First and last letters of a script, ascending.
_SCRIPTS = (
    ("\0", "\u036f", LATIN),
    ("\u0370", "\u03ff", GREEK),
    ("\u0400", "\u052f", CYRILLIC),
    ("\u0531", "\u058a", ARMENIAN),
    ("\u0591", "\u05f4", HEBREW),
    ("\u0600", "\u06ff", ARABIC),
    ("\u0750", "\u077f", ARABIC),
    ("\u08a0", "\u08ff", ARABIC),
    ("\u0900", "\u097f", DEVANAGARI),
    ("\u0b80", "\u0bff", TAMIL),
    ("\u1ab0", "\u1aff", LATIN),
    ("\u1c80", "\u1c8f", CYRILLIC),
    ("\u1d00", "\u1eff", LATIN),
    ("\u1f00", "\u1fff", GREEK),
    ("\u20d0", "\u20ff", LATIN),
    ("\u2c60", "\u2c7f", LATIN),
    ("\u2de0", "\u2dff", CYRILLIC),
    ("\ua640", "\ua69f", CYRILLIC),
    ("\ua720", "\ua7ff", LATIN),
)

# Rules -> script -> Snowball's stemmer, "" for none. Under "" stands what counts where a language's rules say nothing of a script.
_STEMMERS: dict[str, dict[int, str]] = {
    "": {
        LATIN: "english",
        GREEK: "greek",
        CYRILLIC: "russian",
        ARMENIAN: "armenian",
        ARABIC: "arabic",
        DEVANAGARI: "hindi",
        TAMIL: "tamil",
    },
    "ca": {LATIN: "catalan"},
    "cs": {LATIN: "czech"},
    "da": {LATIN: "danish"},
    "de": {LATIN: "german"},
    "eo": {LATIN: "esperanto"},
    "es": {LATIN: "spanish"},
    "et": {LATIN: "estonian"},
    "eu": {LATIN: "basque"},
    "fa": {ARABIC: "persian"},
    "fi": {LATIN: "finnish"},
    "fr": {LATIN: "french"},
    "ga": {LATIN: "irish"},
    "hu": {LATIN: "hungarian"},
    "id": {LATIN: "indonesian"},
    "it": {LATIN: "italian"},
    "lt": {LATIN: "lithuanian"},
    "ne": {DEVANAGARI: "nepali"},
    "nl": {LATIN: "dutch"},
    "no": {LATIN: "norwegian"},
    "pl": {LATIN: "polish"},
    "pt": {LATIN: "portuguese"},
    "ro": {LATIN: "romanian"},
    "sr": {LATIN: "serbian", CYRILLIC: "serbian"},
    "sv": {LATIN: "swedish"},
    "tr": {LATIN: "turkish"},
    "yi": {HEBREW: "yiddish"},
    # Languages without a stemmer here, by script.
    "arab": {ARABIC: ""},
    "cyrl": {CYRILLIC: ""},
    "deva": {DEVANAGARI: ""},
    "latn": {LATIN: ""},
}
# Languages whose words the rules of "" are made for, or whose script has none.
_PLAIN_CODES = "en ru el hy ar hi ta zh ja ko th lo km my he ka bn as te gu pa kn ml si or am ti dv bo dz ii chr iu yue wuu"
_PLAIN = frozenset(_PLAIN_CODES.split())
_ALIASES = {
    **dict.fromkeys(("nb", "nn"), "no"),
    **dict.fromkeys(("hr", "bs"), "sr"),
    **dict.fromkeys(("uk", "be", "bg", "mk", "kk", "ky", "mn", "tg", "tt", "ba", "cv", "os", "ce"), "cyrl"),
    **dict.fromkeys(("ur", "ps", "ckb", "sd", "ug", "ks"), "arab"),
    **dict.fromkeys(("mr", "sa", "mai", "bho", "kok"), "deva"),
}

# Rules -> letters that are letters of their own there, and so keep their marks; all others lose them. Where rules have none,
# readers of the language take a word without its marks for the same word.
_ALPHABETS = {
    "cs": "čřšž",
    "da": "æøå",
    "eo": "ĉĝĥĵŝŭ",
    "es": "ñ",
    "eu": "ñ",
    "et": "äöõüšž",
    "fi": "äöåšž",
    "hu": "öü",
    "lt": "ąčęėįšųūž",
    "no": "æøå",
    "pl": "ąćęłńóśźż",
    "sr": "čćđšž",
    "sv": "åäö",
    "tr": "çğöşü",
}
# Where marks are often not typed: a word whose stem shows that it had some has the stem of the word without them as well. In
# languages that have marks on every other word, this makes ranking worse.
_TYPED_PLAIN = frozenset(("ca", "es", "fr", "it", "pt", "ro"))
# Letters that do not decompose; the dotless i is the i of Turkish capitals typed anywhere else.
_LETTERS = {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h", "ŧ": "t", "ŋ": "ng"}
# Long vowels of Hungarian that its alphabet does not tell from short ones.
_SAME_LETTER = {"hu": {"ő": "ö", "ű": "ü"}}
# Harakat, Quranic marks and tatweel, which most text leaves out.
_ARABIC_MARKS = frozenset(map(chr, (*range(0x610, 0x61B), 0x640, *range(0x64B, 0x660), 0x670, *range(0x6D6, 0x6EE)))) - {
    "\u06de",
    "\u06e5",
    "\u06e6",
    "\u06e9",
}
# Letters that are typed in more than one way.
_ARABIC_LETTERS = {"أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ى": "ي", "ی": "ي", "ې": "ي", "ک": "ك", "ە": "ه", "ہ": "ه"}
# The same by rules that differ: Persian types ya and kaf in both ways, others tell such letters apart.
_LETTERS_OF: dict[str, dict[str, str]] = {"fa": {"ي": "ی", "ى": "ی", "ك": "ک"}, "arab": {}}
# Conjunctions and prepositions that are written with the article, longest first.
_ARABIC_PREFIXES = ("وبال", "وكال", "ولل", "وال", "فال", "بال", "كال", "ال", "لل")
_LONG_VOWELS = str.maketrans("", "", "اوي")
# Roots have three consonants. The mark is tatweel, which words have lost.
MIN_SKELETON = 3
SKELETON = "\u0640"
# How often Turkish is stemmed again at most.
MAX_LAYERS = 5
_HEBREW_POINTS = dict.fromkeys((*range(0x591, 0x5BE), 0x5BF, 0x5C1, 0x5C2, 0x5C4, 0x5C5, 0x5C7), "")
# Nukta and candrabindu, which are often left out or written as anusvara.
_DEVANAGARI = {0x93C: "", 0x901: "\u0902"}
# Stress marks; breve and diaeresis make letters of their own, but for yo, which is mostly written as ye.
_CYRILLIC = {0x300: "", 0x301: ""}


def rules_of(language: str) -> str:
    """Return the name of the rules that make terms of a document in some language; "" for English and whatever shares its rules."""
    if not language or language in _PLAIN:
        return ""
    if language in _STEMMERS:
        return language
    return _ALIASES.get(language, "latn")


def word_forms(word: str, rules: str, stemmed: bool = True) -> list[str]:
    """Return the terms of one word or part of an identifier: one, two of an Arabic word and of some accented ones.

    stemmed: False folds only, for the beginning of a word.
    """
    if word.isdecimal():
        return ["".join([str(decimal(c)) for c in word])]
    script = _script(word)
    if script == LATIN:
        return _latin(word, rules, stemmed)
    folded = normalize("NFKC", word.casefold())
    if script == ARABIC:
        return _arabic(folded, rules, stemmed)
    if script == HEBREW:
        folded = folded.translate(_HEBREW_POINTS) or folded
    elif script == DEVANAGARI:
        folded = normalize("NFC", normalize("NFD", folded).translate(_DEVANAGARI)) or folded
    elif script == CYRILLIC:
        folded = normalize("NFC", normalize("NFD", folded).translate(_CYRILLIC)) or folded
        folded = folded.replace("ё", "е")
    elif script == GREEK and not stemmed:
        folded = _without_marks(folded)
    return [_stem(folded, script, rules) if stemmed else folded]


def _script(word: str) -> int:
    top = max(word)
    if top < "\u0370":
        return LATIN
    for first, last, script in _SCRIPTS:
        if first <= top <= last:
            return script
    return OTHER


def _stem(word: str, script: int, rules: str) -> str:
    name = _STEMMERS[rules].get(script)
    if name is None:
        name = _STEMMERS[""].get(script, "")
    if not name:
        return word
    stem = stemmer(name)
    stemmed = stem(word) or word
    if name == "turkish":
        # It takes off one layer of suffixes (zeminler, zemin, ze): on to what every form of the word ends in.
        for _ in range(MAX_LAYERS):
            word, stemmed = stemmed, stem(stemmed) or stemmed
            if stemmed == word:
                break
    return stemmed


def _latin(word: str, rules: str, stemmed: bool) -> list[str]:
    if rules == "tr":
        word = word.replace("I", "ı").replace("İ", "i")
    folded = normalize("NFKC", word.casefold())
    if not stemmed:
        return [_fold(folded, rules)]
    if not rules:
        return [_stem(_fold(folded, rules), LATIN, rules)]
    # Stemmers know suffixes by their marks.
    term = _fold(_stem(folded, LATIN, rules), rules)
    if rules not in _TYPED_PLAIN or folded.isascii():
        return [term]
    plain = _stem(_fold(folded, ""), LATIN, rules)
    return [term] if plain == term else [term, plain]


class _Folding(dict[int, str]):
    """Code point -> what a character becomes under some rules, worked out when it is first met: for `str.translate`."""

    def __init__(self, rules: str):
        super().__init__({i: chr(i) for i in range(128)})
        self.kept = frozenset(_ALPHABETS.get(rules, ""))
        self.same = _SAME_LETTER.get(rules, {})

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if char in self.kept:
            folded = char
        elif char in self.same:
            folded = self.same[char]
        elif char in _LETTERS:
            folded = _LETTERS[char]
        else:
            folded = _without_marks(char)
        self[code] = folded
        return folded


def _without_marks(text: str) -> str:
    """Return text without the marks on its letters."""
    return normalize("NFC", "".join([c for c in normalize("NFD", text) if not combining(c)]))


_FOLDINGS: dict[str, _Folding] = {}


def _fold(word: str, rules: str) -> str:
    """Return a folded word without the marks that are none of its language's letters."""
    if word.isascii() or rules == "latn":
        return word
    folding = _FOLDINGS.get(rules)
    if folding is None:
        folding = _FOLDINGS[rules] = _Folding(rules)
    return word.translate(folding) or word


class _InPlace(dict[int, str]):
    """Code point -> one character without case and marks."""

    def __missing__(self, code: int) -> str:
        char = chr(code).lower()[:1]
        char = _ARABIC_LETTERS.get(char) or _LETTERS.get(char, char)[:1]
        folded = self[code] = _without_marks(char)[:1] or char
        return folded


_IN_PLACE = _InPlace()


def fold_in_place(text: str) -> str:
    """Return a text of the same length whose letters have lost case and marks, to look for terms in it."""
    return text.translate(_IN_PLACE)


def _arabic(word: str, rules: str, stemmed: bool) -> list[str]:
    """Return the light stem of an Arabic word, and its skeleton: what is left without the long vowels inside.

    Plurals and derived words differ in these (`kitab`, `kutub`), so that no light stemmer brings them together. A mark tells
    skeletons from stems.
    """
    letters = _LETTERS_OF.get(rules, _ARABIC_LETTERS)
    word = "".join([letters.get(c, c) for c in word if c not in _ARABIC_MARKS]) or word
    if rules in _LETTERS_OF:
        return [_stem(word, ARABIC, rules) if stemmed else word]
    if not stemmed:
        return [_without_article(word)]
    light = stemmer("arabic")(_without_article(word)) or word
    skeleton = light[:1] + light[1:].translate(_LONG_VOWELS)
    return [light, SKELETON + (skeleton if len(skeleton) >= MIN_SKELETON else light)]


def _without_article(word: str) -> str:
    for prefix in _ARABIC_PREFIXES:
        if word.startswith(prefix) and len(word) >= len(prefix) + 2:
            return word[len(prefix) :]
    return word[1:] if word.startswith("و") and len(word) >= 4 else word
