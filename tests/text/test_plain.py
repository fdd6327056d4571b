"""Cutting by size."""

from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from git_kb.text import plain
from git_kb.text.plain import (
    FINER,
    Limits,
    Piece,
    cut_lines,
    cut_plain,
    is_blank,
    n_utf8,
    paragraphs,
    parts_of,
    without_blank_pieces,
)

texts = st.text(alphabet=st.sampled_from("ab \t\n\n\r\u0301\u200d\U0001f468\U0001f1e9é中。\u3000\x00\ud83d\udcff"), max_size=400)
limits = st.tuples(st.integers(4, 40), st.integers(16, 80)).map(lambda t: Limits(min(t), max(t)))


def check(text, pieces, limits):
    """Pieces tile the text, none is blank unless all is, and none is over the ceiling, its blank ends aside."""
    assert "".join(text[p.start : p.end] for p in pieces) == text
    assert all(a.end == b.start for a, b in pairwise(pieces))
    if not is_blank(text, 0, len(text)):
        assert not any(is_blank(text, p.start, p.end) for p in pieces)


@given(texts, limits)
@example("a\n\n\n\nb", Limits(1, 1))
@example("\u3000\n\n\na\n" * 20, Limits(10, 20))
def test_pieces_tile(text, limits):
    for cut in (cut_plain, cut_lines):
        pieces = cut(text, limits).pieces
        check(text, pieces, limits)
        assert [p.part for p in pieces] == list(range(1, len(pieces) + 1))


@given(st.text(alphabet="ab \n", min_size=1, max_size=600), limits)
def test_ceiling(text, limits):
    """250 characters are the finest step, so a ceiling of that much holds for text of any shape."""
    limits = Limits(limits.target + 250, limits.ceiling + 250)
    for piece in cut_plain(text, limits).pieces:
        assert n_utf8(text, 0, len(text[piece.start : piece.end].strip())) <= limits.ceiling


def test_paragraphs_are_packed_until_the_target():
    text = "".join(f"paragraph {i}\n\n" for i in range(10))
    pieces = cut_plain(text, Limits(30, 60)).pieces
    assert [text[p.start : p.end].count("paragraph") for p in pieces] == [3, 3, 3, 1]


def test_a_short_text_is_one_piece():
    assert cut_plain("a\n\nb", Limits()).pieces == [Piece(0, 4)]


def test_lines_then_words_then_characters():
    limits = Limits(300, 600)
    long_line = "word " * 400
    assert all(text.endswith((" ", "word")) for text in _texts(cut_plain(long_line.strip(), limits), long_line))
    wide = "字" * 3000
    assert all(len(text.encode()) <= 750 for text in _texts(cut_plain(wide, Limits(300, 750)), wide))
    sentences = "这是一句话。" * 300
    assert all(text.endswith("。") for text in _texts(cut_plain(sentences, limits), sentences))


def _texts(cut, text):
    return [text[p.start : p.end] for p in cut.pieces]


def test_no_cut_inside_what_readers_see_as_one_character():
    for cluster in (
        "e\u0301\u0302",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\U0001f1e9\U0001f1ea",
        "\u1112\u1161\u11ab",
        "☝\ufe0f",
        "👍🏽",
    ):
        text = cluster * 1000
        pieces = cut_plain(text, Limits(1000, 2000)).pieces
        assert len(pieces) > 1
        for piece in pieces[1:]:
            assert piece.start % len(cluster) == 0 or cluster == "\U0001f1e9\U0001f1ea"


def test_no_cut_inside_crlf():
    text = "\r\n" * 1000
    assert not any(text[p.start - 1 : p.start + 1] == "\r\n" for p in parts_of("x" + text, 0, 2001, FINER, Limits(100, 200))[1:])


def test_a_section_below_the_ceiling_stays_whole():
    text = "line\n" * 100
    assert parts_of(text, 0, 500, FINER, Limits(100, 500), ("H",)) == [Piece(0, 500, ("H",))]
    parts = parts_of(text, 0, 500, FINER, Limits(100, 499), ("H",))
    assert [(p.end - p.start, p.part, p.heading) for p in parts] == [(100, i, ("H",)) for i in range(1, 6)]


def test_blank_pieces_go_to_the_one_before_and_at_the_start_to_the_one_after():
    text = " \na\n\nb \n"
    pieces = [Piece(0, 2), Piece(2, 4, ("A",)), Piece(4, 5, ("B",)), Piece(5, 8, ("C",))]
    assert without_blank_pieces(text, pieces) == [Piece(0, 5, ("A",)), Piece(5, 8, ("C",))]


ascii_texts = st.text(alphabet=st.sampled_from("ab \t\n\n\r."), max_size=400) | st.lists(
    st.sampled_from(["a ", "word ", "\n\n", "\n", " " * 30, "z" * 300, "\r\n"]), max_size=60
).map("".join)


@given(ascii_texts, limits)
@example("z" * 900, Limits(100, 200))
@example("a " * 100 + "z" * 700 + " a" * 100, Limits(40, 80))
@example("ab\n\ncd", Limits(2, 2))
def test_the_short_way_through_ascii_gives_the_same_parts(text, limits):
    levels = (paragraphs, *FINER)
    assert list(plain._pack_ascii(text, 0, len(text), levels, limits)) == list(plain._pack_any(text, 0, len(text), levels, limits))


def test_a_long_blank_stretch_is_looked_at_once(monkeypatch):
    """A piece that takes in blank ones is not looked at again from its beginning each time."""
    seen = []
    monkeypatch.setattr(plain, "is_blank", lambda text, a, b: seen.append(b - a) or is_blank(text, a, b))
    for text in ("a" + " " * 100_000 + "b", " " * 100_000 + "b", "a" + " " * 100_000):
        seen.clear()
        assert len(cut_plain(text, Limits(400, 800)).pieces) <= 2
        assert sum(seen) <= 2 * len(text)
