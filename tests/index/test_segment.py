"""Segments: the same entries give the same bytes, a merge is the build of the union, no flipped byte goes unnoticed."""

import hashlib
from array import array
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_kb.errors import NewerFormat
from git_kb.index import build as build_module
from git_kb.index.build import BATCH, Columns, Entry, build_segments, context_of, entry_id, merge_segments, split_context
from git_kb.index.pagefile import DamagedSegment, OtherFeature
from git_kb.index.segment import BLOCKED, DENSE, SHORT, Postings, Segment, layout_of
from git_kb.text.fields import fields
from git_kb.text.words import terms


def make_entry(heading, content, mime="text/markdown", language=""):
    context = context_of(heading, (), language)
    return Entry(entry_id(hashlib.sha256(content.encode()).digest()[:16], context), mime, context, content)


words = st.sampled_from(["alpha", "beta", "gamma", "getUser", "日本語", "x" * 70, "naïve", "häuser", "houses"])
contents = st.lists(words, min_size=1, max_size=12).map(" ".join)
entry_sets = st.lists(
    st.builds(make_entry, words, contents, st.sampled_from(["text/markdown", "text/x-python"]), st.sampled_from(["", "de", "zh"])),
    min_size=1,
    max_size=12,
).map(lambda rows: sorted({e.entry_id: e for e in rows}.values()))


def build(rows):
    (data,) = build_segments(sorted(rows))
    return data


@given(entry_sets)
def test_a_segment_says_what_a_recount_says(rows):
    segment = Segment.over(build(rows))
    assert segment.entry_ids() == [e.entry_id for e in rows]
    counts = [[Counter(terms(t, e.rules)) for t in fields(e.mime, e.content, e.heading)] for e in rows]
    names = {t for c in counts for f in c for t in f}
    assert {t for t, _, _ in segment.all_terms()} == names
    for term in names:
        postings = segment.postings(term)
        holders = [i for i, c in enumerate(counts) if any(term in f for f in c)]
        assert list(postings.ordinals) == holders
        assert postings.df == len(holders)
        assert [i for i in range(len(rows)) if postings.impact(i)] == holders
        assert postings.top == max(postings.impacts)
        for i in holders:
            assert [string.count(postings.char) for string in segment.token_strings(i)] == [c[term] for c in counts[i]]
    assert [list(column) for column in segment.lengths] == [[sum(c[f].values()) for c in counts] for f in range(3)]
    assert segment.postings("absent") is None
    assert [segment.mime(i) for i in range(len(rows))] == [e.mime for e in rows]


def test_one_section_in_two_languages_is_two_entries():
    plain, german, chinese = (make_entry("Title", "houses häuser", language=code) for code in ("", "de", "zh"))
    assert plain == chinese
    assert plain.entry_id != german.entry_id
    assert plain.entry_id[:16] == german.entry_id[:16]
    assert (german.rules, german.heading) == ("de", "Title")
    segment = Segment.over(build([plain, german]))
    there = [segment.ordinal(e.entry_id) for e in (plain, german)]
    assert {t: list(segment.postings(t).ordinals) for t in ("haus", "hauser")} == {
        "haus": [there[1]],
        "hauser": [there[0]],
    }


@given(st.text(), st.lists(st.text()), st.sampled_from(["", "de", "xx"]))
def test_a_context_tells_its_rules(title, headings, language):
    rules, heading = split_context(context_of(title, headings, language))
    assert rules == {"": "", "de": "de", "xx": "latn"}[language]
    assert heading == context_of(title, headings)


@given(st.sampled_from([300, 1024, 1500]), st.data())
def test_a_posting_list_reads_back_in_every_layout(n_entries, data):
    df = data.draw(st.integers(2, n_entries))
    ordinals = sorted(data.draw(st.randoms()).sample(range(n_entries), df))
    impacts = bytes(1 + o % 255 for o in ordinals)
    columns = Columns(array("H", ordinals).tobytes(), bytes(o & 0xFF for o in ordinals), impacts)
    stored = memoryview(columns.encode(0, df, n_entries))
    postings = Postings("x", df, max(impacts), n_entries, layout_of(df, n_entries), stored)
    worth = dict(zip(ordinals, impacts, strict=True))
    some = data.draw(st.lists(st.integers(0, n_entries - 1)) | st.just(range(n_entries)))
    assert postings.impacts_of(some) == [worth.get(o, 0) for o in some]
    assert list(postings.ordinals) == ordinals
    assert [postings.impact(o) for o in range(n_entries)] == [worth.get(o, 0) for o in range(n_entries)]
    assert list(postings.dense()) == [worth.get(o, 0) for o in range(n_entries)]
    assert postings.present().count(1) == df
    for place, impact in enumerate(postings.impacts):
        assert not impact or worth[postings.at(place)] == impact


@given(st.lists(st.text("abc \u4e2d\u6587", max_size=9), min_size=1, max_size=9), st.text("abc", min_size=1, max_size=2))
def test_which_token_strings_hold_a_string(texts, words):
    segment = Segment.over(build(sorted({e.entry_id: e for e in (make_entry(f"h{i}", t) for i, t in enumerate(texts))}.values())))
    needle = "".join(p.char for w in words if (p := segment.postings(w)) is not None).encode()
    ordinals = list(range(segment.n_entries))
    assert segment.holding(needle, ordinals) == [o for o in ordinals if needle in segment.token_bytes(o)]


def test_a_damaged_page_is_noticed_where_strings_are_looked_for():
    data = build(sorted(make_entry(f"h{i}", "alpha beta " * 200) for i in range(40)))
    at = Segment.over(data).file.area("tokens")[0] + 5000
    data[at] ^= 1
    with pytest.raises(DamagedSegment):
        Segment.over(data).holding(b"x", range(40))


def test_all_layouts_occur():
    assert {layout_of(df, 1500) for df in (2, 100, 1000)} == {SHORT, BLOCKED, DENSE}


def test_impacts_are_those_of_the_format_document():
    rows = sorted(make_entry(f"alpha h{i}", "beta " * i + "gamma\n```\nalpha beta\n```\n") for i in range(1, 9))
    segment = Segment.over(build(rows))
    means = [t / len(rows) for t in segment.tokens]
    for term in ("alpha", "beta", "gamma"):
        postings = segment.postings(term)
        for ordinal in range(len(rows)):
            x = 0.0
            raised = postings.char in segment.token_strings(ordinal)[0]
            for string, weight, b, mean in zip(segment.token_strings(ordinal), (3, 1, 1), (0.5, 0.55, 0.55), means, strict=True):
                if tf := string.count(postings.char):
                    x += weight * tf / (1 - b + b * len(string) / mean)
            assert postings.impact(ordinal) == (min(255, int(255 * x / (1.2 + x) / (1 if raised else 1.1)) + 1) if x else 0)


def test_frequent_terms_have_low_code_points():
    rows = sorted(make_entry(f"h{i}", f"rare{i} " + "often " * 5) for i in range(20))
    segment = Segment.over(build(rows))
    assert {term: code for term, code, _ in segment.all_terms()}["often"] == 3


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
    out.append([segment.token_strings(i) for i in range(segment.n_entries)])
    for term, code_point, df in list(segment.all_terms()):
        p = segment.postings(term)
        out.append((term, code_point, df, list(p.ordinals), p.top, p.impacts))
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
        (8, b"\xff", NewerFormat),
        (8, b"\x01", OtherFeature),
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
