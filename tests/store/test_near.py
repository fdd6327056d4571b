"""Near-duplicates: all of them, as a comparison of every pair finds them, whatever segments they are in."""

import hashlib
import random
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_kb.index.build import Entry, build_segments, entry_id
from git_kb.index.segment import Segment
from git_kb.index.segments import Segments
from git_kb.index.view import View, ViewDocument, ViewRow, encode_documents, encode_view
from git_kb.store import near as module
from git_kb.store.freshness import Hooks
from git_kb.store.near import near_duplicates
from git_kb.text.minhash import THRESHOLD
from git_kb.text.words import terms


def raising():
    raise AssertionError("segments in memory are not stored")


HOOKS = Hooks(pytest.fail, pytest.fail, raising)


def kbid(text):
    return hashlib.sha256(text.encode()).digest()[:16]


def opened(groups, live=None):
    """Return (view, segments) of groups of texts, a segment each. live: the texts of the view; all by default."""
    segments = []
    for group in groups:
        (data,) = build_segments(sorted(Entry(entry_id(kbid(t), "h"), "text/plain", "h", t) for t in group))
        segments.append(Segment.over(data))
    shown = [t for group in groups for t in group if live is None or t in live]
    rows = [ViewRow(entry_id(kbid(t), "h"), 0, 1, 0, 1, 1, "c-00000000", "", ()) for t in shown]
    document = ViewDocument("a.toml", b"\1", "a", "A", "a.md", "text/plain", "", "f" * 40, ())
    together = Segments("", segments, [])
    return View.over("v", encode_view(b"k", encode_documents([(document, rows)]), together)), together


def brute(texts, new):
    """Return the pairs of which one is new, as sets of kbids -> similarity."""
    found = {}
    for a, b in combinations(sorted(set(texts)), 2):
        x, y = set(terms(a)), set(terms(b))
        if x and y and (a in new or b in new) and len(x & y) >= THRESHOLD * len(x | y):
            found[frozenset((kbid(a), kbid(b)))] = len(x & y) / len(x | y)
    return found


def told(groups, new, live=None):
    view, segments = opened(groups, live)
    near = near_duplicates("", view, segments, set(map(kbid, new)), HOOKS)
    pairs = {frozenset((p.new, p.other)): p.similarity for p in near.pairs}
    assert len(pairs) == len(near.pairs)
    assert all(p.new in set(map(kbid, new)) for p in near.pairs)
    assert [p.similarity for p in near.pairs] == sorted((p.similarity for p in near.pairs), reverse=True)
    return pairs, near.total


WORDS = [f"w{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(300)]


def variants(seed, n_families=12, n_each=4):
    """Return texts: families of edits of one text each."""
    rnd = random.Random(seed)
    texts = []
    for _ in range(n_families):
        base = rnd.sample(WORDS, rnd.randrange(7, 120))
        for _ in range(n_each):
            text = list(base)
            for _ in range(rnd.randrange(0, 1 + len(base) // 8)):
                text[rnd.randrange(len(text))] = rnd.choice(WORDS)
            rnd.shuffle(text)
            texts.append(" ".join(text))
    return list(dict.fromkeys(texts))


@pytest.mark.parametrize("many", [1, module.MANY], ids=["whole vocabularies", "term by term"])
@pytest.mark.parametrize("finds", [0, 10_000], ids=["columns", "finds"])
def test_nearly_all_near_duplicates_are_found_and_nothing_else(monkeypatch, many, finds):
    monkeypatch.setattr(module, "MANY", many)
    monkeypatch.setattr(module, "MAX_FINDS", finds)
    n_found = n_true = 0
    for seed in range(8):
        texts = variants(seed)
        rnd = random.Random(seed)
        cuts = sorted(rnd.sample(range(1, len(texts)), 2))
        groups = [texts[: cuts[0]], texts[cuts[0] : cuts[1]], texts[cuts[1] :]]
        new = set(rnd.sample(texts, len(texts) // 3))
        expected = brute(texts, new)
        pairs, total = told(groups, new)
        assert pairs.items() <= expected.items()
        assert total == len(pairs)
        n_found, n_true = n_found + len(pairs), n_true + len(expected)
    assert n_true > 100
    assert n_found >= 0.95 * n_true


@given(
    st.lists(
        st.lists(
            st.sampled_from(["hive bee", "bee hive", "bee, hive", "hive", "", "a b c d e f g", "a b c d e f g h"]), unique=True
        ),
        max_size=3,
    ),
    st.data(),
)
def test_the_same_terms_are_always_found(groups, data):
    seen = set()
    groups = [[t for t in group if not (t in seen or seen.add(t))] for group in groups]
    groups = [group for group in groups if group]
    texts = [t for group in groups for t in group]
    new = data.draw(st.sets(st.sampled_from(texts))) if texts else set()
    expected = {pair for pair, similarity in brute(texts, new).items() if similarity == 1.0}
    pairs, total = told(groups, new)
    assert expected <= pairs.keys() <= brute(texts, new).keys()
    assert total == len(pairs)


def test_sections_that_are_not_in_the_view_do_not_count():
    texts = ["one two three four five six seven", "seven six five four three two one", "one, two three four five six seven"]
    assert told([texts], texts[:1])[1] == 2
    assert told([texts], texts[:1], live=texts[:2])[1] == 1
    assert told([texts], texts[:1], live=texts[1:])[1] == 0


def test_one_section_under_two_headings_is_no_duplicate_of_itself():
    text = "one two three four five six seven"
    entries = sorted(Entry(entry_id(kbid(text), h), "text/plain", h, text) for h in "ab")
    (data,) = build_segments(entries)
    rows = [ViewRow(e.entry_id, 0, 1, 0, 1, 1, "c-00000000", "", ()) for e in entries]
    document = ViewDocument("a.toml", b"\1", "a", "A", "a.md", "text/plain", "", "f" * 40, ())
    segments = Segments("", [Segment.over(data)], [])
    view = View.over("v", encode_view(b"k", encode_documents([(document, rows)]), segments))
    assert near_duplicates("", view, segments, {kbid(text)}, HOOKS) == module.NONE


def test_many_of_one_kind_are_counted_and_a_few_told():
    rnd = random.Random(3)
    base = rnd.sample(WORDS, 30)
    texts = []
    for n in range(40):
        rnd.shuffle(base)
        texts.append(" ".join(base) + " extra" * (n % 2))
    view, segments = opened([texts])
    near = near_duplicates("", view, segments, set(map(kbid, texts)), HOOKS)
    assert near.total == 40 * 39 // 2
    assert len(near.pairs) == 3 * module.MAX_GROUP_PAIRS


def test_nothing_new_needs_no_signatures():
    view, segments = opened([["one"]])
    assert near_duplicates("", view, segments, set(), HOOKS) == module.NONE
