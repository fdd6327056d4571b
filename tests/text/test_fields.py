"""Which text of an entry goes into which field."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_kb.text.fields import fields, split_code, without_heading


@pytest.mark.parametrize(
    ("mime", "content", "expected"),
    [
        ("text/markdown", "# T\n\nbody", ("T", "\nbody", "")),
        ("text/markdown", "T\n===\nbody", ("T", "body", "")),
        ("text/markdown", "a\n```py\nx = 1\n```\nb", ("T", "a\nb", "x = 1\n")),
        ("text/markdown", "a\n````\n```\nx\n```\n````\nb", ("T", "a\nb", "```\nx\n```\n")),
        ("text/markdown", "a\n~~~\nx", ("T", "a\n", "x")),
        ("text/x-python", "x = 1", ("T", "", "x = 1")),
        ("application/json", "{}", ("T", "", "{}")),
        ("text/plain", "words", ("T", "words", "")),
        ("image/png", "iVBORw0KGgo=", ("T", "", "")),
    ],
)
def test_fields(mime, content, expected):
    assert fields(mime, content, "T") == expected


@given(st.text(alphabet="`~a \n>"))
def test_no_letter_is_lost_or_doubled(content):
    """Only fence lines, which hold marks and an info string, may go."""
    body, code = split_code(content)
    fences = sum(line.lstrip(" \t>").startswith(("```", "~~~")) for line in content.split("\n"))
    kept = body.count("a") + code.count("a")
    assert kept <= content.count("a")
    if not fences:
        assert (body, code) == (content, "")


def test_a_long_text_without_underline_takes_no_time():
    """An expression that tries every way to split lines would not end."""
    assert without_heading("word word\n" * 20_000).startswith("word")
    assert without_heading("x\n\n" * 20_000).startswith("x")
