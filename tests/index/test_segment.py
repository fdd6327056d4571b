"""Segments: the same entries give the same bytes, a merge is the build of the union, no flipped byte goes unnoticed."""

import hashlib
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_kb.errors import NewerFormat
from git_kb.index import build as build_module
from git_kb.index.build import BATCH, Entry, build_segments, entry_id, merge_segments
from git_kb.index.pagefile import DamagedSegment, OtherFeature
from git_kb.index.segment import Segment
from git_kb.text.fields import fields
from git_kb.text.words import terms


def make_entry(heading, content, mime="text/markdown"):
    return Entry(entry_id(hashlib.sha256(content.encode()).digest()[:16], heading), mime, heading, content)


words = st.sampled_from(["alpha", "beta", "gamma", "getUser", "日本語", "x" * 70, "naïve"])
contents = st.lists(words, min_size=1, max_size=12).map(" ".join)
entry_sets = st.lists(
    st.builds(make_entry, words, contents, st.sampled_from(["text/markdown", "text/x-python"])), min_size=1, max_size=12
).map(lambda rows: sorted({e.entry_id: e for e in rows}.values()))


def build(rows):
    (data,) = build_segments(sorted(rows))
    return data


@given(entry_sets)
def test_a_segment_says_what_a_recount_says(rows):
    segment = Segment.over(build(rows))
    assert segment.entry_ids() == [e.entry_id for e in rows]
    counts = [[Counter(terms(t)) for t in fields(e.mime, e.content, e.heading)] for e in rows]
    names = {t for c in counts for f in c for t in f}
    assert {t for t, _, _ in segment.all_terms()} == names
    for term in names:
        postings = segment.postings(term)
        holders = [i for i, c in enumerate(counts) if any(term in f for f in c)]
        assert list(postings.ordinals) == holders
        for at, i in enumerate(holders):
            assert segment.tf(postings, at) == counts[i][1][term]
            assert [segment.token_string(i, f).count(postings.char) for f in range(3)] == [c[term] for c in counts[i]]
        for field, (ordinals, tfs) in ((0, postings.heading), (2, postings.code)):
            assert dict(zip(ordinals, tfs, strict=True)) == {i: c[field][term] for i, c in enumerate(counts) if c[field][term]}
    assert segment.postings("absent") is None
    assert [segment.mime(i) for i in range(len(rows))] == [e.mime for e in rows]


def test_a_frequency_beyond_a_byte_is_exact():
    segment = Segment.over(build([make_entry("h", "word " * 1000)]))
    assert segment.tf(segment.postings("word"), 0) == 1000


def test_entries_of_several_batches_keep_their_ordinals():
    rows = sorted(make_entry(f"h{i}", f"alpha word{i}") for i in range(2 * BATCH + 3))
    segment = Segment.over(build(rows))
    assert list(segment.postings("alpha").ordinals) == list(range(len(rows)))
    for i in range(0, len(rows), BATCH // 3):
        assert list(segment.postings(terms(rows[i].heading)[0]).ordinals) == [i]


@pytest.mark.parametrize("text", ["word{} aB{}c", "重{}跑 \ufdfa"])
def test_batches_close_segments_where_single_entries_do(monkeypatch, text):
    rows = sorted(make_entry(f"h{i}", text.format(i, i)) for i in range(300))
    monkeypatch.setattr(build_module, "TERM_MARGIN", 0)
    monkeypatch.setattr(build_module, "MAX_TERMS", 200)
    batched = list(build_segments(rows))
    monkeypatch.setattr(build_module, "BATCH", 1)
    assert len(batched) > 1
    assert batched == list(build_segments(rows))


@given(entry_sets, st.randoms())
def test_a_merge_is_the_build_of_the_union(rows, random):
    parts = [[e for e in rows if random.random() < 0.6] for _ in range(3)]
    parts = [p for p in parts if p]
    union = sorted({e.entry_id: e for p in parts for e in p}.values())
    if union:
        assert merge_segments([Segment.over(build(p)) for p in parts]) == build(union)


def answers(segment):
    """All that a reader can ask for, copied."""
    out = [segment.entry_ids(), segment.tokens, [list(x) for x in segment.lengths]]
    out.append([segment.mime(i) for i in range(segment.n_entries)])
    out.append([[segment.token_string(i, f) for f in range(3)] for i in range(segment.n_entries)])
    for term, code_point, df in list(segment.all_terms()):
        p = segment.postings(term)
        out.append((term, code_point, df, list(p.ordinals), p.body_tf, [(list(o), t) for o, t in (p.heading, p.code)]))
    return out


def test_every_flipped_byte_is_noticed_or_harmless():
    data = build([make_entry("Title", "alpha beta\n```\ncode\n```\n"), make_entry("Other", "gamma alpha")])
    expected = answers(Segment.over(data))
    noticed = 0
    for at in range(len(data)):
        # Padding is most of the file; a sample of it is enough.
        if data[at] == 0 and at % 16:
            continue
        torn = bytearray(data)
        torn[at] ^= 0x41
        try:
            assert answers(Segment.over(torn)) == expected
        except (DamagedSegment, OtherFeature, NewerFormat):
            noticed += 1
    assert noticed > 300


@pytest.mark.parametrize("cut", [0, 1, 100, 4096, 9000, -1])
def test_a_torn_file_is_damaged(tmp_path, cut):
    data = build([make_entry("Title", "alpha beta")])
    path = tmp_path / "seg"
    path.write_bytes(data[:cut])
    with pytest.raises(DamagedSegment):
        Segment(str(path))


@pytest.mark.parametrize(
    ("offset", "value", "error"),
    [
        (0, b"X", DamagedSegment),
        (8, b"\x02", NewerFormat),
        (16, b"\x01", DamagedSegment),
        (24, b"\xff", DamagedSegment),
        (56, b"\0\0", DamagedSegment),
    ],
)
def test_damage_table(offset, value, error):
    data = build([make_entry("Title", "alpha beta")])
    data[offset : offset + len(value)] = value
    with pytest.raises(error):
        Segment.over(data)
