"""Headings as plain text agree with markdown-it-py, in linear time."""

import re

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from git_kb.text.inline import MAX_HEADING, definition_label, plain_heading

ORACLE = MarkdownIt("commonmark", {"inline_definitions": True, "maxNesting": 10_000}).enable("table")


def oracle_text(raw):
    def flat(tokens):
        return "".join(
            flat(t.children or [])
            if t.type == "image"
            else " "
            if "break" in t.type
            else ""
            if t.type == "html_inline"
            else t.content
            for t in tokens
        )

    return flat(ORACLE.parseInline(raw)[0].children)


INLINE = [
    "a", "b", "*", "**", "***", "_", "__", " ", "`", "``", "[", "]", "![", "](u)", "](<u v>)", "](u 't')", "(", ")", "<b>",
    "<a href='x'>", "<http://x.y>", "<m@x.y>", "&amp;", "&#35;", "&nope;", "\\*", "\\", "\\[", ".", "é", "“",
    "](javascript:x)", "<!-- x -->", "<", "](u(v))",
]  # fmt: skip


@settings(max_examples=200)
@given(st.lists(st.sampled_from(INLINE), max_size=16).map("".join))
@example("[a *b* `c`](u) **d** <i>e</i> &amp; \\*")
def test_heading_text_equals_that_of_markdown_it(raw):
    raw = raw.strip()
    # At the edges of a link's text markdown-it sees white space where CommonMark sees the bracket.
    assume(not re.search(r"[*_]\]|\[\W*[*_]", raw) and raw.count("](") < 2)
    assert plain_heading(raw) == oracle_text(raw).strip()


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("Title {#my-id}", "Title"),
        ("Title { #my-id }", "Title"),
        ("Attr {: #other .cls }", "Attr"),
        ("`{#not}`", "{#not}"),
        ("{{< shortcode >}} x", "{{< shortcode >}} x"),
        ("Set {a}", "Set {a}"),
        ("Two  \nline *heading*", "Two line heading"),
        ("[text][ref] and [no][such]", "text and [no][such]"),
        ("[REF] [ref][]", "REF ref"),
        ("snake_case_name __init__", "snake_case_name init"),
        ("![alt *x*](u)", "alt x"),
        ("a\0b", "a\ufffdb"),
    ],
)
def test_plain_heading(raw, text):
    assert plain_heading(raw, {"REF"}) == text


def test_definition_label():
    assert definition_label("  [Foo\n bar]: /u\n") == "FOO BAR"


@pytest.mark.parametrize(
    "raw", ["*a " * 3000, "[" * 9000, "`" * 5 + "`a``" * 2000, "<a " * 3000 + ">", "[a](" * 2000, "_*" * 4000, "<!--" * 2000 + ">"]
)
def test_heading_text_in_linear_time(raw):
    """What backtracks would not come back."""
    assert len(plain_heading(raw[:MAX_HEADING])) <= MAX_HEADING


def test_a_huge_heading_stays_as_it_is():
    raw = "*a* " * MAX_HEADING
    assert plain_heading(raw) == raw.strip()
