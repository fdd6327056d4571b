"""Markdown: sections at headings, parts of long ones, front matter, titles."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from git_kb.text.markdown import cut_markdown
from git_kb.text.plain import Limits, is_blank, n_utf8

ORACLE = MarkdownIt("commonmark", {"maxNesting": 10_000}).enable("table")


def cut(text, target=4000, ceiling=8000):
    return cut_markdown(text, Limits(target, ceiling))


def rows(text, **sizes):
    return [(text[p.start : p.end], p.heading) for p in cut(text, **sizes).pieces]


def test_a_section_opens_at_each_top_level_heading():
    text = "pre\n\n# A\n\na\n\nB\nb\n===\n## C\n> # no\n\n- # no\n\n```\n# no\n```\n#### D\n# E\n"
    assert rows(text) == [
        ("pre\n\n", ()),
        ("# A\n\na\n\n", ("A",)),
        ("B\nb\n===\n", ("B b",)),
        ("## C\n> # no\n\n- # no\n\n```\n# no\n```\n", ("B b", "C")),
        ("#### D\n", ("B b", "C", "D")),
        ("# E\n", ("E",)),
    ]


def test_skipped_levels():
    assert [h for _, h in rows("# One\n###### Six\n### Three\n## Two\n")] == [
        ("One",),
        ("One", "Six"),
        ("One", "Three"),
        ("One", "Two"),
    ]


def test_front_matter_is_a_piece_of_its_own():
    text = "\ufeff---\ntitle: T\ntags: [b, a]\nx: y\n---\n\n\npre\n# H\n"
    result = cut(text)
    assert [(text[p.start : p.end], p.role, p.type) for p in result.pieces] == [
        ("\ufeff---\ntitle: T\ntags: [b, a]\nx: y\n---\n\n\n", "front-matter", "application/yaml"),
        ("pre\n", "", ""),
        ("# H\n", "", ""),
    ]
    assert (result.title, result.tags, result.metadata) == ("T", ("a", "b"), (("x", "y"),))


@pytest.mark.parametrize(
    ("text", "title"), [("x\n\n## *B*\n# A\n", "B"), ("---\ntags: x\n---\n# A\n", "A"), ("#\n# A\n", "A"), ("text\n", "")]
)
def test_title_is_the_front_matters_or_the_first_heading(text, title):
    assert cut(text).title == title


def test_reference_links_in_headings():
    assert rows("# a [b][c] [d]\n\n[c]: /u\n")[0][1] == ("a b [d]",)


def test_leading_blanks_and_bom_belong_to_the_first_piece():
    assert rows("\ufeff\n\n# A\n") == [("\ufeff\n\n# A\n", ("A",))]
    assert rows(" \n\u3000\n\n# A\n\n \n# B\n") == [(" \n\u3000\n\n# A\n\n \n", ("A",)), ("# B\n", ("B",))]


def test_long_sections_are_cut_between_blocks():
    text = "# A\n\n" + "".join(f"```\n# {i}\n\n{'x' * 40}\n```\n\n" for i in range(10))
    parts = cut(text, target=100, ceiling=200).pieces
    assert [p.part for p in parts] == list(range(1, len(parts) + 1))
    assert all(p.heading == ("A",) and text[p.start : p.end].count("```") % 2 == 0 for p in parts)
    assert all(100 <= n_utf8(text, p.start, p.end) <= 200 for p in parts[:-1])


def test_a_long_list_is_cut_between_items_and_a_long_table_between_rows():
    items = "# A\n" + "".join(f"- item {i}\n\n  more\n" for i in range(40))
    assert all(t.startswith(("# A", "- item")) for t, _ in rows(items, target=100, ceiling=200))
    table = "| a | b |\n|---|---|\n" + "| cell | cell |\n" * 60
    assert all(t.startswith("| ") and t.endswith("|\n") for t, _ in rows(table, target=100, ceiling=200))


def test_a_short_section_is_never_joined_with_the_next():
    assert len(rows("# A\n# B\n# C\n")) == 3


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("# T\n\n$$\n# no\na\n$$\n\n## H\n", ["T", "H"]),
        ("# T\n\n$$\n\n# yes\n\n$$\n", ["T", "yes"]),
        ("# T\n\n$$\n# yes\n\ntext\n", ["T", "yes"]),
        ("$$ a $$\n# yes\n$$ b $$\n", ["yes"]),
        ("```\n$$\n```\n# yes\n$$\n", ["yes"]),
        ("$$\na\n$$\n# yes\n$$\n# no\n$$\n", ["yes"]),
    ],
)
def test_a_hash_in_display_math_is_no_heading(text, headings):
    assert [h[-1] for _, h in rows(text) if h] == headings


LINES = ["# a\n", "## b\n", "text\n", "t\r\n", "\n", " \n", "===\n", "---\n", "- x\n", "  y\n", "> q\n", "```\n", "| a | b |\n", "|---|---|\n", "$$\n", "\u3000\n", "title: x\n", "\ufeff", "é\r"]  # fmt: skip


@given(st.lists(st.sampled_from(LINES), max_size=30).map("".join), st.integers(4, 60), st.integers(0, 60))
def test_pieces_tile(text, target, more):
    pieces = cut(text, target=target, ceiling=target + more).pieces
    assert "".join(text[p.start : p.end] for p in pieces) == text
    assert pieces == sorted(pieces)
    if not is_blank(text, 0, len(text)):
        assert not any(is_blank(text, p.start, p.end) for p in pieces)


@given(
    st.lists(st.sampled_from([line for line in LINES if line not in ("$$\n", "title: x\n", "\ufeff")]), max_size=20).map("".join)
)
def test_headings_are_those_of_markdown_it(text):
    tokens = ORACLE.parse(text)
    front = cut(text).pieces[:1]
    if front and front[0].role:
        return
    want = [t.map[0] for t in tokens if t.type == "heading_open" and not t.level]
    ends = text.replace("\r\n", "\n").replace("\r", "\n")
    got = [p for p in cut(text).pieces if p.heading and p.part == 1]
    assert len(got) == len(want)
    for piece, line in list(zip(got, want, strict=True))[1:]:
        before = text[: piece.start].replace("\r\n", "\n").replace("\r", "\n")
        assert before.count("\n") == line <= ends.count("\n")
