"""Cited answers: sentences that stand word for word in sections."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kb import Kb

from git_kb.search.answer import QUESTION_WORDS, answer, content_words, split_sentences
from git_kb.store.viewfile import current_view

TEXT = """\
# Hives

A hive stands on a stone. The entrance of a hive faces south! Does rain matter? It does.

```python
hive = "not a sentence about the hive."
```

> A quoted hive.

| hive | table |
|------|-------|
| hive | cell. |

* A hive has frames.
* Frames hold comb. Comb is wax.

    indented hive code.

<div>hive in html.</div>
"""


class Stub:
    """What split_sentences needs of a hit."""

    def __init__(self, content):
        self.content = content
        self.row = type("Row", (), {"line": 10})
        self.document = type("Document", (), {"source": "s.md"})
        self.citation = "s.md#c-00000000"


def sentences(content):
    return [s.text for s in split_sentences(Stub(content))]


def test_sentences_are_prose_alone():
    assert sentences(TEXT) == [
        "A hive stands on a stone.",
        "The entrance of a hive faces south!",
        "Does rain matter?",
        "It does.",
        "A hive has frames.",
        "Frames hold comb.",
        "Comb is wax.",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two.", ["One.", "Two."]),
        ("See e.g. this one. Next.", ["See e.g. this one.", "Next."]),
        ("Version 1.2.3 is out. Good.", ["Version 1.2.3 is out.", "Good."]),
        ("蜂は飛ぶ。巣に帰る。", ["蜂は飛ぶ。", "巣に帰る。"]),
        ('He said "go." Then he went.', ['He said "go."', "Then he went."]),
        ("Wrapped\nover lines. And\nmore.", ["Wrapped\nover lines.", "And\nmore."]),
        ("...", []),
        ("", []),
        ("no end", ["no end"]),
        ("~~~\ncode.\n```\nstill code.\n~~~\nAfter.", ["After."]),
        ("```\nnever closed.", []),
    ],
)
def test_splitting(text, expected):
    assert sentences(text) == expected


@given(st.text(alphabet="aB .!?\n*-#>`|<\"')(1蜂。\t", max_size=120))
def test_every_sentence_is_a_verbatim_span(text):
    for s in split_sentences(Stub(text)):
        assert text[s.start : s.end] == s.text == s.text.strip()
        assert s.line == 10 + text[: s.start].count("\n")
    spans = [(s.start, s.end) for s in split_sentences(Stub(text))]
    assert all(a[1] <= b[0] for a, b in pairwise(spans))


def test_content_words():
    assert list(content_words("How do I feed the Colony?")) == ["feed", "Colony"]
    assert content_words("what is it") == {}
    assert "who" in QUESTION_WORDS


@pytest.fixture
def kb(tmp_path):
    return Kb.ready(
        tmp_path / "repo",
        {
            "hives.md": TEXT,
            "feed.md": "# Feeding\n\n## In spring\n\nFeed syrup in spring. It is sweet.\n\n## In autumn\n\nFeed fondant in autumn.\n",
        },
    )


def ask(kb, question):
    opened = current_view(kb.place())
    assert opened is not None
    return answer(kb.place(), *opened, question)


def test_an_answer_rests_on_its_sections(kb):
    result = ask(kb, "What do I feed in spring?")
    assert result.sentences[0].text == "Feed syrup in spring."
    assert {s.citation for s in result.sentences} == {s.citation for s in result.sources}
    for s in result.sentences:
        shown = kb.json("show", s.citation)
        assert shown["content"][s.start : s.end] == s.text
        assert s.text in kb.read(s.source).decode().split("\n", s.line - 1)[-1]
    assert result.gaps == ()
    assert result.confidence in ("high", "medium", "low")


def test_what_nothing_covers_is_a_gap(kb):
    result = ask(kb, "Which xylophone do I feed in spring?")
    assert result.gaps == ("xylophone",)
    assert result.explore[0][0].startswith("xylophone ")
    full = ask(kb, "What do I feed in spring?")
    order = ["none", "low", "medium", "high"]
    assert order.index(result.confidence) <= order.index(full.confidence)


@pytest.mark.parametrize("question", ["", "?", "xylophone", "what is it", "\x00", "*"])
def test_no_answer_says_so(kb, question):
    result = ask(kb, question)
    if not result.sentences:
        assert (result.sources, result.confidence) == ((), "none")
    done = kb.run("query", question)
    assert done.code == (0 if result.sentences else 1)
    assert done.out.startswith("## Answer: ")
    for title in ("### Sources", "### Confidence", "### Gaps", "### Explore Next"):
        assert title in done.out


def test_the_same_question_gives_the_same_answer(kb):
    assert ask(kb, "hive entrance") == ask(kb, "hive entrance")
