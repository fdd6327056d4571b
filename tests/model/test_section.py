"""Canonical content and names. Vectors: fixtures/kbid.json, the conformance set of docs/format-section.md."""

import base64
import json
import unicodedata
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_kb.model.section import (
    TRIMMED,
    BadMime,
    DamagedSection,
    EmptyContent,
    NotText,
    Section,
    canonical_text,
    chunk_ids,
    cut_section,
    decode_section,
    encode_section,
    kbid_bytes,
    kbid_of_entry,
    kbid_text,
    make_section,
    normalise_mime,
    section_id,
)

VECTORS = json.loads((Path(__file__).parents[2] / "fixtures" / "kbid.json").read_text())


def vector_content(vector):
    if "content_repeat" in vector:
        text, times = vector["content_repeat"]
        return text.encode() * times
    return base64.b64decode(vector["content_base64"])


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["name"])
def test_vectors(vector):
    content = vector_content(vector)
    if vector.get("expect") == "error":
        with pytest.raises(EmptyContent):
            make_section(vector["mime"], content)
        return
    section = make_section(vector["mime"], content)
    assert len(section.content) == vector["size"]
    assert section.content.decode() == vector.get("canonical", section.content.decode())
    assert section_id(encode_section(section)) == vector["kbid"]


@given(st.text())
def test_canonical_text_is_idempotent(text):
    once = canonical_text(text)
    assert canonical_text(once) == once


@given(st.text())
def test_canonical_text_has_no_cr_and_is_trimmed_and_nfc(text):
    once = canonical_text(text)
    assert "\r" not in once
    assert once == once.strip(TRIMMED)
    once.encode()


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])), st.sampled_from(["\n", "\r\n", "\r"]))
def test_line_ends_and_bom_do_not_change_the_name(text, eol):
    text = text.replace("\r", "")
    assert canonical_text("\ufeff" + text.replace("\n", eol)) == canonical_text(text)


@given(
    st.text(min_size=1).filter(lambda t: canonical_text(t)), st.sampled_from(["text/markdown", "text/x-python", "application/json"])
)
def test_object_round_trip(text, mime):
    section = make_section(mime, text)
    data = encode_section(section)
    kbid = section_id(data)
    assert decode_section(data, kbid) == section
    assert kbid_text(kbid_bytes(kbid)) == kbid
    header, _, content = data.partition(b"\0")
    assert header == f"section {mime} {len(content)}".encode()


@given(st.binary())
def test_any_bytes_decode_or_are_damaged(data):
    try:
        section = decode_section(data, section_id(data))
    except DamagedSection:
        return
    assert isinstance(section, Section)


@pytest.mark.parametrize(
    "data",
    [b"", b"section", b"section text/plain 3\0ab", b"blob text/plain 2\0ab", b"section text/plain x\0ab", b"section  2\0ab\0"],
)
def test_damage_is_named(data):
    with pytest.raises(DamagedSection):
        decode_section(data, "a" * 26)


def test_a_wrong_hash_is_damage():
    data = encode_section(make_section("text/plain", "x"))
    with pytest.raises(DamagedSection, match="its hash is not its name"):
        decode_section(data, "a" * 26)


def test_bytes_that_are_not_utf8_are_refused():
    with pytest.raises(NotText, match="byte 2"):
        make_section("text/plain", b"ab\xff")


@pytest.mark.parametrize("mime", ["", "text", "text/", "/x", "text/a b", "text/é", "a/b/c", "text/x\0"])
def test_bad_mime(mime):
    with pytest.raises(BadMime):
        normalise_mime(mime)


def test_images_keep_their_base64_as_given():
    assert make_section("image/png", " aGk= \n").content == b" aGk= \n"


@given(
    st.lists(
        st.sampled_from(
            [sha256(bytes([i])).hexdigest() for i in range(6)]
            + ["00000000" + "1" * 56, "00000000" + "2" * 56, "000000001" + "3" * 55]
        )
    )
)
def test_chunk_ids_are_unique_and_abbreviate_their_hash(hashes):
    ids = chunk_ids(hashes)
    assert len(set(ids)) == len(ids)
    for h, i in zip(hashes, ids, strict=True):
        digits = i[2:].partition("-")[0]
        assert h.startswith(digits)
        assert len(digits) >= 8


def test_the_trimmed_set_is_white_space_and_controls():
    white = {c for c in map(chr, range(0x110000)) if c.isspace() or unicodedata.category(c) == "Cc"} | {"\ufeff"}
    assert set(TRIMMED) == white


@given(st.text(max_size=30), st.text(max_size=60), st.text(max_size=30))
def test_a_section_cut_from_its_source_is_the_one_of_its_name(before, text, after):
    source = (before + text + after).encode()
    start, end = len(before.encode()), len((before + text).encode())
    try:
        section = make_section("text/plain", text)
    except EmptyContent:
        assert cut_section(source, start, end, "text/plain", "a" * 26) is None
        return
    kbid = section_id(encode_section(section))
    assert cut_section(source, start, end, "text/plain", kbid) == section
    assert cut_section(source, start, end, "text/markdown", kbid) is None
    assert cut_section(b"x" + source, start, end, "text/plain", kbid) in (None, section)


def test_the_kbid_of_an_entry_is_that_of_its_section():
    kbid = section_id(b"some bytes")
    assert kbid_of_entry(kbid_bytes(kbid) + b"8 bytes.") == kbid


def test_an_image_stands_in_a_source_without_the_blanks_around_it():
    source = b"one\n\n\x1e\n\naGl2ZQ==\n\n"
    kbid = section_id(encode_section(make_section("image/png", b"aGl2ZQ==")))
    assert cut_section(source, 5, len(source), "image/png", kbid) == make_section("image/png", b"aGl2ZQ==")
    assert cut_section(source, 0, len(source), "image/png", kbid) is None
    assert cut_section(b"\xff", 0, 1, "image/png", kbid) is None
