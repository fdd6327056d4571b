"""Sentences and code blocks: verbatim spans of a section."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_kb.search.passages import CODE, MAX_CODE_LINES, PROSE, code_near, split_blocks, split_sentences

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

hive | bare table
:----|:----------
hive | cell.

* A hive has frames.
* Frames hold comb. Comb is wax.

    indented hive in the list.

<div>hive in html.</div>
"""


class Stub:
    """What is needed of a hit."""

    def __init__(self, content, mime="text/markdown"):
        self.content = content
        self.row = type("Row", (), {"line": 10, "type": ""})
        self.document = type("Document", (), {"source": "s.md", "type": mime})
        self.citation = "s.md#c-00000000"
        self.rules = ""


def sentences(content):
    return [s.text for s in split_sentences(Stub(content))]


def codes(content):
    return [content[b.start : b.end] for b in split_blocks(content) if b.kind == CODE]


def near(content, quoted, *wanted, mime="text/markdown"):
    """Return the code block that goes with the sentence `quoted`, for a question about the words `wanted`."""
    found = Stub(content, mime)
    chosen = [s for s in split_sentences(found) if s.text == quoted]
    assert chosen or not quoted
    return code_near(found, chosen, dict.fromkeys(wanted, 1.0))


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
        (".. note:: directive.\n\nAfter.", ["After."]),
    ],
)
def test_splitting(text, expected):
    assert sentences(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```sh\na\n\nb\n```\nx", ["a\n\nb"]),
        ("~~~~\n```\n~~~\n~~~~", ["```\n~~~"]),
        ("```\nopen\nto the end", ["open\nto the end"]),
        ("``` not a `fence\nprose", []),
        ("```\n```\n", []),
        ("> ```\n> quoted\n> ```\n", []),
        ("x\n\n    one\n\n    two\n\ny", ["    one\n\n    two"]),
        ("\ttab\n", ["\ttab"]),
        ("x\n    no code: it goes on", []),
        ("- item\n\n    more of it\n", []),
        ("- item\n\n  ```\n  code\n  ```\n", ["  code"]),
        ("- item\n\nprose\n\n    code\n", ["    code"]),
        ("Run this::\n\n  kb init\n  kb ingest\n\nThen.", ["  kb init\n  kb ingest"]),
        (".. code-block:: sh\n   :linenos:\n\n   kb init\n\nThen.", ["   kb init"]),
        ("Run this:\n\n  no code\n", []),
    ],
)
def test_code_blocks(text, expected):
    assert codes(text) == expected


def test_a_code_block_knows_its_language():
    blocks = split_blocks("```sh {.x}\na\n```\n.. code:: rst-lang\n\n  b\n\ntext::\n\n  c\n")
    assert [b.info for b in blocks if b.kind == CODE] == ["sh {.x}", "rst-lang", ""]


ANY_TEXT = st.text(alphabet="aB .!?\n*-#>`~|<\"':)(1蜂。\t", max_size=120)


@given(ANY_TEXT)
def test_every_sentence_is_a_verbatim_span(text):
    for s in split_sentences(Stub(text)):
        assert text[s.start : s.end] == s.text == s.text.strip()
        assert s.line == 10 + text[: s.start].count("\n")
    spans = [(s.start, s.end) for s in split_sentences(Stub(text))]
    assert all(a[1] <= b[0] for a, b in pairwise(spans))


@given(ANY_TEXT)
def test_blocks_are_apart_and_in_order(text):
    blocks = split_blocks(text)
    assert all(0 <= b.start < b.end <= len(text) for b in blocks)
    assert all(a.end <= b.start for a, b in pairwise(blocks))
    for b in blocks:
        if b.kind == CODE:
            # Whole lines.
            assert b.start == 0 or text[b.start - 1] == "\n"
            assert b.end == len(text) or text[b.end] == "\n"
        elif b.kind == PROSE:
            assert text[b.start : b.end].strip()


@given(st.lists(st.sampled_from(["a hive", "x", "", "  hive stone", "`"]), min_size=1, max_size=40))
def test_quoted_code_is_verbatim_and_bounded(lines):
    content = "The hive stands.\n\n~~~\n" + "\n".join(lines) + "\n~~~\n"
    block = near(content, "The hive stands.", "hive", "stone")
    if not any(line.strip() for line in lines):
        assert block is None
        return
    assert content[block.start : block.end] == block.text
    assert block.text.split("\n") == lines[block.line - 13 :][: len(block.text.split("\n"))]
    assert block.text.count("\n") < MAX_CODE_LINES
    assert block.n_lines == len(lines)
    if len(lines) > MAX_CODE_LINES:
        held = {w for line in lines for w in line.split() if w in ("hive", "stone")}
        assert not held or held & set(block.text.split())


def test_code_goes_with_the_sentence_before_it():
    text = "Old way.\n\n```\nold\n```\n\nStart the server.\n\n```sh\nhugo server\n```\n\nMore.\n\n```\nother\n```\n"
    block = near(text, "Start the server.", "nothing")
    assert (block.text, block.info, block.line, block.n_lines) == ("hugo server", "sh", 19, 1)


def test_code_before_a_sentence_needs_a_word_of_the_question():
    text = "```\nhugo server\n```\n\nPress Ctrl to stop.\n"
    assert near(text, "Press Ctrl to stop.", "server", "stop", "other").text == "hugo server"
    assert near(text, "Press Ctrl to stop.", "stop", "press") is None


def test_code_elsewhere_needs_half_of_the_question():
    text = "Quoted.\n\nBetween.\n\nAgain.\n\n```\nhugo server\n```\n"
    assert near(text, "Quoted.", "hugo", "start").text == "hugo server"
    assert near(text, "Quoted.", "hugo", "start", "macos") is None


def test_what_stands_for_a_file_is_not_quoted():
    assert near("Look.\n\n```rust\n{{#rustdoc_include ../main.rs:3}}\n```\n", "Look.", "look") is None


def test_source_code_is_quoted_itself():
    text = "def weigh(hive):\n    return hive.mass_kg\n"
    assert near(text, "", "hive", mime="text/x-python").text == text.rstrip("\n")


def test_without_code_there_is_none():
    assert near("A hive.\n", "A hive.", "hive") is None
