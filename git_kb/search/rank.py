"""Ranking: BM25F over the live entries, with the lists that cannot matter left out.

Robertson & Zaragoza 2009, doi:10.1561/1500000019: per term and entry x = sum over fields of w_f * tf_f / (1
- b_f + b_f * len_f / avglen_f), and the score is the sum over terms of qtf * idf * x / (k1 + x). No (k1 +
1) factor: it never changes an order. idf = ln(1 + (N - df + 0.5) / (df + 0.5)), over the live entries of
the view.

Pruning is MaxScore (Turtle & Flood 1995, doi:10.1016/0306-4573(95)00020-H): a term adds less than qtf * idf
to any score, so once the k-th best entry has more than a set of terms can give together, entries that hold
those terms alone need not be looked at. The result is that of scoring everything.

On the search path.
"""

from __future__ import annotations

from bisect import bisect_left
from heapq import nlargest
from math import log

from git_kb.index.segment import BODY, CODE, FIELD_NAMES, HEADING, TF_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from git_kb.index.segment import Postings, Segment
    from git_kb.index.segments import Segments
    from git_kb.index.view import View
    from git_kb.search.query import Query

MAX_EXPANSIONS = 100
# Sums of the same numbers in another order differ in the last bits; what comes this near to the threshold
# is scored again exactly.
SLACK = 1e-9


class Parameters:
    """BM25F's numbers. weights, b: per field, heading, body, code."""

    __slots__ = ("b", "k1", "weights")

    def __init__(
        self,
        weights: tuple[float, float, float] = (2.0, 1.0, 1.0),
        b: tuple[float, float, float] = (0.75, 0.75, 0.75),
        k1: float = 1.2,
    ):
        self.weights, self.b, self.k1 = weights, b, k1


DEFAULTS = Parameters()


class Hit:
    """One entry found. terms: those of the query it holds; fields: where."""

    __slots__ = ("entry_id", "fields", "ordinal", "score", "segment", "terms")

    def __init__(self, score: float, entry_id: bytes, segment: Segment, ordinal: int):
        self.score, self.entry_id, self.segment, self.ordinal = score, entry_id, segment, ordinal
        self.terms: list[str] = []
        self.fields: list[str] = []


class Result:
    """Hits in order, and how many entries match. `total_is_exact` is False when it is only a lower bound.

    best_possible: no entry can score as much as this; the sum of qtf * idf over the query's terms that occur.
    """

    __slots__ = ("best_possible", "hits", "total", "total_is_exact")

    def __init__(self, hits: list[Hit], total: int, total_is_exact: bool, best_possible: float):
        self.hits, self.total, self.total_is_exact, self.best_possible = hits, total, total_is_exact, best_possible


class _Term:
    """A query term: its weight times idf, and its postings per segment."""

    __slots__ = ("bound", "df", "lists", "name", "qtf")

    def __init__(self, name: str, qtf: int, lists: list[Postings | None], df: int, n: int):
        self.name, self.qtf, self.lists, self.df = name, qtf, lists, df
        # Also the least upper bound of what it adds to a score, since x / (k1 + x) < 1.
        self.bound = qtf * log(1 + (n - df + 0.5) / (df + 0.5))


def search(
    segments: Segments,
    view: View,
    query: Query,
    limit: int = 10,
    offset: int = 0,
    parameters: Parameters = DEFAULTS,
    only: set[bytes] | None = None,
) -> Result:
    """Return the best entries of the view, `limit` of them from `offset` on. Ties go to the smaller entry id.

    `only` restricts to some entry ids; statistics stay those of the view. Raises DamagedSegment.
    """
    n = max(view.n_live, 1)
    scorer = _Scorer(parameters, [t / n or 1.0 for t in view.tokens])
    opened = list(segments)
    masks = [_mask(view, segment, only) for segment in opened]
    found = _terms(opened, [_mask(view, s, None) for s in opened], query, n)
    wanted = limit + offset
    best: list[tuple[float, bytes, int, int]] = []
    total, exact = 0, True
    for index, segment in enumerate(opened):
        lists = [(t, p) for t in found if (p := t.lists[index]) is not None]
        if not lists:
            continue
        allowed = _allowed(segment, query, masks[index])
        threshold = best[wanted - 1][0] if 0 < wanted <= len(best) else 0.0
        candidates, seen, complete = _candidates(segment, lists, scorer, allowed, _banned(segment, query), wanted, threshold)
        total += seen
        exact = exact and complete
        for ordinal in candidates:
            score = scorer.score(segment, lists, ordinal)
            best.append((score, segment.entry_id(ordinal), index, ordinal))
        best.sort(key=lambda hit: (-hit[0], hit[1]))
        del best[wanted:]
    hits = []
    for score, entry_id, index, ordinal in best[offset:wanted]:
        hit = Hit(score, entry_id, opened[index], ordinal)
        _explain(hit, [(t, p) for t in found if (p := t.lists[index]) is not None])
        hits.append(hit)
    return Result(hits, total, exact, sum(term.bound for term in found))


def _mask(view: View, segment: Segment, only: set[bytes] | None) -> bytes | None:
    mask = view.mask(segment.name)
    if only is None:
        return mask
    chosen = bytes(map(only.__contains__, segment.entry_ids()))
    return chosen if mask is None else bytes(map(int.__and__, chosen, mask))


def _terms(opened: list[Segment], masks: list[bytes | None], query: Query, n: int) -> list[_Term]:
    """Return the query's terms that occur, in the query's order."""
    weights = dict(query.weights)
    for prefix in query.prefixes:
        names = sorted({name for s in opened for name in s.prefix_terms(prefix, MAX_EXPANSIONS)})[:MAX_EXPANSIONS]
        for name in names:
            weights.setdefault(name, 1)
    found = []
    for name, qtf in weights.items():
        lists = [s.postings(name) for s in opened]
        df = sum(_live_df(p, mask) for p, mask in zip(lists, masks, strict=True) if p is not None)
        if df:
            found.append(_Term(name, qtf, lists, df, n))
    return found


def _live_df(postings: Postings, mask: bytes | None) -> int:
    return postings.df if mask is None else sum(map(mask.__getitem__, postings.ordinals))


class _Scorer:
    """The formula, with its constants worked out once: x_f = tf / (c0_f + c1_f * len_f)."""

    __slots__ = ("c0", "c1", "k1")

    def __init__(self, parameters: Parameters, average: Sequence[float]):
        self.k1 = parameters.k1
        self.c0, self.c1 = [], []
        for weight, b, mean in zip(parameters.weights, parameters.b, average, strict=True):
            # A field of weight 0 counts for nothing: an infinite norm.
            self.c0.append((1 - b) / weight if weight > 0 else float("inf"))
            self.c1.append(b / mean / weight if weight > 0 else 0.0)

    def x(self, segment: Segment, postings: Postings, at: int) -> float:
        """Return x of the posting at index `at`."""
        ordinal = postings.ordinals[at]
        lengths = segment.lengths
        x = 0.0
        tf = postings.body_tf[at]
        if tf:
            if tf == TF_MAX:
                tf = segment.tf(postings, at)
            x = tf / (self.c0[BODY] + self.c1[BODY] * lengths[BODY][ordinal])
        for field, (ordinals, tfs) in ((HEADING, postings.heading), (CODE, postings.code)):
            if len(tfs):
                place = bisect_left(ordinals, ordinal)
                if place < len(tfs) and ordinals[place] == ordinal:
                    tf = tfs[place]
                    if tf == TF_MAX:
                        tf = segment.token_string(ordinal, field).count(postings.char)
                    x += tf / (self.c0[field] + self.c1[field] * lengths[field][ordinal])
        return x

    def score(self, segment: Segment, lists: list[tuple[_Term, Postings]], ordinal: int) -> float:
        """Return the score of one entry, terms added in the query's order."""
        score = 0.0
        for term, postings in lists:
            at = bisect_left(postings.ordinals, ordinal)
            if at < postings.df and postings.ordinals[at] == ordinal:
                x = self.x(segment, postings, at)
                score += term.bound * x / (self.k1 + x)
        return score

    def scores(self, segment: Segment, term: _Term, postings: Postings) -> list[float]:
        """Return what the term adds to the score of each of its postings."""
        k1, bound = self.k1, term.bound
        c0, c1 = self.c0[BODY], self.c1[BODY]
        lengths = segment.lengths[BODY]
        ordinals = postings.ordinals
        tfs: Sequence[int] = postings.body_tf
        if TF_MAX in postings.body_tf:
            tfs = [segment.tf(postings, at) for at in range(postings.df)]
        xs = [tf / (c0 + c1 * length) for tf, length in zip(tfs, map(lengths.__getitem__, ordinals), strict=True)]
        if len(postings.heading[1]) or len(postings.code[1]):
            for field, (sub, sub_tfs) in ((HEADING, postings.heading), (CODE, postings.code)):
                if not len(sub_tfs):
                    continue
                c0, c1, lengths = self.c0[field], self.c1[field], segment.lengths[field]
                at = 0
                for ordinal, tf in zip(sub, sub_tfs, strict=True):
                    at = bisect_left(ordinals, ordinal, at)
                    if tf == TF_MAX:
                        tf = segment.token_string(ordinal, field).count(postings.char)
                    xs[at] += tf / (c0 + c1 * lengths[ordinal])
        return [bound * x / (k1 + x) for x in xs]


def _candidates(
    segment: Segment,
    lists: list[tuple[_Term, Postings]],
    scorer: _Scorer,
    allowed: set[int] | bytes | None,
    banned: set[int],
    wanted: int,
    threshold: float,
) -> tuple[list[int], int, bool]:
    """Return (ordinals that may be among the best, matches seen, whether all matches were seen)."""
    if isinstance(allowed, set):
        matching = {o for o in allowed - banned if any(_holds(p, o) for _, p in lists)}
        scored = {o: scorer.score(segment, lists, o) for o in matching}
        return _best(scored, wanted, threshold), len(matching), True
    order = sorted(lists, key=lambda pair: -pair[0].bound)
    left = sum(term.bound for term, _ in order)
    partial: dict[int, float] = {}
    for done, (term, postings) in enumerate(order):
        if done or threshold:
            if len(partial) >= wanted > 0:
                threshold = max(threshold, nlargest(wanted, partial.values())[-1])
            if left < threshold * (1 - SLACK):
                _probe(segment, order[done:], scorer, partial, threshold, left)
                return _best(partial, wanted, threshold), len(partial), False
        left -= term.bound
        scores = scorer.scores(segment, term, postings)
        pairs = zip(postings.ordinals, scores, strict=True)
        if allowed is not None or banned:
            pairs = ((o, s) for o, s in pairs if (allowed is None or allowed[o]) and o not in banned)  # type: ignore[assignment]
        if partial:
            get = partial.get
            for ordinal, score in pairs:
                partial[ordinal] = get(ordinal, 0.0) + score
        else:
            partial = dict(pairs)
    return _best(partial, wanted, threshold), len(partial), True


def _probe(
    segment: Segment,
    rest: list[tuple[_Term, Postings]],
    scorer: _Scorer,
    partial: dict[int, float],
    threshold: float,
    left: float,
) -> None:
    """Add what the remaining terms give to entries already found, as long as they can still reach the threshold."""
    floor = threshold * (1 - SLACK)
    alive = [o for o, score in partial.items() if score + left >= floor]
    for term, postings in rest:
        left -= term.bound
        ordinals = postings.ordinals
        still = []
        for ordinal in alive:
            at = bisect_left(ordinals, ordinal)
            if at < postings.df and ordinals[at] == ordinal:
                x = scorer.x(segment, postings, at)
                partial[ordinal] += term.bound * x / (scorer.k1 + x)
            if partial[ordinal] + left >= floor:
                still.append(ordinal)
        alive = still


def _best(scores: dict[int, float], wanted: int, threshold: float) -> list[int]:
    """Return the ordinals of the best `wanted` scores, with all that tie with the last one but for rounding."""
    if wanted <= 0 or not scores:
        return []
    if len(scores) > wanted:
        threshold = max(threshold, nlargest(wanted, scores.values())[-1])
    floor = threshold * (1 - SLACK)
    return [o for o, score in scores.items() if score >= floor]


def _holds(postings: Postings, ordinal: int) -> bool:
    at = bisect_left(postings.ordinals, ordinal)
    return at < postings.df and postings.ordinals[at] == ordinal


def _banned(segment: Segment, query: Query) -> set[int]:
    banned: set[int] = set()
    for term in query.excluded:
        postings = segment.postings(term)
        if postings is not None:
            banned.update(postings.ordinals)
    return banned


def _allowed(segment: Segment, query: Query, mask: bytes | None) -> set[int] | bytes | None:
    """Return the entries that hold all phrases, as a set; without phrases the mask."""
    if not query.phrases:
        return mask
    allowed: set[int] | None = None
    for phrase in query.phrases:
        lists = [segment.postings(term) for term in dict.fromkeys(phrase)]
        if any(p is None for p in lists):
            return set()
        present = sorted((p for p in lists if p is not None), key=lambda p: p.df)
        common: set[int] = set(present[0].ordinals)
        for postings in present[1:]:
            common.intersection_update(postings.ordinals)
        if allowed is not None:
            common &= allowed
        chars = {term: p.char for term, p in zip(dict.fromkeys(phrase), lists, strict=True) if p is not None}
        needle = "".join(chars[term] for term in phrase)
        allowed = {o for o in common if any(needle in segment.token_string(o, f) for f in (BODY, HEADING, CODE))}
    assert allowed is not None
    return allowed if mask is None else {o for o in allowed if mask[o]}


def _explain(hit: Hit, lists: Iterable[tuple[_Term, Postings]]) -> None:
    """Say which terms the hit holds, and in which fields."""
    held: set[int] = set()
    for term, postings in lists:
        at = bisect_left(postings.ordinals, hit.ordinal)
        if at == postings.df or postings.ordinals[at] != hit.ordinal:
            continue
        hit.terms.append(term.name)
        if postings.body_tf[at]:
            held.add(BODY)
        for field, (ordinals, _) in ((HEADING, postings.heading), (CODE, postings.code)):
            place = bisect_left(ordinals, hit.ordinal)
            if place < len(ordinals) and ordinals[place] == hit.ordinal:
                held.add(field)
    hit.fields = [FIELD_NAMES[f] for f in sorted(held)]
