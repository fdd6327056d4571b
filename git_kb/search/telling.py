"""Which terms of a long text tell most, for a query that asks for as many as can be looked for."""

from __future__ import annotations

from git_kb.search import rank
from git_kb.search.find import MAX_PREFIXES, MAX_TERMS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.index.segments import Segments
    from git_kb.index.view import View
    from git_kb.search.query import Query


def live_df(view: View, segments: Segments, term: str) -> int:
    """Return how many entries of the view hold a term."""
    df = 0
    for segment in segments:
        postings = segment.postings(term)
        if postings is not None:
            df += rank.live_df(postings, view.mask(segment.name))
    return df


def inverse_frequency(view: View, df: int) -> float:
    """Return the inverse document frequency of a term in a view; df may count entries that are not live too."""
    return rank.idf(max(view.n_live, df), df)


def shorten(view: View, segments: Segments, query: Query) -> None:
    """Leave of a query the MAX_TERMS terms with the greatest qtf * idf, where it has more, and say so in its warnings."""
    n = len(query.weights)
    if n > MAX_TERMS:
        worth = {}
        for term, qtf in query.weights.items():
            df = sum(p.df for s in segments if (p := s.postings(term)) is not None)
            worth[term] = qtf * inverse_frequency(view, df) if df else 0.0
        kept = set(sorted(worth, key=lambda term: (-worth[term], term))[:MAX_TERMS])
        query.weights = {term: qtf for term, qtf in query.weights.items() if term in kept}
        query.warnings.append(f"of its {n} terms the {MAX_TERMS} that tell most are looked for")
    if len(query.prefixes) > MAX_PREFIXES:
        query.warnings.append(f"of its {len(query.prefixes)} beginnings of words the first {MAX_PREFIXES} are looked for")
        del query.prefixes[MAX_PREFIXES:]
