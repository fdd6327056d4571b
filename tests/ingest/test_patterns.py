import pytest

from git_kb.ingest.patterns import compile_patterns


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("**/*.md", ["a.md", "x/a.md", "x/y/.md", "x/new\nline.md"], ["a.mdx", "md", "a.md/x"]),
        ("**/*.md", ["a.MD", "x/README.Md"], []),
        ("*.md", ["a.md"], ["x/a.md"]),
        ("kb/**", ["kb/a", "kb/x/y"], ["kb", "akb/x"]),
        ("docs/**/x.md", ["docs/x.md", "docs/a/b/x.md"], ["docsx.md", "x.md"]),
        ("a?.txt", ["ab.txt"], ["a/.txt", "a.txt"]),
        ("[ab].md", ["a.md", "b.md"], ["c.md", "ab.md"]),
        ("[!a].md", ["b.md"], ["a.md"]),
        ("**/[.md", ["[.md", "x/[.md"], ["x.md"]),
        ("a+(b).md", ["a+(b).md"], ["aab.md"]),
    ],
)
def test_patterns(pattern, yes, no):
    match = compile_patterns([pattern])
    assert [p for p in yes if not match(p)] == []
    assert [p for p in no if match(p)] == []


def test_no_pattern_matches_nothing():
    assert not compile_patterns([])("a.md")
