"""Lines that end with LF, CRLF or CR."""

from hypothesis import given
from hypothesis import strategies as st

from git_kb.text.lines import lf_only, line_starts, split_lines

TEXT = st.text(alphabet="a \r\n\u2028\x0c\x85", max_size=30)


@given(TEXT)
def test_lines_tile_the_text(text):
    found = list(split_lines(text))
    assert "".join(line for _, line in found) == text
    assert [at for at, _ in found] == (line_starts(text) if text else [])
    for at, line in found:
        assert text.startswith(line, at)
        assert not set(line.removesuffix("\n").removesuffix("\r")) & set("\r\n")


@given(TEXT)
def test_a_line_is_what_lf_alone_ends(text):
    lines = lf_only(text).split("\n")
    assert [lf_only(line).removesuffix("\n") for _, line in split_lines(text)] == (lines if lines[-1] else lines[:-1])


@given(TEXT, st.text(alphabet="ab", max_size=3))
def test_from_an_offset_on(text, before):
    assert [(at - len(before), line) for at, line in split_lines(before + text, len(before))] == list(split_lines(text))
