"""Answers as Markdown and as data."""

import json

from git_kb.output.answers import answer_data, render_answer
from git_kb.search.answer import CitedAnswer, Excerpt, Sentence

FULL = CitedAnswer(
    question="What\nis a \x1b[31mhive?",
    sentences=(Sentence("A hive\nis a box.", 0, 16, 7, "a.md#c-00000000", "docs/a.md"),),
    sources=(Excerpt("a.md#c-00000000", "k" * 26, "docs/a.md", 5, "Bees > Hives", "## Hives A hive is a box."),),
    confidence="medium",
    reason="based on 1 document",
    gaps=("queen",),
    explore=(("queen Bees", "nothing cited covers queen"),),
)
EMPTY = CitedAnswer("x", (), (), "none", "no section has a sentence on it", (), ())


def test_as_markdown():
    assert render_answer(FULL, b"docs/") == (
        "## Answer: What is a \\x1b[31mhive?\n\n"
        "A hive is a box.\n— a.md#c-00000000 (a.md:7)\n\n"
        "### Sources\n\n- a.md#c-00000000 (a.md:5) — Bees > Hives\n  > ## Hives A hive is a box.\n\n"
        "### Confidence\n\nmedium — based on 1 document\n\n"
        "### Gaps\n\nnothing cited covers: queen\n\n"
        "### Explore Next\n\n- queen Bees — nothing cited covers queen\n"
    )


def test_without_an_answer():
    text = render_answer(EMPTY)
    assert "The knowledge base has no sentence that answers this." in text
    assert "### Sources\n\nnone\n" in text
    assert "### Gaps\n\nnone seen\n" in text


def test_as_data():
    data = json.loads(json.dumps(answer_data(FULL)))
    assert data["explore"] == [{"question": "queen Bees", "reason": "nothing cited covers queen"}]
    assert data["sentences"][0]["citation"] == "a.md#c-00000000"
    assert data["gaps"] == ["queen"]
