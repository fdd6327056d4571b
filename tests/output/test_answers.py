"""Answers as Markdown and as data."""

import json

from git_kb.output.answers import answer_data, render_answer
from git_kb.search.answer import CitedAnswer, Excerpt, Gap
from git_kb.search.explore import Suggestion
from git_kb.search.passages import CodeBlock, Sentence

FULL = CitedAnswer(
    question="What\nis a \x1b[31mhive?",
    sentences=(Sentence("A hive\nis a box.", 0, 16, 7, "a.md#c-00000000", "docs/a.md"),),
    code=(CodeBlock("kb `\x1b`\n```", 20, 30, 9, "a.md#c-00000000", "docs/a.md", "sh", 14),),
    sources=(Excerpt("a.md#c-00000000", "k" * 26, "docs/a.md", "changed", 5, "Bees > Hives", "## Hives A hive is a box."),),
    confidence="medium",
    confidence_score=0.25,
    reason="based on 1 document",
    gaps=(
        Gap("Queen", ("queen",), ("queen",), 3, False, "b.md#c-11111111"),
        Gap("move_hive", ("move_h", "move", "hive"), ("move_h", "move"), 1, True, "b.md#c-11111111"),
        Gap("yak", ("yak",), ("yak",), 0, False, ""),
    ),
    explore=(Suggestion("Queen Bees", "it matches too", "b.md#c-11111111"), Suggestion("a $x", "why", "b.md#c-2")),
)
EMPTY = CitedAnswer("x", (), (), (), "none", 0.0, "no section has a sentence on it", (), ())


def test_as_markdown():
    assert render_answer(FULL, b"docs/") == (
        "## Answer: What is a \\x1b[31mhive?\n\n"
        "A hive is a box.\n— a.md#c-00000000 (a.md:7) (changed since ingest)\n\n"
        "````sh\nkb `\\x1b`\n```\n````\n— a.md#c-00000000 (a.md:9), 2 of 14 lines (changed since ingest)\n\n"
        "### Sources\n\n- a.md#c-00000000 (a.md:5) (changed since ingest) — Bees > Hives\n  > ## Hives A hive is a box.\n\n"
        "### Confidence\n\nmedium — based on 1 document\n\n"
        "### Gaps\n\n"
        "- Queen: looked for 'queen'; not found in what is quoted above; "
        "3 sections of the knowledge base have it, first b.md#c-11111111\n"
        "- move_hive: looked for 'move_h', 'move', 'hive'; 'move_h', 'move' not found in what is quoted above; "
        "1 or more sections of the knowledge base have it, first b.md#c-11111111\n"
        "- yak: looked for 'yak'; not found in any section of the knowledge base\n\n"
        "### Explore Next\n\n"
        '- `git kb query "Queen Bees"` — it matches too (b.md#c-11111111)\n'
        "- `git kb query 'a $x'` — why (b.md#c-2)\n"
    )


def test_without_an_answer():
    text = render_answer(EMPTY)
    assert "The knowledge base has no sentence that answers this." in text
    assert "### Sources\n\nnone\n" in text
    assert "### Gaps\n\nnone seen\n" in text


def test_as_data():
    data = json.loads(json.dumps(answer_data(FULL)))
    assert data["explore"][0] == {"question": "Queen Bees", "reason": "it matches too", "citation": "b.md#c-11111111"}
    assert data["code"][0]["line"] == 9
    assert data["sources"][0]["source_state"] == "changed"
    assert data["sentences"][0]["citation"] == "a.md#c-00000000"
    assert [g["word"] for g in data["gaps"]] == ["Queen", "move_hive", "yak"]
