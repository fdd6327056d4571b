"""Text from sources is made safe to print."""

import os
import subprocess

from hypothesis import example, given
from hypothesis import strategies as st

from git_kb.output.terminal import quote_path, visible, visible_line

HARMFUL = {
    *map(chr, range(0x20)),
    "\x7f",
    *map(chr, range(0x80, 0xA0)),
    "\u202e",
    "\u2066",
    "\u2028",
    "\u2029",
    "\ufeff",
    "\U000e0041",
} - {"\t", "\n"}


@given(st.text())
@example("\x1b[2J\x9b\x07\u202e\U000e0041\r")
def test_nothing_harmful_is_left(text):
    shown = visible(text)
    assert not set(shown) & HARMFUL
    assert visible(shown) == shown
    line = visible_line(text)
    assert not set(line) & (HARMFUL | {"\n", "\t"})


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S", "Zs"])))
def test_ordinary_text_is_left_as_it_is(text):
    assert visible(text) == visible_line(text) == text


def test_examples():
    assert visible("a\tb\nc") == "a\tb\nc"
    assert visible_line("a\tb\nc") == "a\\tb\\nc"
    assert visible("\x1b[31mred") == "\\x1b[31mred"
    assert visible("ab\u202ecd") == "abcd"


def test_paths_are_quoted_as_git_quotes_them(tmp_path):
    names = [b"plain.md", b"sp ace", b"new\nline", b'quo"te', b"back\\slash", b"tab\t", b"\xff\xfe", "é✓".encode(), b"\x01\x7f"]
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    for name in names:
        with open(os.path.join(bytes(tmp_path), name), "wb"):
            pass
    done = subprocess.run(["git", "ls-files", "--others"], cwd=tmp_path, capture_output=True, check=True)
    assert sorted(done.stdout.decode().splitlines()) == sorted(quote_path(n) for n in names)


def test_letters_stay_in_a_quoted_path_where_git_would_leave_them():
    assert quote_path('wä"x\x01\u202e'.encode() + b"\xff", quote_all=False) == '"wä\\"x\\001\\342\\200\\256\\377"'
    assert quote_path('wä"x'.encode()) == '"w\\303\\244\\"x"'
