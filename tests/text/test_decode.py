"""Encodings: what is read, what is guessed, what is refused, and byte offsets."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_kb.text.decode import UndecodableText, decode_source, is_binary

CHINESE = "标题\n\n这是中文文本，我们在这里说一些话。"
JAPANESE = "見出し\n\nこれは日本語のテキストです。"
GERMAN = "Größe und Maß – „naïve“ café, 20 °C, 5 €, it’s"


def decoded_or_none(data):
    try:
        return decode_source(data)
    except UndecodableText:
        return None


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_boms(encoding):
    decoded = decode_source("\ufeff# A 😀\n".encode(encoding))
    assert (decoded.text, decoded.encoding, decoded.warnings) == ("\ufeff# A 😀\n", encoding, ())


@pytest.mark.parametrize(
    ("text", "encoding", "name"),
    [
        (CHINESE, "gb18030", "gb18030"),
        (JAPANESE, "shift_jis", "cp932"),
        (GERMAN, "cp1252", "cp1252"),
        ("Grüße aus Köln, señor", "latin-1", "cp1252"),
        ("plain words in UTF-16 without a mark", "utf-16-le", "utf-16-le"),
        ("plain words in UTF-16 without a mark", "utf-16-be", "utf-16-be"),
    ],
)
def test_shown_encodings(text, encoding, name):
    decoded = decode_source(text.encode(encoding))
    assert (decoded.text, decoded.encoding) == (text, name)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Привет, как дела? Это текст", "cp1251"),
        ("안녕하세요 이것은 한국어 텍스트입니다", "euc_kr"),
        ("これは日本語のテキストです。見出し", "euc_jp"),
        ("這是中文文本，標題在這裡", "big5"),
        ("Zażółć gęślą jaźń i inne", "cp1250"),
        ("Łódź jest ładnym miastem", "iso8859-2"),
        ("Bu bir Türkçe metindir: ığdır şişe", "cp1254"),
        ("Un texte français où l'été", "mac_roman"),
        ("Αυτό είναι ελληνικό", "cp1253"),
    ],
)
def test_other_encodings_never_become_wrong_letters(text, encoding):
    """They are refused, or their bytes stay marked as undecodable; with a declaration they are read."""
    data = text.encode(encoding)
    decoded = decoded_or_none(data)
    if decoded:
        assert decoded.encoding == "utf-8"
        assert any("\udc80" <= c <= "\udcff" for c in decoded.text)
        assert "not UTF-8" in decoded.warnings[0]
    declared = b"# -*- coding: %s -*-\n" % encoding.encode() + data
    assert decode_source(declared).text.endswith(text)


def test_bad_bytes_are_counted_and_kept():
    decoded = decode_source("naïve é ü".encode() + b" \xff\xfe!")
    assert decoded.text == "naïve é ü \udcff\udcfe!"
    assert decoded.warnings == ("has 2 bytes that are not UTF-8",)
    assert decoded.byte_offsets([3, 10, 13]) == [4, 13, 16]


@pytest.mark.parametrize("data", [b"caf\xc3", b"x \xe6\xb1", b"bad \xed\xa0\x80 pair"])
def test_broken_utf8_is_not_taken_for_something_else(data):
    assert decode_source(data).encoding == "utf-8"


def test_bytes_in_no_known_encoding_are_refused():
    with pytest.raises(UndecodableText, match="15 of 17 bytes are no UTF-8, and no other encoding is certain"):
        decode_source("Это русский текст".encode("cp1251"))


def test_odd_utf16():
    decoded = decode_source(codecs.BOM_UTF16_LE + "ab".encode("utf-16-le") + b"c")
    assert decoded.text == "\ufeffab\ufffd"
    assert decoded.byte_offsets([1, 3, 4]) == [2, 6, 7]
    assert decoded.warnings


def test_damaged_utf32_is_refused():
    with pytest.raises(UndecodableText, match="UTF-32"):
        decode_source(codecs.BOM_UTF32_LE + b"\xff\xff\xff\xff")


def test_is_binary_is_gits_rule():
    assert is_binary(b"a\0b")
    assert is_binary(b"a" * 7999 + b"\0")
    assert not is_binary(b"a" * 8000 + b"\0")
    assert not is_binary("\ufeffab".encode("utf-16-le"))
    assert not is_binary("\ufeffab".encode("utf-32-le"))


@given(
    st.binary(max_size=200)
    | st.text(max_size=60).flatmap(
        lambda t: st.sampled_from(["utf-8", "utf-16", "utf-32", "gb18030"]).map(lambda e: t.encode(e, "replace"))
    )
)
def test_any_bytes_decode_exactly_or_are_refused(data):
    decoded = decoded_or_none(data)
    if decoded is None:
        return
    offsets = decoded.byte_offsets(range(len(decoded.text) + 1))
    assert offsets[0] == 0
    assert offsets[-1] == len(data)
    assert offsets == sorted(offsets)
    errors = (
        "surrogateescape" if decoded.encoding == "utf-8" else "surrogatepass" if decoded.encoding.startswith("utf") else "strict"
    )
    for i, char in enumerate(decoded.text):
        part = data[offsets[i] : offsets[i + 1]]
        if decoded.encoding == "utf-8" and "\udc80" <= char <= "\udcff":
            assert part == bytes([ord(char) - 0xDC00])
        elif char != "\ufffd":
            assert part.decode(decoded.encoding, errors) == char
