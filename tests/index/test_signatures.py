"""Signature files: made from a segment alone, the same everywhere, and no bytes do harm."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_kb.errors import NewerFormat
from git_kb.index.build import Entry, build_segments, entry_id
from git_kb.index.pagefile import DamagedSegment, OtherFeature
from git_kb.index.segment import Segment
from git_kb.index.signatures import (
    DIRECTORY,
    Signatures,
    body_terms,
    drop_signatures,
    encode_signatures,
    is_signature_name,
    open_signatures,
    signature_path,
    write_signatures,
)
from git_kb.text.minhash import N_BANDS, N_BINS, N_ROWS, set_key, signature, term_hash

BODIES = [
    "hive bee swarm",
    "",
    "the same hive",
    "swarm bee hive",
    "```\nhive(bee)\n```",
    *(f"words {n} of {n * n}" for n in range(40)),
]


def segment_of(bodies, mime="text/markdown"):
    entries = [Entry(entry_id(hashlib.sha256(b.encode()).digest()[:16], "h"), mime, "Title words", b) for b in set(bodies)]
    (data,) = build_segments(sorted(entries))
    return Segment.over(data)


@pytest.fixture(scope="module")
def segment():
    return segment_of(BODIES)


def test_it_holds_the_signature_of_each_body(segment):
    found = Signatures("x", segment.n_entries, encode_signatures(segment))
    terms = {chr(code): term for term, code, _ in segment.all_terms()}
    for ordinal in range(segment.n_entries):
        names = {terms[char] for char in body_terms(segment, ordinal)}
        assert "titl" not in names
        hashes = sorted({term_hash(n.encode()) for n in names}, reverse=True)
        at = slice(8 * ordinal, 8 * ordinal + 8)
        assert int.from_bytes(found.sets()[at], "little") == (set_key(hashes) if hashes else 0)
        assert int.from_bytes(found.sizes()[2 * ordinal : 2 * ordinal + 2], "little") == len(hashes)
        row = b"".join(found.band(b)[N_ROWS * ordinal : N_ROWS * (ordinal + 1)] for b in range(N_BANDS))
        assert row == (signature(hashes) if hashes else bytes(N_BINS))


def test_the_same_segment_gives_the_same_bytes(segment):
    assert encode_signatures(segment) == encode_signatures(segment_of(BODIES[::-1]))


def test_the_bytes_are_those_of_any_machine():
    """Plain words, whose stems no version of the stemmer changes."""
    data = encode_signatures(segment_of(["hive bee swarm", "", "bee"]))
    found = Signatures("x", 3, data)
    assert hashlib.sha256(found.sets() + found.sizes() + b"".join(map(found.band, range(N_BANDS)))).hexdigest() == DIGEST


DIGEST = "cbab51e949278e2dd522124275bb82deb8065f196af4f331dfbd401166687440"


@given(st.data())
def test_changed_bytes_are_found_out(data):
    whole = encode_signatures(segment_of(["hive", "bee"]))
    sound = Signatures("x", 2, bytes(whole))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    try:
        found = Signatures("x", 2, whole)
        found.file.verify()
        read = (found.sets(), found.sizes(), found.band(7))
    except (DamagedSegment, OtherFeature, NewerFormat):
        return
    assert read == (sound.sets(), sound.sizes(), sound.band(7))


def test_a_file_of_another_number_of_entries_is_damaged(segment):
    with pytest.raises(DamagedSegment):
        Signatures("x", segment.n_entries + 1, encode_signatures(segment))


def test_files_are_kept_while_their_segment_lives(tmp_path, segment):
    kb = str(tmp_path)
    segment.name = "seg-" + "0" * 32 + ".kbs"
    assert open_signatures(kb, segment) is None
    write_signatures(kb, segment)
    assert open_signatures(kb, segment) is not None
    (tmp_path / DIRECTORY / "notes").write_text("mine")
    drop_signatures(kb, [segment.name])
    assert open_signatures(kb, segment) is not None
    path = signature_path(kb, segment.name)
    assert is_signature_name(path.rpartition("/")[2])
    with open(path, "r+b") as file:
        file.truncate(4100)
    assert open_signatures(kb, segment) is None
    drop_signatures(kb)
    assert [p.name for p in (tmp_path / DIRECTORY).iterdir()] == ["notes"]
