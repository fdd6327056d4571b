"""Ranking: the best entries by the score of `score.py`, found without looking at most postings.

A posting carries an impact, which bounds what its term adds to the entry's score. What two near words can add is bounded by the
impact of the rarer one, so it goes to that one's account. Once the k-th best entry
found so far has a score (the *threshold*), entries that cannot reach it by their bounds are never scored
(MaxScore, Turtle & Flood 1995, doi:10.1016/0306-4573(95)00020-H, with bounds for each posting). What is left
is scored exactly, best bound first, until no bound reaches the threshold: the result is that of scoring
everything.

Bounds are added in one of two ways: entry by entry where few entries come into question, and otherwise for
all entries at once, as sums of long integers in which each entry has one byte.

On the search path.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from itertools import chain, compress, islice, pairwise
from math import log

from git_kb.index.segment import FIELD_NAMES
from git_kb.search.score import DEFAULTS, Scorer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from git_kb.index.segment import Postings, Segment
    from git_kb.index.segments import Segments
    from git_kb.index.view import View
    from git_kb.search.match import Check
    from git_kb.search.query import Query
    from git_kb.search.score import Parameters

MAX_EXPANSIONS = 100
# Sums of the same numbers in another order differ in the last bits; what comes this near to the threshold
# is scored exactly.
SLACK = 1e-9
# More lists than this leave too few of a byte's values for each.
MAX_LANES = 64
# Up to so many postings, matches are counted one by one; up to so many entries, a filter is a list of candidates.
MAX_COUNTED = 1000
MAX_LISTED = 500
# Up to so many candidates of what a query demands are all checked.
MAX_PASSED = 2200
# Entries looked at for a first threshold.
N_SEEDS = 50
# For more entries than this, lists are taken to be made dense to look them up (`Postings.impacts_of` decides).
MIN_BY_DENSE = 500
# What things cost, in microseconds, to choose the cheaper way: looking one entry up in a list, making a list dense, a lane, and
# reading the sums.
PROBE_US, SCATTER_US, DENSE_US, LANE_US, SCAN_US = 0.15, 0.05, 200.0, 220.0, 100.0


class Hit:
    """One entry found.

    literals: what it holds as written, and bonus: the part of the score that it has for these (literal.py).
    """

    __slots__ = ("_fields", "_terms", "asked", "bonus", "entry_id", "literals", "ordinal", "score", "segment")

    def __init__(self, score: float, entry_id: bytes, segment: Segment, ordinal: int, asked: Sequence[tuple[str, str]] = ()):
        """asked: (term, its character in the segment) of the query's terms."""
        self.score, self.entry_id, self.segment, self.ordinal, self.asked = score, entry_id, segment, ordinal, asked
        self.literals: list[str] = []
        self.bonus = 0.0
        self._terms: list[str] | None = None
        self._fields: list[str] | None = None

    @property
    def terms(self) -> list[str]:
        """The terms of the query that it holds. Raises DamagedSegment."""
        if self._terms is None:
            self.explain()
        return self._terms or []

    @property
    def fields(self) -> list[str]:
        """The fields where it holds them. Raises DamagedSegment."""
        if self._fields is None:
            self.explain()
        return self._fields or []

    @fields.setter
    def fields(self, fields: list[str]) -> None:
        self._fields = fields

    def explain(self) -> None:
        """Find out which terms it holds, and where, while the segment is open. Raises DamagedSegment."""
        strings = self.segment.token_strings(self.ordinal) if self.asked else []
        self._terms = [name for name, char in self.asked if any(char in string for string in strings)]
        chars = [char for _, char in self.asked]
        fields = zip(FIELD_NAMES, strings, strict=False)
        self._fields = [field for field, string in fields if any(char in string for char in chars)]


class Result:
    """Hits in order, and how many entries match. `total_is_exact` is False when it is only a lower bound.

    best_possible: no entry can score as much as this. basis: what the scores were worked out from, None for a scan of texts.
    """

    __slots__ = ("basis", "best_possible", "hits", "total", "total_is_exact")

    def __init__(self, hits: list[Hit], total: int, total_is_exact: bool, best_possible: float, basis: Basis | None = None):
        self.hits, self.total, self.total_is_exact = hits, total, total_is_exact
        self.best_possible, self.basis = best_possible, basis


class Term:
    """A query term that occurs: asked for `qtf` times, held by `df` live entries; weight = qtf * idf; its postings per segment.

    expanded: it stands for the beginning of a word.
    """

    __slots__ = ("df", "expanded", "idf", "lists", "name", "qtf", "weight")

    def __init__(self, name: str, qtf: float, df: int, n: int, lists: list[Postings | None], expanded: bool):
        self.name, self.qtf, self.df, self.lists, self.expanded = name, qtf, df, lists, expanded
        self.idf = idf(n, df)
        self.weight = qtf * self.idf


class Basis:
    """What scores are worked out from: the query's terms that occur, and the formula with the view's statistics.

    n_live: live entries of the view. pairs: (what it adds at most, the rarer term, the other) of terms next to each other in the
    query. best_possible: no entry can score as much as this: all words in the heading, near each other. A word that no entry has
    counts too; of terms that are one word in several languages, the greatest one counts.
    """

    __slots__ = ("best_possible", "n_live", "pairs", "scorer", "segments", "terms")

    def __init__(self, terms: list[Term], scorer: Scorer, segments: list[Segment], n_live: int, query: Query):
        self.terms, self.scorer, self.segments, self.n_live = terms, scorer, segments, n_live
        self.pairs: list[tuple[float, Term, Term]] = []
        words = _words(terms, query)
        nearest = 0.0
        if share := scorer.parameters.proximity:
            for word, next_word in pairwise(words):
                here = [_pair(share, a, b) for a in word for b in next_word]
                self.pairs += here
                nearest += max([most for most, _, _ in here])
        expanded = sum([term.weight for term in terms if term.expanded])
        weights = sum([max([term.weight for term in word]) for word in words]) + expanded
        self.best_possible = (weights + _n_absent(terms, query) * idf(n_live, 0)) * scorer.raised + nearest


def _pair(share: float, a: Term, b: Term) -> tuple[float, Term, Term]:
    return share * min(a.weight, b.weight), *((a, b) if a.df <= b.df else (b, a))


def _words(terms: list[Term], query: Query) -> list[list[Term]]:
    """Return the terms word by word in the query's order: several where a word has one in each of several languages."""
    number = {name: n for n, same in enumerate(query.alternatives) for name in same}
    words: list[list[Term]] = []
    for term in terms:
        if term.expanded:
            continue
        if words and number.get(term.name, -1) == number.get(words[-1][0].name, -2):
            words[-1].append(term)
        else:
            words.append([term])
    return words


class _Best:
    """The best `size` entries so far. Ties go to the smaller entry id."""

    __slots__ = ("floor", "rows", "size")

    def __init__(self, size: int):
        self.size = size
        # (-score, entry id, segment, ordinal), in order.
        self.rows: list[tuple[float, bytes, int, int]] = []
        # An entry whose bound is below this is out.
        self.floor = 0.0

    def add(self, score: float, entry_id: bytes, segment: int, ordinal: int) -> None:
        """Take one entry, if it is good enough."""
        insort(self.rows, (-score, entry_id, segment, ordinal))
        if len(self.rows) >= self.size:
            del self.rows[self.size :]
            self.floor = -self.rows[-1][0] * (1 - SLACK)


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
    scorer = Scorer(parameters, [t / n or 1.0 for t in view.tokens])
    opened = list(segments)
    masks = [view.mask(segment.name) for segment in opened]
    found = _terms(opened, masks, query, n)
    basis = Basis(found, scorer, opened, n, query)
    best = _Best(max(limit + offset, 1))
    total, exact = 0, True
    for index, segment in enumerate(opened):
        lists = [(t, p) for t in found if (p := t.lists[index]) is not None]
        if lists:
            mask = masks[index] if only is None else _restrict(masks[index], segment, only)
            n_here, complete = _Search(segment, index, lists, basis, query, mask, best).run()
            total += n_here
            exact = exact and complete
    n_best = len(best.rows)
    if n_best < best.size:
        # Nothing was good enough to leave others out.
        total, exact = n_best, True
    total = max(total, n_best)
    asked = [[(t.name, p.char) for t in found if (p := t.lists[index]) is not None] for index in range(len(opened))]
    rows = best.rows[offset : offset + limit]
    hits = [Hit(-score, entry_id, opened[index], ordinal, asked[index]) for score, entry_id, index, ordinal in rows]
    return Result(hits, total, exact, basis.best_possible, basis)


def idf(n: int, df: int) -> float:
    """Return the inverse document frequency of a term that `df` of `n` entries hold; above 0."""
    return log(1 + (n - df + 0.5) / (df + 0.5))


def _restrict(mask: bytes | None, segment: Segment, only: set[bytes]) -> bytes:
    chosen = bytes(map(only.__contains__, segment.entry_ids()))
    return chosen if mask is None else bytes(map(int.__and__, chosen, mask))


def _terms(opened: list[Segment], masks: list[bytes | None], query: Query, n: int) -> list[Term]:
    """Return the query's terms that occur, in the query's order."""
    weights = dict(query.weights)
    for name in query.completions:
        weights.setdefault(name, 1)
    for prefix in query.prefixes:
        names = sorted({name for s in opened for name in s.prefix_terms(prefix, MAX_EXPANSIONS)})[:MAX_EXPANSIONS]
        for name in names:
            weights.setdefault(name, 1)
    lists = {name: [s.postings(name) for s in opened] for name in weights}
    dfs = {
        name: sum(live_df(p, mask) for p, mask in zip(found, masks, strict=True) if p is not None) for name, found in lists.items()
    }
    # One word in several languages is as frequent as all its terms; an entry has it in one of them.
    joint: dict[str, int] = {}
    for same in query.alternatives:
        together = min(sum(dfs[name] for name in same), n)
        for name in same:
            joint[name] = max(joint.get(name, 0), together)
    terms = []
    for name, qtf in weights.items():
        if dfs[name]:
            terms.append(Term(name, qtf, joint.get(name, dfs[name]), n, lists[name], name not in query.weights))
    return terms


def _n_absent(found: list[Term], query: Query) -> float:
    """Return how many words, each as often as it was asked for, no entry has. One word in several languages is one."""
    there = {term.name for term in found}
    absent = {name: qtf for name, qtf in query.weights.items() if name not in there}
    for same in query.alternatives:
        left = [name for name in same if name in absent]
        for name in left[0 if len(left) < len(same) else 1 :]:
            del absent[name]
    return sum(absent.values())


def live_df(postings: Postings, mask: bytes | None) -> int:
    """Return how many live entries of a segment hold a term. mask: as `View.mask` gives it."""
    if mask is None:
        return postings.df
    if postings.df <= MAX_COUNTED:
        return sum(map(mask.__getitem__, postings.ordinals))
    return (int.from_bytes(postings.present(), "little") & int.from_bytes(mask, "little")).bit_count()


class _Search:
    """The search of one segment: puts what is good enough into `best`."""

    def __init__(
        self,
        segment: Segment,
        index: int,
        lists: list[tuple[Term, Postings]],
        basis: Basis,
        query: Query,
        mask: bytes | None,
        best: _Best,
    ):
        self.segment, self.index, self.mask, self.scorer, self.best = segment, index, mask, basis.scorer, best
        self.terms = [(t.weight, p.char) for t, p in lists]
        numbers = {t.name: number for number, (t, _) in enumerate(lists)}
        self.pairs = [(m, numbers[a.name], numbers[b.name]) for m, a, b in basis.pairs if a.name in numbers and b.name in numbers]
        # What a term can add, over what its posting is worth: by itself, and with the words near it of which it is the rarer.
        self.weights = [t.weight for t, _ in lists]
        weights = list(self.weights)
        for most, rarer, _ in self.pairs:
            weights[rarer] += most
        self.impact_of = [p.impact for _, p in lists]
        self.bounds = basis.scorer.bounds(segment)
        # (the most the list can add, weight, postings), the most first.
        order = sorted(range(len(lists)), key=lambda number: -weights[number] * self.bounds[lists[number][1].top])
        self.lists = [(weights[n] * self.bounds[lists[n][1].top], weights[n], lists[n][1]) for n in order]
        # Of each pair: the share of the rarer one's list that is for nearness, and the places of both in `lists`.
        self.shares = [(most / weights[rarer], order.index(rarer), order.index(other)) for most, rarer, other in self.pairs]
        self.paired = {place for _, *both in self.shares for place in both}
        self.most = sum(row[0] for row in self.lists)
        # Place of a list -> what its postings can add, by impact, once that was asked for.
        self.worth: dict[int, list[float]] = {}
        self.root = query.root
        # Tests that an entry must not pass.
        self.bans: list[Check] = []
        if self.root.must or self.root.must_not:
            from git_kb.search.match import Lists, make_check

            self.found = Lists(segment, {t.name: p for t, p in lists})
            self.bans = [ban for node in self.root.must_not if (ban := make_check(node, self.found)) is not None]
        # What an entry has to pass.
        self.checks: list[Check] = []
        self.seen: set[int] = set()
        self.n_matching = 0

    def run(self) -> tuple[int, bool]:
        """Return (entries that match, whether that is all of them)."""
        if self.root.must:
            return self._run_required()
        total = self._count()
        if self.mask is not None and self.mask.count(1) <= MAX_LISTED:
            self._score_listed(compress(range(self.segment.n_entries), self.mask))
        elif self.most >= self.best.floor:
            if len(self.lists) == 1:
                self._score_list(*self.lists[0][1:])
            elif len(self.lists) > MAX_LANES:
                self._score_listed({o for _, _, p in self.lists for o in p.ordinals})
            else:
                self._seed()
                self._prune()
        return total

    def _count(self) -> tuple[int, bool]:
        """Return how many entries match, at least, and whether it is exactly so many."""
        mask = self.mask
        if sum(p.df for _, _, p in self.lists) <= MAX_COUNTED:
            matching = {o for _, _, p in self.lists for o in p.ordinals}
            if self.bans:
                matching = {o for o in matching if not self._is_banned(self.segment.token_bytes(o))}
            return (len(matching) if mask is None else sum(map(mask.__getitem__, matching))), True
        most = max(live_df(p, mask) for _, _, p in self.lists)
        if self.bans:
            from git_kb.search.match import cost

            return max(most - sum(cost(node, self.found) for node in self.root.must_not), 0), False
        return most, len(self.lists) == 1

    def _is_banned(self, stored: bytes) -> bool:
        return any(ban(stored) for ban in self.bans)

    def _can_be_good(self, ordinal: int) -> bool:
        """Return whether an entry can be good enough, by a closer look at its impacts: which words can be near each other in it."""
        most = [self.bounds[impact(ordinal)] for impact in self.impact_of]
        bound = sum(map(float.__mul__, self.weights, most))
        for worth, rarer, other in self.pairs:
            if most[other]:
                bound += worth * most[rarer]
        return bound >= self.best.floor

    def _passing(self, ordinals: Iterable[int]) -> list[int]:
        """Return those of the entries that match."""
        if self.mask is not None:
            ordinals = filter(self.mask.__getitem__, ordinals)
        from git_kb.search.match import Holds

        listed = list(ordinals)
        others = []
        for check in self.checks:
            if isinstance(check, Holds):
                listed = self.segment.holding(check.needle, listed)
            else:
                others.append(check)
        if others or self.bans:
            rows = zip(listed, map(self.segment.token_bytes, listed), strict=True)
            listed = [o for o, stored in rows if all(check(stored) for check in others) and not self._is_banned(stored)]
        return listed

    def _consider(self, ordinal: int) -> bool:
        """Score one entry if it matches. Returns whether it does."""
        if self.mask is not None and not self.mask[ordinal]:
            return False
        if self.checks or self.bans:
            stored = self.segment.token_bytes(ordinal)
            if not all(check(stored) for check in self.checks) or self._is_banned(stored):
                return False
        return self._score(ordinal)

    def _score(self, ordinal: int) -> bool:
        """Score one entry that passes the checks. Returns whether it matches."""
        score = self.scorer.score(self.segment.token_strings(ordinal), self.terms, self.pairs, self.best.floor)
        if score >= self.best.floor and (score > 0 or self.checks):
            self.best.add(score, self.segment.entry_id(ordinal), self.index, ordinal)
        return score > 0 or bool(self.checks)

    def _score_list(self, weight: float, postings: Postings) -> None:
        """Score the entries of the only list, best impact first, until none can be good enough."""
        for impact, ordinal in postings.best_first():
            if weight * self.bounds[impact] < self.best.floor:
                break
            self._consider(ordinal)

    def _seed(self) -> None:
        """Score some entries that are likely to be good, for a threshold to begin with."""
        if len(self.best.rows) >= self.best.size:
            return
        best = chain.from_iterable(postings.best_first() for _, _, postings in self.lists)
        listed = dict.fromkeys(ordinal for _, ordinal in islice(best, max(N_SEEDS, 2 * self.best.size)))
        n_scored = 0
        for _, ordinal in self._bounded(list(listed)):
            self.seen.add(ordinal)
            n_scored += self._consider(ordinal)
            if n_scored >= self.best.size:
                break

    def _prune(self) -> None:
        """Score whatever can be good enough."""
        floor = self.best.floor
        # Lists at the end that cannot reach the threshold together: an entry that only they hold is out.
        n_essential = len(self.lists)
        together = 0.0
        while n_essential and together + self.lists[n_essential - 1][0] < floor:
            n_essential -= 1
            together += self.lists[n_essential][0]
        survivors = []
        for most, weight, postings in self.lists[:n_essential]:
            least = bisect_left(self.bounds, (floor - (self.most - most)) / weight)
            flags = postings.impacts.translate(bytes(max(least, 1)) + b"\1" * (256 - max(least, 1)))
            survivors.append((postings, flags, flags.count(1)))
        n_listed = sum(n for _, _, n in survivors)
        made = sum(min(DENSE_US, SCATTER_US * p.df) for _, _, p in self.lists if not p.is_dense)
        by_lanes = made + len(self.lists) * LANE_US + SCAN_US
        if n_listed * len(self.lists) * PROBE_US + made * (n_listed > MIN_BY_DENSE) <= by_lanes:
            self._score_listed({o for p, flags, n in survivors for o in _places(p, flags, n)})
        else:
            self._score_lanes(None)

    def _score_listed(self, ordinals: Iterable[int]) -> None:
        """Score those of the entries that can be good enough."""
        for bound, ordinal in self._bounded([o for o in ordinals if o not in self.seen]):
            if bound < self.best.floor:
                break
            self.n_matching += self._consider(ordinal)

    def _bounded(self, ordinals: list[int]) -> list[tuple[float, int]]:
        """Return (bound, ordinal) of those of the entries that can be good enough, best first."""
        floor = self.best.floor
        bounds: list[float] = []
        left = self.most
        # Place of a list -> its bounds for the entries that are left.
        columns: dict[int, list[float]] = {}
        for place, (most, weight, postings) in enumerate(self.lists):
            left -= most
            if place not in self.worth:
                self.worth[place] = [weight * b for b in self.bounds]
            added = list(map(self.worth[place].__getitem__, postings.impacts_of(ordinals)))
            bounds = list(map(float.__add__, bounds, added)) if bounds else added
            if place in self.paired:
                columns[place] = added
            if floor:
                good = [b + left >= floor for b in bounds]
                if not all(good):
                    bounds, ordinals = list(compress(bounds, good)), list(compress(ordinals, good))
                    columns = {place: list(compress(column, good)) for place, column in columns.items()}
                    if not ordinals:
                        return []
        for share, rarer, other in self.shares:
            # Nothing is near a word that is not there.
            bounds = [b if there else b - share * own for b, own, there in zip(bounds, columns[rarer], columns[other], strict=True)]
        return sorted([(b, o) for b, o in zip(bounds, ordinals, strict=True) if b and b >= floor], reverse=True)

    def _score_lanes(self, needed: int | None) -> bool:
        """Score whatever can be good enough, from the sums of bounds of all entries.

        needed: a byte of 1 for each entry that may be looked at. Returns whether none was left out.
        """
        n = self.segment.n_entries
        n_values = 255 - len(self.lists)
        sums = 0
        for _, weight, postings in self.lists:
            # Rounded up, so that a sum is never too low; the sum of the greatest is at most 255, so no byte runs over.
            factor = weight * n_values / self.most
            values = bytes([0, *[int(b * factor) + 1 for b in self.bounds[1:]]][: postings.top + 1]).ljust(256, b"\xff")
            sums += int.from_bytes(postings.dense().translate(values), "little")
        for allowed in (needed, None if self.mask is None else int.from_bytes(self.mask, "little")):
            if allowed is not None:
                # From a byte of 1 to one of 255.
                sums &= allowed * 255
        data = sums.to_bytes(n, "little")
        complete = True
        for value in range(255, 0, -1):
            if value * self.most / n_values < self.best.floor:
                return complete and not any(data.count(v) for v in range(1, value + 1))
            listed = []
            ordinal = data.find(value)
            while ordinal >= 0:
                if ordinal not in self.seen:
                    listed.append(ordinal)
                ordinal = data.find(value, ordinal + 1)
            if self.checks or self.bans:
                # Nearly all candidates of a phrase fail here.
                listed = self._passing(listed)
            for ordinal in listed:
                if not self.pairs or self._can_be_good(ordinal):
                    self.n_matching += self._score(ordinal)
                else:
                    self.n_matching += bool(self.checks)
                    complete = complete and bool(self.checks)
        return complete

    def _run_required(self) -> tuple[int, bool]:
        from git_kb.search.match import candidates_of_all, cost, make_check, present

        for node in self.root.must:
            check = make_check(node, self.found)
            if check is None:
                return 0, True
            self.checks.append(check)
        if min(cost(node, self.found) for node in self.root.must) <= MAX_PASSED or len(self.lists) > MAX_LANES:
            listed = list(candidates_of_all(self.root.must, self.found))
        else:
            needed = -1
            for node in self.root.must:
                needed &= present(node, self.found)
            if needed.bit_count() > MAX_PASSED:
                complete = self._score_lanes(needed)
                return self.n_matching, complete
            n = self.segment.n_entries
            listed = list(compress(range(n), needed.to_bytes(n, "little")))
        if len(listed) > MAX_PASSED:
            self._score_listed(listed)
            return self.n_matching, False
        # Few enough to look at all of them, which gives an exact total.
        matching = self._passing(listed)
        self.checks, self.bans, self.mask = [], [], None
        self._score_listed(matching)
        if len(self.best.rows) < self.best.size:
            # What matches counts, even where nothing gives it a score.
            scored = {ordinal for _, _, index, ordinal in self.best.rows if index == self.index}
            for ordinal in matching:
                if ordinal not in scored:
                    self.best.add(0.0, self.segment.entry_id(ordinal), self.index, ordinal)
        return len(matching), True


def _places(postings: Postings, flags: bytes, n: int) -> Iterable[int]:
    """Return the ordinals of the `n` flagged postings."""
    if n * 16 > len(flags):
        return compress(range(len(flags)) if postings.is_dense else postings.ordinals, flags)
    places = []
    place = flags.find(1)
    while place >= 0:
        places.append(postings.at(place))
        place = flags.find(1, place + 1)
    return places
