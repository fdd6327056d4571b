"""Blocks agree with markdown-it-py, and scanning takes linear time."""

import re
from itertools import pairwise

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from git_kb.text.blocks import Block, list_items, scan_blocks
from git_kb.text.lines import line_starts

# Limits of nesting are no rule of CommonMark.
ORACLE = MarkdownIt("commonmark", {"inline_definitions": True, "maxNesting": 10_000}).enable("table")
ORACLE_BLOCKS = MarkdownIt("commonmark", {"inline_definitions": True, "maxNesting": 10_000}).enable("table")
ORACLE_BLOCKS.core.ruler.enableOnly(["normalize", "block"])
KINDS = {
    "heading_open": "heading",
    "paragraph_open": "paragraph",
    "fence": "fence",
    "code_block": "code",
    "html_block": "html",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "blockquote_open": "quote",
    "table_open": "table",
    "hr": "rule",
    "definition": "definition",
}


def oracle(text):
    """(kind, first line, end line, level, heading text) by markdown-it-py; blank lines at the end of a list or quote left out."""
    lines = re.sub(r"\r\n?", "\n", text).split("\n")
    tokens = ORACLE_BLOCKS.parse(text)
    found = []
    for i, token in enumerate(tokens):
        if token.level or token.type not in KINDS:
            continue
        start, end = token.map
        kind = KINDS[token.type]
        while kind in ("list", "quote") and end > start and not lines[end - 1].strip(" \t"):
            end -= 1
        level, content = (int(token.tag[1]), tokens[i + 1].content) if kind == "heading" else (0, "")
        found.append((kind, start, end, level, content))
    return found


def ours(text):
    return [(b.kind, b.line, b.end_line, b.level, b.text if b.kind == "heading" else "") for b in scan_blocks(text)]


def miscounted(text):
    """Whether a line has a tab after its second `>`: markdown-it-py counts columns from the second quote only."""
    return any(re.search(r">.*>.*\t", line) for line in re.split(r"[\r\n]", text))


PREFIXES = [
    "",
    " ",
    "   ",
    "    ",
    "\t",
    "  \t",
    "> ",
    ">",
    ">\t",
    "    > ",
    "- ",
    "-\t",
    "* ",
    "1. ",
    "2. ",
    "1) ",
    "123456789. ",
    "-     ",
    "- - ",
]
BODIES = [
    "text", "a b", "---", "--", "-", "===", "=", "***", "* * *", "# h", "## h ##", "#", "#\tx #", "####### no", "#no",
    "```", "````", "```py", "``` a`b", "~~~", "~~~~ x`", "<div>", "</div>", "<!-- c", "-->", "<?php", "?>", "<!DOCTYPE x>",
    "<![CDATA[", "]]>", "<script>", "</script>x", "<pre", "<b>", "<a href='x'>", "<b", "</b >", "<img src=x/>t", "[a]: /u",
    "[a]: /u 't'", "'t'", '"t', 't"', "(t", "t)", "[a]:", "[a", "b]: /u", '[a]: <u> "t" x', '[a]: <u>"t"', '""',
    "[a]: javascript:x", "[]: /u", "[a]: /u ''x", "[a]:\\", "a\\", "| a | b |", "a | b", "|---|---|", "--|--", "| - |",
    ":-:|--", "|a|", "a \\| b | c", "|:--", "- a | b", "+", "1.", "01. x", "10) y", "", "\x0c", "\u2028x", "\0", "x\0",
    "\u3000",
]  # fmt: skip
line = st.tuples(
    st.lists(st.sampled_from(PREFIXES), max_size=3).map("".join), st.sampled_from(BODIES), st.sampled_from(["", "", " ", "\t"])
)
documents = st.lists(st.tuples(line.map("".join), st.sampled_from(["\n", "\n", "\n", "\r\n", "\r"])).map("".join), max_size=10).map(
    "".join
)


@settings(max_examples=250)
@given(documents, st.booleans())
@example("- a\n\n  b\nc\n", True)
@example("> [a]: /u\nlazy", True)
@example("> > a\n      # b", True)
@example("1234567. a\n     # b", True)
@example("1234567. a\n     - b", True)
@example("- foo\na | b\n  --|--", True)
@example("- [a]: /u\n't'\nx", True)
@example("-\n\n\n- b", True)
@example("a|\n--\n\x0c", True)
def test_blocks_equal_those_of_markdown_it(text, keep_last_line_end):
    text = text if keep_last_line_end else text.rstrip("\r\n")
    assume(not miscounted(text))
    assert ours(text) == oracle(text)


@given(documents)
def test_offsets_are_those_of_the_lines(text):
    starts = [*line_starts(text), len(text)]
    end = 0
    for block in scan_blocks(text):
        assert block.start == starts[block.line] >= end
        assert block.end == starts[block.end_line] > block.start
        end = block.end


@given(documents, st.text(max_size=5))
def test_scanning_from_an_offset_is_scanning_the_rest(text, before):
    shifted = [b._replace(start=b.start - len(before), end=b.end - len(before)) for b in scan_blocks(before + text, len(before))]
    assert shifted == scan_blocks(text)


@pytest.mark.parametrize("n", [1, 20, 31, 32, 33, 100, 400])
@pytest.mark.parametrize(
    "end", ["", "> # h\nx\n", "  ===\ny\n", "[a]: /u\nx\n", "> b\nc\n", "  a | b\n  --|--\nc\n", "\nx\n", "- b\nc\n"]
)
@pytest.mark.parametrize("start", ["> a\n", "- a\n", "> - a\n", "- > [a]: /u 'x\n"])
def test_long_runs_of_lazy_lines(start, n, end):
    text = start + "lazy\n" * n + end
    assert ours(text) == oracle(text)


def test_a_tab_in_a_nested_quote_goes_to_the_next_multiple_of_four_columns():
    # The tab stands in column 4 and reaches column 8: code, which no lazy line continues.
    assert [b.kind for b in scan_blocks(">>- \tx\nlazy")] == ["quote", "paragraph"]


def test_only_lf_crlf_and_cr_end_lines():
    text = "a\x0bb\x0cc\x85d\u2028e\u2029f\n# h\r## i\r\n### j"
    assert [(b.kind, b.line, b.level) for b in scan_blocks(text)] == [
        ("paragraph", 0, 0),
        ("heading", 1, 1),
        ("heading", 2, 2),
        ("heading", 3, 3),
    ]


def test_block_fields():
    assert scan_blocks("# A #\n\n```py x\ny\n```\n") == [
        Block("heading", 0, 1, 0, 6, 1, "A"),
        Block("fence", 2, 5, 7, 21, 0, "py x"),
    ]


def test_list_items_are_where_the_markers_are():
    text = "x\n\n- a\r\n  b\r\n\r\n- c\n   - d\n- e\n"
    block = scan_blocks(text)[1]
    assert [text[i:][:3] for i in list_items(text, block)] == ["- a", "- c", "- e"]


@pytest.mark.parametrize(
    "text",
    [
        ">" * 5000 + " x\n" + "lazy\n" * 5000,
        "- " * 5000 + "x\n" + "lazy\n" * 5000,
        "".join(" " * 2 * i + "- x\n" for i in range(400)) + "lazy\n\nend",
        "> # h\nx\n" * 5_000,
        "- # h\nx\n" * 5_000,
        "> [a]: b\nx\n" * 5_000,
        "[a]: b\n(x\n" * 20_000,
        "[a\n" * 20_000,
        "<a " + "b " * 100_000,
        "`" * 100_000 + "\n" + "text\n" * 1000,
        "| a " * 20_000 + "|\n" + "|---" * 20_000 + "|\n" + "| b\n" * 10_000,
        "x" * 190_000,
        "* " * 100_000,
        "\n" * 200_000,
        "1234567. a\n     b\n" * 5_000,
        "> > a\nb\n" * 5_000,
        ">" * 9 + " a\n" + "b\n" * 100_000,
        "> > # h\n> x\n" * 4_000 + "y\n",
    ],
    ids=range(18),
)
def test_linear_time(text):
    """Ten times the size of what takes milliseconds; quadratic scanning would take minutes, which is how it would show."""
    blocks = scan_blocks(text)
    assert all(a.end <= b.start for a, b in pairwise(blocks))
