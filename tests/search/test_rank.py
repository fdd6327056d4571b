"""What ranking returns is what scoring every entry by the formula returns, in the same order."""

import hashlib
from collections import Counter
from itertools import pairwise
from math import isclose, log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_kb.index import segment as segment_module
from git_kb.index.build import Entry, build_segments, context_of, entry_id
from git_kb.index.segment import Segment
from git_kb.index.segments import Segments
from git_kb.index.view import View, ViewDocument, ViewRow, encode_documents, encode_view
from git_kb.output.explain import render_explanation
from git_kb.search import rank as rank_module
from git_kb.search.explain import explain_hit
from git_kb.search.query import Either, Group, parse_query
from git_kb.search.rank import search
from git_kb.search.score import Parameters
from git_kb.text.fields import fields
from git_kb.text.words import terms

VOCABULARY = ["the", "of", "alpha", "beta", "gamma", "delta", "getUser", "日本語"]
# Words whose stems differ between languages, or are those of other words.
MANY_TONGUES = [
    "houses",
    "häuser",
    "haus",
    "universities",
    "universitäten",
    "kitaplar",
    "die",
    "IŞIK",
    "informação",
    "الكتب",
    "alpha",
]


def make_entry(heading, content, language=""):
    context = context_of(heading, (), language)
    return Entry(entry_id(hashlib.sha256(content.encode()).digest()[:16], context), "text/markdown", context, content)


def corpus_of(groups, live):
    """Return (segments, view, live entries that some segment holds)."""
    opened = []
    for group in groups:
        if group:
            (data,) = build_segments(sorted({e.entry_id: e for e in group}.values()))
            opened.append(Segment.over(data))
    segments = Segments("", opened, [])
    documents = []
    for n, rules in enumerate(sorted({e.rules for e in live}) or [""]):
        document = ViewDocument(f"{n}.toml", b"", "a", "A", "a.md", "text/markdown", "", "", (), language=rules)
        documents.append((document, [ViewRow(e.entry_id, n, 1, 0, 1, 1, "c-1", "", ()) for e in live if e.rules == rules]))
    return segments, View.over("v", encode_view(b"", encode_documents(documents), segments))


def count(live):
    """Return (entry id -> terms of each field in order, entry id -> the same counted)."""
    sequences = {e.entry_id: [terms(t, e.rules) for t in fields(e.mime, e.content, e.heading)] for e in live}
    return sequences, {id_: [Counter(found) for found in three] for id_, three in sequences.items()}


def holds(node, sequences):
    """Say whether an entry, given as the terms of its fields, holds a node of a query."""
    if isinstance(node, Either):
        return any(holds(group, sequences) for group in node.groups)
    if isinstance(node, Group):
        if any(holds(child, sequences) for child in node.must_not):
            return False
        found = [holds(child, sequences) for child in node.must or node.should]
        return all(found) if node.must else any(found)
    fields_there = sequences if node.field is None else [sequences[node.field]]
    return any(stand_near(list(reading), node.slop, there) for there in fields_there for reading in node.readings)


def stand_near(wanted, slop, there):
    for start in range(len(there)):
        window = there[start : start + len(wanted) + slop]
        if window[0] == wanted[0]:
            rest = iter(window[1:] if slop else window[1 : len(wanted)])
            if all(any(term == other for other in rest) for term in wanted[1:]) and (slop or window == wanted):
                return True
    return False


def brute_force(live, query, parameters, known=None):
    """Score every entry by the formula, from its text. Return [(score, entry id)] of all matches, in order."""
    sequences, counted = known or count(live)
    n = len(counted)
    dfs = {term: df for term in query.weights if (df := sum(any(term in f for f in c) for c in counted.values()))}
    if not n:
        return []
    alone = dict(dfs)
    for same in query.alternatives:
        for term in same:
            if term in dfs:
                dfs[term] = max(dfs[term], min(n, sum(alone.get(t, 0) for t in same)))
    weights = {term: query.weights[term] * log(1 + (n - df + 0.5) / (df + 0.5)) for term, df in dfs.items()}
    mean = [sum(sum(c[f].values()) for c in counted.values()) / n for f in range(3)]
    scored = []
    for id_, c in counted.items():
        if any(holds(node, sequences[id_]) for node in query.root.must_not):
            continue
        if not all(holds(node, sequences[id_]) for node in query.root.must):
            continue

        def saturated(frequencies, there=sequences[id_]):
            x = 0.0
            for f, b in enumerate(parameters.b):
                if frequencies[f]:
                    x += parameters.weights[f] * frequencies[f] / (1 - b + b * len(there[f]) / mean[f])
            return x / (parameters.k1 + x)

        score = 0.0
        for term, weight in weights.items():
            score += weight * saturated([c[f][term] for f in range(3)]) * (1 + parameters.zone * (term in c[0]))
        for a, b in neighbours(list(dfs), query.alternatives):
            rarer, other = (a, b) if dfs[a] <= dfs[b] else (b, a)
            near = [closeness(terms, rarer, other) for terms in sequences[id_]]
            score += parameters.proximity * min(weights[a], weights[b]) * saturated(near)
        if any(term in f for term in dfs for f in c):
            scored.append((score, id_))
    return sorted(scored, key=lambda s: (-s[0], s[1]))


def neighbours(names, alternatives):
    """Pair each term with those of the next word; a word may have a term in each of several languages."""
    words = []
    for name in names:
        of = [n for n, same in enumerate(alternatives) if name in same][-1:]
        if words and of and words[-1][0] == of:
            words[-1][1].append(name)
        else:
            words.append((of, [name]))
    return [(a, b) for (_, first), (_, second) in pairwise(words) for a in first for b in second]


def closeness(terms, rarer, other):
    """The sum over the places of `rarer` of 1 / distance to the nearest `other`, within five words."""
    others = [there for there, name in enumerate(terms) if name == other]
    if not others:
        return 0.0
    nearest = [min(abs(at - there) for there in others) for at, name in enumerate(terms) if name == rarer]
    return sum(1 / distance for distance in nearest if distance <= 5)


def assert_same(result, expected, limit, offset=0):
    """The same scores in the same order; entries may only change places where scores agree but for rounding."""
    expected_page = expected[offset : offset + limit]
    assert len(result.hits) == len(expected_page)
    by_id = {id_: score for score, id_ in expected}
    for hit, (score, _) in zip(result.hits, expected_page, strict=True):
        assert isclose(hit.score, score, rel_tol=1e-9)
        assert isclose(hit.score, by_id[hit.entry_id], rel_tol=1e-9)
    assert len({h.entry_id for h in result.hits}) == len(result.hits)
    for a, b in zip(result.hits, result.hits[1:], strict=False):
        assert (-a.score, a.entry_id) < (-b.score, b.entry_id)
    if result.total_is_exact:
        assert result.total == len(expected)
    elif limit + offset > len(expected):
        raise AssertionError("all hits were seen, so their number is known")
    else:
        assert result.total <= len(expected)


weighted = st.sampled_from([w for i, w in enumerate(VOCABULARY) for _ in range(len(VOCABULARY) - i)])
contents = st.lists(weighted, min_size=1, max_size=15).map(" ".join)
fenced = st.one_of(contents, st.tuples(contents, contents).map("\n```\n".join))
made = st.lists(st.builds(make_entry, weighted, fenced), max_size=14)
phrase = st.lists(weighted, min_size=1, max_size=3).map(lambda w: '"' + " ".join(w) + '"')
queries = st.lists(
    st.one_of(
        weighted,
        weighted.map("-".__add__),
        phrase,
        st.tuples(phrase, st.integers(1, 4)).map(lambda p: f"{p[0]}~{p[1]}"),
        phrase.map("-".__add__),
        st.tuples(st.sampled_from(["heading:", "body:", "code:", "-code:"]), weighted | phrase).map("".join),
        st.lists(weighted | phrase, min_size=2, max_size=3).map(" OR ".join),
        st.lists(weighted | phrase, min_size=2, max_size=3).map(lambda w: f"({' OR '.join(w)})"),
        st.lists(weighted | phrase, min_size=2, max_size=3).map(lambda w: f"-({' '.join(w)})"),
    ),
    max_size=5,
)
parameters = st.builds(
    Parameters,
    st.tuples(*[st.floats(0.1, 5)] * 3),
    st.tuples(*[st.floats(0, 1)] * 3),
    st.floats(0.1, 3),
    st.floats(0, 1),
    st.floats(0, 1),
)


@settings(max_examples=300)
@given(
    st.lists(made, max_size=3),
    st.randoms(),
    queries,
    st.integers(1, 6),
    st.integers(0, 3),
    st.one_of(st.just(Parameters()), parameters),
)
def test_ranking_is_that_of_scoring_everything(groups, random, words, limit, offset, chosen):
    seen = set()
    groups = [[e for e in g if e.entry_id not in seen and not seen.add(e.entry_id)] for g in groups]
    live = [e for g in groups for e in g if random.random() < 0.8]
    segments, view = corpus_of(groups, live)
    query = parse_query(" ".join(words))
    assert_same(search(segments, view, query, limit, offset, chosen), brute_force(live, query, chosen), limit, offset)


tongues = st.sampled_from(MANY_TONGUES)
sayings = st.lists(tongues, min_size=1, max_size=8).map(" ".join)
in_languages = st.lists(st.builds(make_entry, tongues, sayings, st.sampled_from(["", "de", "tr", "pt"])), max_size=14)
asked = st.lists(
    st.one_of(
        tongues,
        tongues.map("-".__add__),
        sayings.map('"{}"'.format),
        sayings.map('"{}"~2'.format),
        tongues.map("heading:{}".format),
        st.lists(tongues, min_size=2, max_size=3).map(" OR ".join),
    ),
    max_size=4,
)


@settings(max_examples=300)
@given(st.lists(in_languages, max_size=3), st.randoms(), asked, st.integers(1, 6))
def test_ranking_in_several_languages_is_that_of_scoring_everything(groups, random, words, limit):
    seen = set()
    groups = [[e for e in g if e.entry_id not in seen and not seen.add(e.entry_id)] for g in groups]
    live = [e for g in groups for e in g if random.random() < 0.8]
    segments, view = corpus_of(groups, live)
    assert view.rules == (sorted({e.rules for e in live}) or [""])
    query = parse_query(" ".join(words), view.rules)
    result = search(segments, view, query, limit)
    assert_same(result, brute_force(live, query, Parameters()), limit)


@given(in_languages, tongues)
def test_a_word_of_any_language_finds_the_entries_that_have_it(rows, word):
    rows = list({e.entry_id: e for e in rows}.values())
    segments, view = corpus_of([rows], rows)
    found = {h.entry_id for h in search(segments, view, parse_query(word, view.rules), 100).hits}
    assert {e.entry_id for e in rows if word in e.content.split()} <= found
    phrase = parse_query(f'heading:"{word}"', view.rules)
    assert {e.entry_id for e in rows if e.heading == word} <= {h.entry_id for h in search(segments, view, phrase, 100).hits}


@given(in_languages, tongues)
def test_the_beginning_of_a_word_is_found_in_any_language(rows, word):
    rows = list({e.entry_id: e for e in rows}.values())
    segments, view = corpus_of([rows], rows)
    found = {h.entry_id for h in search(segments, view, parse_query(word[:4] + "*", view.rules), 100).hits}
    assert {e.entry_id for e in rows if word in e.content.split()} <= found


def test_a_word_is_worth_the_same_in_each_language():
    """An English query does not rank the few German entries first, because their stem of its word is rare."""
    rows = [make_entry("h", f"installation {n}") for n in range(20)] + [make_entry("h", "installation de", "de")]
    segments, view = corpus_of([rows], rows)
    result = search(segments, view, parse_query("installation", view.rules), 30)
    assert len(result.hits) == 21
    assert len({hit.score for hit in result.hits}) == 1
    assert result.hits[0].score <= result.best_possible < 2 * result.hits[0].score + 1


@settings(max_examples=200)
@given(made, queries, st.one_of(st.just(Parameters()), parameters))
def test_the_parts_of_a_score_add_up_to_it(group, words, chosen):
    live = list({e.entry_id: e for e in group}.values())
    segments, view = corpus_of([live], live)
    result = search(segments, view, parse_query(" ".join(words)), 20, 0, chosen)
    for hit in result.hits:
        explained = explain_hit(hit, result)
        parts = [
            *(t.contribution for t in explained.terms),
            *(t.zone for t in explained.terms),
            *(p.contribution for p in explained.pairs),
        ]
        assert isclose(sum(parts), hit.score, rel_tol=1e-9)
        assert isclose(explained.words + explained.zones + explained.proximity, hit.score, rel_tol=1e-9)
        assert [t.term for t in explained.terms] == hit.terms
        assert all(0 < p.contribution < p.most for p in explained.pairs)
        for part in explained.terms:
            x = sum(f.x for f in part.fields)
            assert isclose(part.contribution, part.qtf * part.idf * x / (chosen.k1 + x), rel_tol=1e-9)
        shown = render_explanation(explained).splitlines()
        assert len(shown) == 1 + len(explained.terms) + len(explained.pairs)
        assert max(map(len, shown)) <= 100
        assert shown[0].startswith(f"   {hit.score:.4f} = ")


@settings(max_examples=200)
@given(made, queries, st.one_of(st.just(Parameters()), parameters))
def test_no_score_reaches_the_best_possible(group, words, chosen):
    """So that its share, the confidence, is below 1; a further word that nothing has lowers it."""
    live = list({e.entry_id: e for e in group}.values())
    segments, view = corpus_of([live], live)
    text = " ".join(["alpha", *words])
    result = search(segments, view, parse_query(text), 20, 0, chosen)
    for hit in result.hits:
        assert 0 <= hit.score < result.best_possible
    more = search(segments, view, parse_query(f"{text} xylophone"), 20, 0, chosen)
    assert more.best_possible > result.best_possible


def real_corpus(n_rows):
    """Text with the skew of real text: word i is drawn about 1 / i of the time."""
    import random

    rng = random.Random(7)
    names = [f"w{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(300)]
    weights = [1 / (i + 1) for i in range(300)]
    return [
        make_entry(" ".join(rng.choices(names, k=3)), " ".join(rng.choices(names, weights, k=rng.randrange(5, 120))))
        for _ in range(n_rows)
    ], names


def mixed_queries(names):
    """Queries of one to five words of every frequency, with phrases and exclusions."""
    import random

    rng = random.Random(3)
    found = [
        names[0],
        " ".join(names[:4]),
        " ".join(names[::60]),
        f'"{names[0]} {names[1]}"',
        f'"{names[1]} {names[0]}" {names[2]}',
    ]
    for n in range(1, 6):
        found += [
            f"({names[n]} OR {names[-n]}) {names[0]}",
            f"heading:{names[n]} {names[1]}",
            f'"{names[0]} {names[n]}"~{n} -{names[7]}',
        ]
        found += [" ".join(rng.sample(names[:20], n)), " ".join(rng.sample(names, n)), f"{names[n]} {names[-n]} -{names[n + 3]}"]
    return found


# What the cheaper way is taken to be: as measured, always entry by entry, always by sums.
@pytest.mark.parametrize(
    ("lane_us", "max_passed"), [(rank_module.LANE_US, rank_module.MAX_PASSED), (1e9, 10**9), (-1e9, -1), (-1e9, 20)]
)
@pytest.mark.parametrize("n_rows", [600, 2200])
def test_pruned_ranking_of_a_larger_corpus_is_that_of_scoring_everything(monkeypatch, lane_us, max_passed, n_rows):
    monkeypatch.setattr(rank_module, "LANE_US", lane_us)
    monkeypatch.setattr(rank_module, "MAX_PASSED", max_passed)
    rows, names = real_corpus(n_rows)
    cut = n_rows * 2 // 3
    segments, view = corpus_of([rows[:cut], rows[cut:]], rows[50:])
    counted = count(rows[50:])
    pruned = 0
    for text in mixed_queries(names):
        query = parse_query(text)
        for parameters in (Parameters(), Parameters((0.5, 2.0, 1.0), (0.1, 0.9, 0.5), 2.0, 1.0, 1.0)):
            result = search(segments, view, query, 10, 0, parameters)
            pruned += not result.total_is_exact
            assert_same(result, brute_force(rows[50:], query, parameters, counted), 10)
    assert pruned, "no query was pruned, so nothing was tested"


@pytest.mark.parametrize("n_kept", [0, 1, 3, 64])
def test_lists_that_a_segment_keeps_say_the_same(monkeypatch, n_kept):
    """Asked again, with other words between, a query has the same answer, whatever was made of its lists before."""
    monkeypatch.setattr(segment_module, "MIN_KEPT", 2)
    monkeypatch.setattr(segment_module, "MAX_KEPT", n_kept)
    rows, names = real_corpus(1500)
    segments, view = corpus_of([rows[:1100], rows[1100:]], rows[50:])
    queries = [parse_query(text) for text in mixed_queries(names)]

    def answers(some):
        return [[(hit.entry_id, hit.score) for hit in search(segments, view, query).hits] for query in some]

    monkeypatch.setattr(rank_module, "LANE_US", 1e9)
    first = answers(queries)
    monkeypatch.setattr(rank_module, "LANE_US", -1e9)
    assert answers(queries[::-1]) == first[::-1]
    assert max(len(segment._kept) for segment in segments) == n_kept or n_kept == 64


def test_an_entry_in_two_segments_is_one_hit():
    a, b, c = (make_entry("h", f"word {t}") for t in ("a", "b", "c"))
    segments, view = corpus_of([[a, b], [b, c]], [a, b, c])
    result = search(segments, view, parse_query("word"), 10)
    assert sorted(h.entry_id for h in result.hits) == sorted(e.entry_id for e in (a, b, c))
    assert result.total == 3


@pytest.mark.parametrize("text", ["", "-word", "nothing", '"b a"'])
def test_queries_without_hits(text):
    segments, view = corpus_of([[make_entry("h", "a b")]], [make_entry("h", "a b")])
    result = search(segments, view, parse_query(text), 10)
    assert (result.hits, result.total) == ([], 0)


def test_a_hit_tells_its_terms_and_fields():
    row = make_entry("Title", "alpha beta\n```\ngamma\n```")
    segments, view = corpus_of([[row]], [row])
    (hit,) = search(segments, view, parse_query("title gamma absent"), 10).hits
    assert hit.terms == ["titl", "gamma"]
    assert hit.fields == ["heading", "code"]
