"""The words of a question that name something."""

from git_kb.search.query import STOP_WORDS
from git_kb.search.question import content_terms, content_words


def test_content_words():
    assert list(content_words("How do I feed the Colony?")) == ["feed", "Colony"]
    assert content_words("what is it") == {}
    assert "who" in STOP_WORDS


def test_an_excluded_word_is_not_asked_for():
    assert list(content_words("hive -rain")) == ["hive"]
    assert list(content_words("hive rain-proof")) == ["hive", "rain", "proof"]


def test_terms_are_those_of_the_index():
    assert content_terms("Feeding the hives") == content_terms("feed a hive")
    assert content_terms("how") == set()
