"""What a score is made of: the parts of a hit's score, which add up to it. docs/ranking.md has the formula."""

from __future__ import annotations

from dataclasses import dataclass

from git_kb.index.segment import FIELD_NAMES
from git_kb.search.score import nearness

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from git_kb.search.rank import Hit, Result


@dataclass(frozen=True, slots=True)
class FieldPart:
    """What one field gives to x. tf: occurrences, for a pair the sum of 1 / distance; length, mean_length: in tokens."""

    field: str
    tf: float
    length: int
    mean_length: float
    x: float


@dataclass(frozen=True, slots=True)
class TermPart:
    """What one term gives. contribution = qtf * idf * x / (k1 + x); zone: what it gets on top for standing in the heading."""

    term: str
    qtf: float
    df: int
    idf: float
    fields: tuple[FieldPart, ...]
    contribution: float
    zone: float


@dataclass(frozen=True, slots=True)
class PairPart:
    """What two terms give that stand near each other, the rarer one first. contribution = most * x / (k1 + x)."""

    terms: tuple[str, str]
    most: float
    fields: tuple[FieldPart, ...]
    contribution: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """A score and its parts. n_live: entries that df counts among. parameters: as in Parameters.values.

    literals: words with symbols in them that the text has as written; bonus: what it gets for them.
    """

    score: float
    best_possible: float
    n_live: int
    parameters: dict[str, float]
    terms: tuple[TermPart, ...]
    pairs: tuple[PairPart, ...]
    literals: tuple[str, ...] = ()
    bonus: float = 0.0

    @property
    def words(self) -> float:
        """What BM25F alone gives."""
        return sum([part.contribution for part in self.terms])

    @property
    def zones(self) -> float:
        return sum([part.zone for part in self.terms])

    @property
    def proximity(self) -> float:
        return sum([part.contribution for part in self.pairs])


def explain_hit(hit: Hit, result: Result) -> Explanation:
    """Return the parts of a hit's score. Raises DamagedSegment."""
    basis = result.basis
    literals = tuple(hit.literals)
    if basis is None:
        return Explanation(hit.score, result.best_possible, 0, {}, (), (), literals, hit.bonus)
    scorer = basis.scorer
    strings = hit.segment.token_strings(hit.ordinal)
    index = basis.segments.index(hit.segment)
    chars = {term.name: postings.char for term in basis.terms if (postings := term.lists[index]) is not None}

    def parts_of(count: Callable[[str], float]) -> tuple[tuple[FieldPart, ...], float]:
        """Return the fields that count for something, and x / (k1 + x)."""
        parts = []
        for field, string in enumerate(strings):
            if tf := count(string):
                x = tf / (scorer.c0[field] + scorer.c1[field] * len(string))
                parts.append(FieldPart(FIELD_NAMES[field], tf, len(string), scorer.means[field], x))
        x = sum([part.x for part in parts])
        return tuple(parts), x / (scorer.k1 + x) if x else 0.0

    terms = []
    for term in basis.terms:
        if (char := chars.get(term.name)) is not None and any(char in string for string in strings):
            fields, y = parts_of(lambda string, char=char: string.count(char))  # type: ignore[misc]
            zone = term.weight * y * (scorer.raised - 1) if char in strings[0] else 0.0
            terms.append(TermPart(term.name, term.qtf, term.df, term.idf, fields, term.weight * y, zone))
    pairs = []
    for most, rarer, other in basis.pairs:
        both = chars.get(rarer.name), chars.get(other.name)
        if both[0] is not None and both[1] is not None:
            fields, y = parts_of(lambda string, both=both: nearness(string, *both))  # type: ignore[misc]
            if fields:
                pairs.append(PairPart((rarer.name, other.name), most, fields, most * y))
    return Explanation(
        hit.score,
        result.best_possible,
        basis.n_live,
        scorer.parameters.values(),
        tuple(terms),
        tuple(pairs),
        literals,
        hit.bonus,
    )
