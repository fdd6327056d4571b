"""Words of many languages: inflections meet, marks go where readers do without them, and nothing is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_kb.text.languages import _ALIASES, _STEMMERS, SKELETON, fold_in_place, rules_of, word_forms
from git_kb.text.words import MAX_TERM_BYTES, folded, terms, word_terms, words

RULES = sorted(_STEMMERS)
SAMPLES = [
    "Häuser", "straße", "İstanbul", "ISI", "kız", "naïve", "smörgås", "español", "Łódź", "tuyển", "поездами", "ёлка", "Άνθρωποι",
    "والكتاب", "كُتُب", "مـدرسـة", "ספרים", "लड़कों", "हिन्दी", "புத்தகங்கள்", "ภาษาไทย", "ພາສາລາວ", "ភាសាខ្មែរ", "မြန်မာဘာသာ", "日本語", "한국어",
    "٢٠٢٤", "e\u0301", "x\u0302", "İ", "ﬁ", "ß", "\u0640", "\u064b",
]  # fmt: skip
texts = st.one_of(st.text(), st.lists(st.one_of(st.sampled_from([*SAMPLES, " ", "_", "-"]), st.text(max_size=3))).map("".join))


@given(texts, st.sampled_from(RULES))
def test_each_word_has_terms_that_are_keys_of_a_tree(text, rules):
    for word in words(text):
        found = word_terms(word, rules)
        assert found or not word.strip("_")
        assert all(0 < len(term.encode()) <= MAX_TERM_BYTES for term in found)
        assert found == word_terms(word, rules)
        assert folded(word, rules)


@given(texts, st.sampled_from(RULES))
def test_case_makes_no_difference_to_a_plain_word(text, rules):
    for word in words(text):
        lower = word.lower()
        if word[:1].upper() + lower[1:] == word and lower.upper().lower() == lower and word.isalpha() and rules != "tr":
            assert word_terms(word, rules)[:1] == word_terms(lower, rules)[:1]


@pytest.mark.parametrize(
    ("language", "same"),
    [
        ("en", ["cafe", "café", "cafés"]),
        ("de", ["Haus", "Häuser", "Häusern", "HAUS"]),
        ("de", ["Straße", "strasse", "Straßen"]),
        ("fr", ["téléphone", "telephone", "téléphones"]),
        ("es", ["canción", "canciones", "cancion"]),
        ("it", ["città", "citta"]),
        ("sv", ["böcker", "böckerna"]),
        ("fi", ["talo", "talossa"]),
        ("hu", ["ház", "házban", "házak"]),
        ("tr", ["kitap", "kitabı", "kitaplar", "KİTAP"]),
        ("tr", ["zemin", "zeminler"]),
        ("tr", ["ışık", "IŞIK"]),
        ("tr", ["İstanbul", "istanbul", "Istanbul", "ISTANBUL"]),
        ("ro", ["orașul", "orasul"]),
        ("pl", ["domu", "domem"]),
        ("id", ["membaca", "dibaca"]),
        ("ru", ["поезд", "поезда", "поездами"]),
        ("ru", ["ёлка", "елки", "Ёлки"]),
        ("el", ["άνθρωπος", "άνθρωποι", "ΑΝΘΡΩΠΟΣ"]),
        ("hi", ["लड़का", "लड़के", "लड़कों"]),
        ("ar", ["كتاب", "الكتاب", "والكتاب", "كِتَاب", "كتـــاب"]),
        ("ar", ["إسلام", "اسلام", "الإسلام"]),
        ("fa", ["کتاب", "كتاب"]),
        ("he", ["שָׁלוֹם", "שלום"]),
        ("hi", ["२०२४", "2024"]),
    ],
)  # fmt: skip
def test_forms_of_a_word_have_one_term(language, same):
    assert len({word_forms(word, rules_of(language))[0] for word in same}) == 1, same


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("es", "año", "ano"),
        ("sv", "får", "far"),
        ("da", "køn", "kon"),
        ("tr", "şok", "sok"),
        ("pl", "łaska", "laska"),
        ("ru", "йод", "иод"),
    ],
)
def test_letters_of_an_alphabet_are_not_folded(language, one, other):
    assert word_forms(one, rules_of(language)) != word_forms(other, rules_of(language))


@pytest.mark.parametrize(
    ("language", "marked", "plain"),
    [
        ("pt", "informação", "informacao"),
        ("es", "contraseña", "contrasena"),
        ("fr", "accès", "acces"),
        ("ca", "configuració", "configuracio"),
    ],
)
def test_a_word_typed_without_its_marks_is_found(language, marked, plain):
    assert set(word_forms(plain, language)) <= set(word_forms(marked, language))


def test_broken_plurals_meet_in_their_skeleton():
    kitab, kutub = (word_forms(word, "") for word in ("كتاب", "الكتب"))
    assert kitab[0] != kutub[0]
    assert kitab[1] == kutub[1] == SKELETON + "كتب"


def test_english_words_are_what_they_were():
    assert terms("Running getUserName URLs utf8") == ["run", "getusernam", "get", "user", "name", "url", "utf8", "utf", "8"]


@pytest.mark.parametrize(
    ("language", "rules"),
    [
        ("", ""),
        ("en", ""),
        ("zh", ""),
        ("ar", ""),
        ("de", "de"),
        ("nb", "no"),
        ("uk", "cyrl"),
        ("ur", "arab"),
        ("vi", "latn"),
        ("qqq", "latn"),
    ],
)
def test_languages_share_rules(language, rules):
    assert rules_of(language) == rules


@given(st.text("abcdefghijklmnopqrstuvwxyz", min_size=2, max_size=3))
def test_there_are_few_rules_whatever_a_manifest_says(code):
    assert rules_of(code) in _STEMMERS
    assert set(_ALIASES.values()) <= set(_STEMMERS)


@given(texts)
def test_folding_in_place_keeps_the_length(text):
    assert len(fold_in_place(text)) == len(text)
