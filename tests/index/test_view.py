"""Views: what is put in comes out; masks and statistics follow the segments."""

import hashlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_kb.errors import NewerFormat
from git_kb.index.build import Entry, build_segments, entry_id
from git_kb.index.pagefile import DamagedSegment, OtherFeature
from git_kb.index.segment import Segment
from git_kb.index.segments import Segments
from git_kb.index.view import View, ViewDocument, ViewRow, encode_documents, encode_view, join_parts


def id_of(n):
    return hashlib.sha256(b"%d" % n).digest()[:24]


def entry(n):
    content = "word " * (n + 1)
    return Entry(entry_id(hashlib.sha256(content.encode()).digest()[:16], "h"), "text/plain", "h", content)


def segments_of(*groups):
    opened = []
    for group in groups:
        (data,) = build_segments(sorted(entry(n) for n in group))
        segment = Segment.over(data)
        opened.append(segment)
    return Segments("", opened, [])


def whole(view):
    return view.part(0, view.n_documents)


def document(d, ids):
    rows = [ViewRow(i, d, 3 * n + 1, 10 * n, 10 * n + 9, 1 + n, f"c-{n:08x}", "", ("A", f"b{n}")) for n, i in enumerate(ids)]
    return ViewDocument(
        f"{d}.toml", b"\1\2", f"doc{d}", f"Title {d}", f"d/{d}.md", "text/markdown", "", "f" * 40, ("x", "y"), oid=f"{d:040x}"
    ), rows


@given(st.lists(st.lists(st.integers(0, 9), max_size=6), max_size=5))
def test_a_view_reads_back(shape):
    documents = [document(d, [id_of(n) for n in ids]) for d, ids in enumerate(shape)]
    view = View.over("v", encode_view(b"key", encode_documents(documents), Segments("", [], [])))
    assert view.key == b"key"
    assert [(d.docid, d.title, d.tags) for d in view.documents()] == [(d.docid, d.title, d.tags) for d, _ in documents]
    assert whole(view).entry_ids() == [r.entry_id for _, rows in documents for r in rows]
    for n in range(10):
        found = view.rows_of(id_of(n))
        expected = [r for _, rows in documents for r in rows if r.entry_id == id_of(n)]
        assert [(r.doc, r.line, r.start, r.end, r.part, r.chunk, r.heading) for r in found] == [
            (r.doc, r.line, r.start, r.end, r.part, r.chunk, r.heading) for r in expected
        ]
    assert view.n_missing == len({i for _, rows in documents for i in (r.entry_id for r in rows)})


@given(st.lists(st.lists(st.integers(0, 9), max_size=6), max_size=6), st.sets(st.integers(0, 6)))
def test_parts_join_to_the_same_view(shape, cuts):
    """Wherever the documents are cut; also into parts with nothing in them."""
    segments = segments_of([0, 1, 2], [5])
    documents = [document(d, [id_of(n) for n in ids]) for d, ids in enumerate(shape)]
    ends = [0, *sorted(cuts), len(documents)]
    expected = encode_view(b"key", encode_documents(documents), segments, ["bad"])
    made = [encode_documents(documents[a:b]) for a, b in pairwise(ends)]
    assert encode_view(b"key", join_parts(made), segments, ["bad"]) == expected
    view = View.over("v", expected)
    taken = [view.part(min(a, len(documents)), min(b, len(documents))) for a, b in pairwise(ends)]
    assert encode_view(b"key", join_parts(taken), segments, ["bad"]) == expected
    assert view.stamps() == [(d.name, d.stamp, d.oid) for d, _ in documents]


@given(st.sets(st.integers(0, 9)), st.lists(st.sets(st.integers(0, 9), min_size=1), max_size=3))
def test_masks_and_statistics_are_those_of_the_live_entries(live, groups):
    groups = [sorted(set(g) - set().union(*groups[:i])) for i, g in enumerate(groups)]
    segments = segments_of(*[g for g in groups if g])
    rows = [entry(n) for n in sorted(live)]
    data = encode_view(b"k", encode_documents([document(0, [e.entry_id for e in rows])]), segments)
    view = View.over("v", data)
    held = {i for s in segments for i in s.entry_ids()}
    ids = {e.entry_id for e in rows}
    assert (view.n_live, view.n_missing) == (len(ids & held), len(ids - held))
    assert view.tokens[1] == sum(n + 1 for n in live if entry(n).entry_id in held)
    for segment in segments:
        mask = view.mask(segment.name) or b"\1" * segment.n_entries
        assert [i for i, m in zip(segment.entry_ids(), mask, strict=True) if m] == [i for i in segment.entry_ids() if i in ids]
    # From other segments to these: the same bytes as made for them at once.
    other = View.over("v", encode_view(b"k", encode_documents([document(0, [e.entry_id for e in rows])]), Segments("", [], [])))
    assert other.fits(segments) == (not segments.names)
    assert encode_view(b"k", whole(other), segments) == data


def test_a_view_knows_its_languages():
    documents = []
    for n, language in enumerate(["", "de", "zh", "de", "nb"]):
        d, rows = document(n, [id_of(n)])
        d.language = language
        documents.append((d, rows))
    view = View.over("v", encode_view(b"k", encode_documents(documents), Segments("", [], [])))
    assert view.languages == {"": 1, "de": 2, "nb": 1, "zh": 1}
    assert view.rules == ["", "de", "no"]
    assert [d.language for d in view.documents()] == ["", "de", "zh", "de", "nb"]
    english = View.over("v", encode_view(b"k", join_parts([view.part(0, 1)]), Segments("", [], [])))
    assert (english.languages, english.rules) == ({}, [""])
    rest = View.over("v", encode_view(b"k", join_parts([view.part(1, 2), view.part(3, 5)]), Segments("", [], [])))
    assert (rest.languages, rest.rules) == ({"de": 2, "nb": 1}, ["de", "no"])


def test_a_view_of_english_alone_says_nothing_of_languages():
    view = View.over("v", encode_view(b"k", encode_documents([document(0, [id_of(0)])]), Segments("", [], [])))
    assert view.languages == {}
    assert view.rules == [""]
    assert view.file.area("languages")[1] == 0


def test_every_flipped_byte_is_noticed_or_harmless():
    segments = segments_of([1, 2, 3])
    data = encode_view(b"k", encode_documents([document(0, [entry(1).entry_id, entry(3).entry_id])]), segments)

    def answers(view):
        rows = [
            (r.entry_id, r.doc, r.line, r.start, r.end, r.part, r.chunk, r.heading)
            for i in whole(view).entry_ids()
            for r in view.rows_of(i)
        ]
        masks = [view.mask(n) for n in view.segment_names]
        return (
            view.key,
            view.tokens,
            view.n_live,
            rows,
            masks,
            [(d.docid, d.title, d.source, d.tags, d.stamp) for d in view.documents()],
        )

    expected = answers(View.over("v", data))
    noticed = 0
    for at in range(len(data)):
        if data[at] == 0 and at % 16:
            continue
        torn = bytearray(data)
        torn[at] ^= 0x41
        try:
            assert answers(View.over("v", torn)) == expected
        except (DamagedSegment, OtherFeature, NewerFormat):
            noticed += 1
    assert noticed > 200


@pytest.mark.parametrize("cut", [0, 64, 4096, -1])
def test_a_torn_view_is_damaged(tmp_path, cut):
    path = tmp_path / "v"
    path.write_bytes(encode_view(b"k", encode_documents([]), Segments("", [], []))[:cut])
    with pytest.raises(DamagedSegment):
        View(str(path))


def test_an_entry_in_two_segments_counts_once():
    segments = segments_of([1, 2], [2, 3])
    view = View.over("v", encode_view(b"k", encode_documents([document(0, [entry(n).entry_id for n in (1, 2, 3)])]), segments))
    assert (view.n_live, view.n_missing) == (3, 0)


STAMPS = st.dictionaries(st.text("abc\u00e9\udc80\ue000\U0001f600", max_size=3), st.binary(min_size=1, max_size=2), max_size=8)


@given(STAMPS, st.lists(st.tuples(st.text("abc\u00e9\udc80", max_size=3), st.binary(min_size=1, max_size=2)), max_size=6))
def test_unchanged_documents_are_those_with_equal_stamps(stamps, changes):
    """Whatever came, went or changed since, also where one name begins as another does."""
    documents = []
    for name, stamp in sorted(stamps.items()):
        documents.append((ViewDocument(name, stamp, name, "T", name, "text/plain", "", "", ()), []))
    view = View.over("v", encode_view(b"k", encode_documents(documents), segments_of()))
    now = dict(stamps)
    for name, stamp in changes:
        if now.pop(name, None) != stamp:
            now[name] = stamp
    now = {name: now[name] for name in sorted(now)}
    assert view.unchanged(now) == {name: n for n, (name, stamp, _) in enumerate(view.stamps()) if now.get(name) == stamp}
    for name in {*stamps, *now}:
        found = view.document_named(name)
        assert (None if found is None else found.stamp) == stamps.get(name)
