"""BM25F: the score of an entry, and what a posting can add to it at most.

Robertson & Zaragoza 2009, doi:10.1561/1500000019: per term and entry x = sum over fields of w_f * tf_f / (1
- b_f + b_f * len_f / avglen_f), and the score is the sum over terms of qtf * idf * x / (k1 + x). No (k1 +
1) factor: it never changes an order. idf = ln(1 + (N - df + 0.5) / (df + 0.5)), over the live entries of
the view.

On the search path.
"""

from __future__ import annotations

from math import inf

from git_kb.index.segment import REFERENCE_B, REFERENCE_K1, REFERENCE_WEIGHTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from git_kb.index.segment import Segment


class Parameters:
    """BM25F's numbers. weights, b: per field, heading, body, code."""

    __slots__ = ("b", "k1", "weights")

    def __init__(
        self,
        weights: tuple[float, float, float] = REFERENCE_WEIGHTS,
        b: tuple[float, float, float] = (REFERENCE_B, REFERENCE_B, REFERENCE_B),
        k1: float = REFERENCE_K1,
    ):
        self.weights, self.b, self.k1 = weights, b, k1


DEFAULTS = Parameters()
# (growth, k1) -> bounds: a process that searches often asks for the same ones.
MAX_KEPT = 100
_BOUNDS: dict[tuple[float, float], list[float]] = {}


class Scorer:
    """The formula with its constants worked out once: x_f = tf / (c0_f + c1_f * len_f).

    means: tokens in heading, body and code of an average entry.
    """

    __slots__ = ("c0", "c1", "k1")

    def __init__(self, parameters: Parameters, means: Sequence[float]):
        self.k1 = parameters.k1
        self.c0, self.c1 = [], []
        for weight, b, mean in zip(parameters.weights, parameters.b, means, strict=True):
            # A field of weight 0 counts for nothing: an infinite norm.
            self.c0.append((1 - b) / weight if weight > 0 else inf)
            self.c1.append(b / mean / weight if weight > 0 else 0.0)

    def score(self, strings: Sequence[str], terms: Sequence[tuple[float, str]]) -> float:
        """Return the score of an entry: its token strings, and (qtf * idf, character) of each term, in the query's order."""
        heading, body, code = strings
        (h0, b0, d0), (h1, b1, d1) = self.c0, self.c1
        heading_norm, body_norm, code_norm = h0 + h1 * len(heading), b0 + b1 * len(body), d0 + d1 * len(code)
        k1 = self.k1
        score = 0.0
        for weight, char in terms:
            x = 0.0
            if tf := body.count(char):
                x = tf / body_norm
            if tf := heading.count(char):
                x += tf / heading_norm
            if code and (tf := code.count(char)):
                x += tf / code_norm
            if x:
                score += weight * x / (k1 + x)
        return score

    def bounds(self, segment: Segment) -> list[float]:
        """Return, by impact 0..255, what x / (k1 + x) is at most for a posting of the segment."""
        growth = self._growth(segment)
        bounds = _BOUNDS.get((growth, self.k1))
        if bounds is None:
            if len(_BOUNDS) >= MAX_KEPT:
                _BOUNDS.clear()
            scale, k1 = growth * REFERENCE_K1, self.k1
            bounds = [(x := scale * impact / (255 - impact)) / (k1 + x) for impact in range(255)]
            bounds.append(1.0)
            _BOUNDS[growth, self.k1] = bounds
        return bounds

    def _growth(self, segment: Segment) -> float:
        """Return the factor by which x is at most larger here than where impacts were made: with their parameters and means."""
        growth = 0.0
        for field, c0, c1 in zip(range(3), self.c0, self.c1, strict=True):
            longest = segment.longest[field]
            if not longest or c0 == inf:
                continue
            mean = segment.tokens[field] / segment.n_entries
            weight = REFERENCE_WEIGHTS[field]
            # A ratio of two linear functions of the length is greatest at one of the ends.
            for length in (1, longest):
                reference = (1 - REFERENCE_B + REFERENCE_B * length / mean) / weight
                growth = max(growth, reference / (c0 + c1 * length))
        return growth
