"""Words and terms: the two splitters agree, and a word of a text always finds itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_kb.text.bulk import TEXTS, Vocabulary, find_parts, find_words
from git_kb.text.languages import _STEMMERS
from git_kb.text.words import FIELDS, MAX_TERM_BYTES, _parts, is_unspaced, prepare, terms, word_terms, words

PIECES = [
    "getUserName",
    "utf8",
    "snake_case",
    "URLs",
    "重跑",
    "日本語のテキスト",
    "ภาษาไทย",
    "हिन्दी",
    "\u00ad",
    "\u200b",
    "\ufe0f",
    "e\u0301",
    "ß",
    "İ",
    "ﬁ",
    "Häuser",
    "running",
    "الكتاب",
    "кириллица",
    "မြန်မာ",
    "ខ្មែរ",
]
texts = st.one_of(
    st.text(), st.lists(st.one_of(st.sampled_from([*PIECES, " ", "-", "_", "$(", "base64,"]), st.text(max_size=4))).map("".join)
)


@given(texts)
def test_both_splitters_give_the_same_words(text):
    assert words(text) == find_words(text)


@given(st.text("aBCs1_", max_size=20))
def test_both_ways_to_cut_an_identifier_agree(word):
    assert find_parts(word) == _parts(word)


@given(st.text("aBCs1_", min_size=1, max_size=20))
def test_a_part_has_no_parts(word):
    assert all(find_parts(part) == [part] for part in find_parts(word))


@given(st.lists(st.text("aBsÄéß重1_", min_size=1, max_size=90)))
def test_a_token_string_of_identifiers_has_the_terms_in_order(found):
    vocabulary = Vocabulary()
    names = vocabulary.codes
    (string,) = vocabulary.encode([("", " ".join(found), "")])
    string = string.strip(FIELDS)
    there = {char: term for term, char in names.items()}
    expected = [term for word in words(" ".join(found)) for term in word_terms(word)]
    assert [there[char] for char in string] == expected
    assert list(names) == list(dict.fromkeys(expected))


@given(texts)
def test_a_word_of_a_text_finds_itself(text):
    there = set(terms(text))
    for word in words(text):
        assert set(terms(word)) <= there


@given(texts)
def test_preparing_twice_changes_nothing(text):
    assert prepare(prepare(text)) == prepare(text)


@given(texts)
def test_terms_are_keys_of_a_tree(text):
    assert all(0 < len(term.encode()) <= MAX_TERM_BYTES for term in terms(text))


@given(st.lists(st.tuples(st.sampled_from(["", "", *_STEMMERS]), st.tuples(texts, texts, texts)), max_size=5))
def test_a_token_string_has_one_character_a_term(found):
    vocabulary = Vocabulary()
    strings = vocabulary.encode([three for _, three in found], [rules for rules, _ in found])
    names = {char: term for term, char in vocabulary.codes.items()}
    assert [[[names[char] for char in field] for field in string.split(FIELDS)] for string in strings] == [
        [terms(text, rules) for text in three] for rules, three in found
    ]
    expected = [term for rules, three in found for text in three for term in terms(text, rules)]
    assert list(vocabulary.codes) == list(dict.fromkeys(expected))


def test_permuted_terms_keep_their_text():
    vocabulary = Vocabulary()
    texts, rules = [("one two", "two getUser", ""), ("eins zwei", "Häuser", "")], ["", "de"]
    before = vocabulary.encode(texts, rules)
    chars = sorted(vocabulary.codes.values())
    moved = {ord(a): b for a, b in zip(chars, reversed(chars), strict=True)}
    vocabulary.permute(moved)
    assert vocabulary.encode(texts, rules) == [string.translate(moved) for string in before]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("getUserName", ["getusernam", "get", "user", "name"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("utf8", ["utf8", "utf", "8"]),
        ("snake_case", ["snake_cas", "snake", "case"]),
        ("URLs", ["url"]),
        ("__init__", ["init"]),
        ("___", []),
        ("Running", ["run"]),
        ("soft\u00adhyphen", ["softhyphen"]),
        ("日本語", ["日", "日本", "本", "本語", "語"]),
        ("日", ["日"]),
        ("ภาษา", ["ภา", "ภาษา", "ษา"]),
        ("重跑gen-itgc", ["重", "重跑", "跑", "gen", "itgc"]),
        ("हिन्दी", ["हिन्द"]),
        ("see $(image: 7fa93b2e4c8d1076a93b2e4c8d) here", ["see", "here"]),
        ("a data:image/png;base64,iVBORw0KGgo= b", ["a", "b"]),
    ],
)
def test_terms_of_known_texts(text, expected):
    assert terms(text) == expected


def test_a_long_word_is_cut_and_a_hash_stays_whole():
    assert word_terms("x" * 5000) == ["x" * 64]
    assert len(word_terms("0a1b2c3d4e5f6a7b8c9d")) == 1


def test_runs_and_long_words_are_not_cached():
    vocabulary = Vocabulary()
    vocabulary.encode([("", "plain 日本語テキスト " + "y" * 100, "")])
    assert set(vocabulary) == {"plain", FIELDS, TEXTS}


@given(st.characters())
def test_unspaced_characters_lie_beyond_latin(char):
    assert not (is_unspaced(char) and char < "\u0e00")
