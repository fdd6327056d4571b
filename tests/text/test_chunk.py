"""One source in, chunks that tile it out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_kb.model.section import TRIMMED, make_section
from git_kb.text.chunk import MissingExtra, Unusable, chunk_source

PATHS = ["a.md", "a.txt", "a.rst", "a.json", "a.csv", "a.html", "a.lua", "README"]


def check(data, source):
    """Chunks tile the bytes; their text is their range; lines add up; none is blank."""
    assert b"".join(data[c.start : c.end] for c in source.chunks) == data
    line = 1
    encoding = source.encoding or "utf-8"
    errors = "surrogateescape" if encoding == "utf-8" else "surrogatepass" if encoding.startswith("utf") else "strict"
    for chunk in source.chunks:
        part = data[chunk.start : chunk.end]
        assert chunk.line == line
        text = part.decode(encoding, errors if len(part) % 2 == 0 or encoding[:5] != "utf-1" else "replace")
        assert chunk.text == text
        assert chunk.n_lines == text.replace("\r\n", "\n").replace("\r", "\n").count("\n")
        assert chunk.text.strip(TRIMMED)
        make_section(chunk.type or source.type, chunk.text)
        line += chunk.n_lines


texts = st.text(alphabet=st.sampled_from("ab#- \t\n\n\r>`|中é😀\u0301\u2028\x85\x0c"), max_size=300)


def chunked(path, data, **sizes):
    """Return the source, or the reason why there is none."""
    try:
        return chunk_source(path, data, **sizes)
    except Unusable as e:
        return e.reason


@given(texts, st.sampled_from(PATHS), st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32", "gb18030"]), st.integers(8, 80))
def test_any_text_is_tiled(text, path, encoding, target):
    data = text.encode(encoding)
    source = chunked(path, data, target=target, ceiling=2 * target)
    if isinstance(source, str):
        assert not text.strip(TRIMMED) or (encoding == "gb18030" and "UTF-8" in source)
    else:
        check(data, source)


@given(st.binary(max_size=200), st.sampled_from(PATHS))
def test_any_bytes_are_tiled_or_refused(data, path):
    source = chunked(path, data, target=40, ceiling=60)
    if not isinstance(source, str):
        check(data, source)


@pytest.mark.parametrize(
    ("path", "data", "reason"),
    [
        ("a.md", b"", "it is empty"),
        ("a.md", b"\xef\xbb\xbf", "it is empty"),
        ("a.md", " \n\t\u3000\x00".encode(), "it is empty"),
        ("a.pdf", b"%PDF-1.4", "PDF: it needs converting to text first"),
        ("a.ipynb", b"{}", "Jupyter notebook: it needs converting to text first"),
        ("a.png", b"\x89PNG\r\n\x1a\n", "it is binary (image/png)"),
        ("a.md", b"\0\1\2\3" * 99, "it is binary"),
        ("a", b"ab\0\0\0\0\1\2", "it is binary (application/octet-stream)"),
        (
            "a.md",
            b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 1\n",
            "it is a Git LFS pointer, not the content",
        ),
        ("a.md", "Это русский текст".encode("cp1251"), "15 of 17 bytes are no UTF-8, and no other encoding is certain"),
    ],
)
def test_unusable(path, data, reason):
    with pytest.raises(Unusable) as e:
        chunk_source(path, data)
    assert e.value.reason == reason
    assert str(e.value) == f"cannot use '{path}': {reason}"


def test_a_document():
    data = "---\ntitle: Guide\ntags: [b, a]\nowner: me\n---\r\n\nIntro é\n# A\n## B\n".encode()
    source = chunk_source("docs/a.md", data)
    assert (source.type, source.title, source.tags, source.metadata) == ("text/markdown", "Guide", ("a", "b"), (("owner", "me"),))
    assert [(c.start, c.end, c.line, c.n_lines, c.heading, c.role, c.type) for c in source.chunks] == [
        (0, 46, 1, 6, (), "front-matter", "application/yaml"),
        (46, 55, 7, 1, (), "", ""),
        (55, 59, 8, 1, ("A",), "", ""),
        (59, 64, 9, 1, ("A", "B"), "", ""),
    ]


def test_encoding_is_named_when_it_is_not_utf8():
    assert chunk_source("a.md", "# é".encode()).encoding == ""
    source = chunk_source("a.md", "# Größe\n\n# B\n".encode("latin-1"))
    assert (source.encoding, source.chunks[1].start) == ("cp1252", 9)
    assert source.warnings
    assert chunk_source("a.md", "# é".encode("utf-16")).encoding == "utf-16-le"


def test_a_nul_in_a_page_of_text_is_a_warning():
    source = chunk_source("a.md", b"# Alpha\n\nbefore\0after\n")
    assert source.warnings == ("has 1 NUL character",)


def test_the_given_type_counts():
    assert [c.heading for c in chunk_source("a.txt", b"# A\n", type="text/markdown").chunks] == [("A",)]
    assert chunk_source("a.md", b"# A\n", type="text/plain").chunks[0].heading == ()


def test_titles_are_one_line_of_bounded_length():
    source = chunk_source("a.md", b"# " + b"word " * 1000)
    assert len(source.title) <= 300
    assert source.title.endswith("word")


def test_a_missing_extra_is_no_reason_to_cut_otherwise(no_grammars):
    with pytest.raises(MissingExtra) as e:
        chunk_source("a.py", b"x = 1\n")
    assert (e.value.extra, e.value.hint) == ("code", "pip install 'git-kb[code]'")
    assert "tree-sitter-python" in e.value.reason


def test_other_languages_are_cut_at_line_ends():
    data = b"local x = 1\n" * 1000
    chunks = chunk_source("a.lua", data).chunks
    assert all(c.text.endswith("\n") for c in chunks)
    assert max(c.end - c.start for c in chunks) <= 8000
