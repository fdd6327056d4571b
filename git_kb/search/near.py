"""Sections similar to one: what it says most, asked as a query.

Each term of the section is worth what it adds to the section's own score: idf * x / (k1 + x), x = the sum over fields of
w * tf / (1 - b + b * length / mean), as in score.py. The N_TERMS terms worth most are asked for, each weighted by x / (k1 + x), so
that a term the section is about counts more than one it mentions. Choosing by tf * idf: Salton & Buckley 1988,
doi:10.1016/0306-4573(88)90021-0; a document as a query by its best terms: Robertson 1990, doi:10.1108/eb026866.
"""

from __future__ import annotations

from git_kb.index.segment import Segment
from git_kb.index.segments import Segments
from git_kb.index.view import View
from git_kb.search.query import Query
from git_kb.search.score import DEFAULTS, Parameters, Scorer
from git_kb.search.telling import inverse_frequency, live_df
from git_kb.text.words import STOP_WORDS

N_TERMS = 25


def near_query(view: View, segments: Segments, entry_ids: list[bytes], parameters: Parameters = DEFAULTS) -> Query:
    """Return the query that a section makes, given the entries it stands in. It asks for nothing when no segment holds them."""
    query = Query("")
    n = max(view.n_live, 1)
    scorer = Scorer(parameters, [t / n or 1.0 for t in view.tokens])
    weights: dict[str, float] = {}
    for segment in segments:
        ordinals = [o for id_ in entry_ids if (o := segment.ordinal(id_)) is not None]
        if not ordinals:
            continue
        strings = segment.token_strings(ordinals[0])
        for name, char in _names(segment, set("".join(strings))).items():
            if name not in STOP_WORDS:
                weights[name] = max(weights.get(name, 0.0), scorer.score(strings, [(1.0, char)]))
    worth = {name: w * inverse_frequency(view, live_df(view, segments, name)) for name, w in weights.items()}
    for name in sorted(worth, key=lambda name: (-worth[name], name))[:N_TERMS]:
        query.weights[name] = weights[name]
    return query


def _names(segment: Segment, chars: set[str]) -> dict[str, str]:
    """Return term -> character of these characters. The terms of a segment have no order by character, so all are looked at."""
    return {name: char for name, code_point, _ in segment.all_terms() if (char := chr(code_point)) in chars}
