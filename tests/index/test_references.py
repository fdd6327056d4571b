"""Files of references: what is put in comes out, keys find it, and no bytes do harm."""

import hashlib
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_kb.errors import NewerFormat
from git_kb.index import references as module
from git_kb.index.pagefile import DamagedSegment, OtherFeature
from git_kb.index.references import (
    DIRECTORY,
    ReferenceFile,
    References,
    decode_references,
    encode_file,
    encode_references,
    is_reference_name,
    keys_of,
    keys_of_document,
    merge_files,
    open_files,
    section_records,
    stem,
    write_references,
)
from git_kb.model.reference import MARKDOWN, WIKI, Reference
from git_kb.model.section import make_section
from git_kb.text.links import find_references

texts = st.text(st.sampled_from("ab[]()<>!`$:#.|/ \n\t\\é蜂") | st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60)


def kbid(text):
    return hashlib.sha256(text.encode()).digest()[:16]


@given(texts)
def test_records_read_back(text):
    found = find_references("text/markdown", text)
    assert decode_references(encode_references(found)) == found


@given(st.lists(texts, unique=True, max_size=8))
def test_a_file_reads_back_and_its_keys_find_what_they_should(contents):
    records = {kbid(c): encode_references(find_references("text/markdown", c)) for c in contents}
    file = ReferenceFile("x", "", encode_file(records))
    assert file.kbids() == sorted(records)
    assert dict(file.all_records()) == records
    keys = {key for c in contents for r in find_references("text/markdown", c) for key in keys_of(r)}
    for key in keys:
        expected = {kbid(c) for c in contents if any(key in keys_of(r) for r in find_references("text/markdown", c))}
        assert set(file.sections_with(key)) == expected
    assert file.sections_with("/no such key") == []
    assert file.records(b"\0" * 16) is None
    file.close()


@given(st.dictionaries(st.sampled_from([kbid(str(n)) for n in range(5)]), st.just(b"markdown 0 9 0 a.md")), st.data())
def test_changed_bytes_are_found_out(records, data):
    whole = bytearray(encode_file(records))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    try:
        file = ReferenceFile("x", "", whole)
        found = dict(file.all_records())
        file.sections_with("/a")
    except (DamagedSegment, OtherFeature, NewerFormat):
        return
    # The change lies in the padding of a page that nothing reads.
    assert found == records


@given(st.binary(max_size=5000))
def test_any_bytes_are_a_file_or_damaged(data):
    with pytest.raises((DamagedSegment, OtherFeature, NewerFormat)):
        ReferenceFile("x", "", data.ljust(4096, b"\0"))


@given(st.binary(max_size=60))
def test_records_that_make_no_sense_are_damage(records):
    """A sound file may hold what another program wrote."""
    try:
        decode_references(records)
    except ValueError:
        file = ReferenceFile("x", "", _file_of(kbid("a"), records))
        with pytest.raises(DamagedSegment):
            file.references(kbid("a"))


def _file_of(one, records):
    from git_kb.index.pagefile import encode_pagefile
    from git_kb.model.reference import GENERATION

    areas = [("kbids", one), ("ends", len(records).to_bytes(4, "little")), ("records", records), ("keys", b""), ("sources", b"")]
    return encode_pagefile(module.MAGIC, GENERATION, areas)


def test_files_are_merged_until_sizes_double(tmp_path):
    kb = str(tmp_path)
    for n in range(9):
        write_references(kb, {kbid(str(n)): b"markdown 0 9 0 %d.md" % n})
        merge_files(kb)
        files, damaged = open_files(kb)
        assert not damaged
        known = References(files)
        assert known.missing({kbid(str(i)) for i in range(12)}) == {kbid(str(i)) for i in range(n + 1, 12)}
        assert [r.target for r in known.of(kbid(str(n)))] == [f"{n}.md"]
        assert known.sections_with(f"/{n}") == {kbid(str(n))}
        assert len(files) <= 4
        known.close()
    assert all(is_reference_name(name) for name in os.listdir(tmp_path / DIRECTORY))


def test_damaged_files_are_told_and_deleted_by_the_next_merge_and_foreign_ones_stay(tmp_path):
    kb = str(tmp_path)
    name = write_references(kb, {kbid("a"): b""})
    path = tmp_path / DIRECTORY / name
    path.write_bytes(path.read_bytes()[:5000])
    (tmp_path / DIRECTORY / "notes").write_text("mine")
    assert open_files(kb) == ([], [name])
    merge_files(kb)
    assert os.listdir(tmp_path / DIRECTORY) == ["notes"]


def test_the_same_references_give_the_same_bytes():
    records = {
        kbid(str(n)): encode_references(find_references("text/markdown", f"[a](b{n % 3}.md) $(code: abcd)")) for n in range(9)
    }
    assert encode_file(records) == encode_file(dict(reversed(records.items())))
    file = ReferenceFile("x", "", encode_file(records)).file
    assert hashlib.sha256(b"".join(bytes(file.read_area(name)) for name in file.areas)).hexdigest() == DIGEST


DIGEST = "f34ce6434801d50124cb9020862e232c55c784ad00cfa38ea296f1e1d77ff9f4"


@pytest.mark.parametrize(
    ("source", "destination"),
    [
        ("docs/Guide.md", "Guide.md"),
        ("docs/Guide.md", "../docs/guide.html?x#y"),
        ("docs/guide.md", "/docs/guide"),
        ("a/v1.2.md", "v1.2"),
        ("a/b c.md", "b%20c.md"),
        ("docs/README.md", "docs/"),
        ("docs/README.md", "docs"),
        ("docs/README.md", ".."),
        ("docs/index.md", "./"),
        ("docs/_index.md", "x/.."),
        ("README.md", "/"),
        ("a/\u00e9.md", "e\u0301.md"),
        ("https://e.org/a/b", "https://e.org/a/b#c"),
        ("https://e.org/", "https://e.org"),
        (".github/x.md", ".github/x.md"),
    ],
)
def test_keys_of_links_and_documents_meet(source, destination):
    keys = keys_of(Reference(MARKDOWN, 0, 1, 0, destination))
    assert len(keys) == 1
    assert keys[0] in keys_of_document("docid", source)


def test_a_wiki_link_has_the_key_of_its_page():
    assert keys_of(Reference(WIKI, 0, 1, 0, "Dir/Page#head|alias")) == ["/page"]
    assert keys_of(Reference(WIKI, 0, 1, 0, "#head")) == []


@given(st.text(max_size=300))
def test_stems_fit_into_a_key(name):
    assert len(stem(name).encode("utf-8", "replace")) <= 200


def test_images_have_no_references():
    assert section_records(make_section("image/png", "W10oYik=")) == b""
