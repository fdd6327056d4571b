"""Hits as text: paths relative to where we stand, highlights."""

import pytest

from git_kb.output.hits import shown_source


@pytest.mark.parametrize(
    ("source", "prefix", "shown"),
    [
        ("a.md", b"", "a.md"),
        ("docs/a.md", b"docs/", "a.md"),
        ("a.md", b"docs/", "../a.md"),
        ("src/a.md", b"docs/", "../src/a.md"),
        ("docs/x/a.md", b"docs/y/", "../x/a.md"),
        ("docs/a.md", b"docs/x/y/", "../../a.md"),
        ("docsx/a.md", b"docs/", "../docsx/a.md"),
        ("docs", b"docs/", "../docs"),
        ("https://example.com/docs/a", b"docs/", "https://example.com/docs/a"),
        ("a\nb.md", b"", "a\\nb.md"),
        ("a\x1bb.md", b"d/", "../a\\x1bb.md"),
    ],
)
def test_sources_are_shown_from_where_we_stand(source, prefix, shown):
    assert shown_source(source, prefix) == shown
