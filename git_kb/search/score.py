"""The score of an entry: BM25F with a heading zone, and nearness of words. docs/ranking.md says more, and where it is from.

Per term and entry x = sum over fields of w_f * tf_f / (1 - b_f + b_f * len_f / avglen_f), y = x / (k1 + x), and the term adds
qtf * idf * y (Robertson & Zaragoza 2009, doi:10.1561/1500000019), times 1 + zone where it stands in the heading. Two words
that follow each other in the query add proximity * the smaller of their qtf * idf * y', where y' is made like y, from a
frequency in which an occurrence of the rarer word counts 1 / distance to the other one (Rasolofo & Savoy 2003,
doi:10.1007/3-540-36618-0_15). So neither is ever more than a fixed share of what BM25F gives, and bounds stay bounds.

No (k1 + 1) factor: it never changes an order. idf = ln(1 + (N - df + 0.5) / (df + 0.5)), over the live entries of the view.

On the search path.
"""

from __future__ import annotations

from math import inf

from git_kb.index.segment import REFERENCE_B, REFERENCE_K1, REFERENCE_WEIGHTS, REFERENCE_ZONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from git_kb.index.segment import Segment

# Words farther apart than this are not near.
WINDOW = 5
NEARNESS = [0.0, *[1 / distance for distance in range(1, WINDOW + 1)]]


class Parameters:
    """The formula's numbers. weights, b: per field, heading, body, code. proximity, zone: shares, from 0 to 1."""

    __slots__ = ("b", "k1", "proximity", "weights", "zone")

    def __init__(
        self,
        weights: tuple[float, float, float] = REFERENCE_WEIGHTS,
        b: tuple[float, float, float] = REFERENCE_B,
        k1: float = REFERENCE_K1,
        proximity: float = 0.3,
        zone: float = REFERENCE_ZONE,
    ):
        self.weights, self.b, self.k1, self.proximity, self.zone = weights, b, k1, proximity, zone

    def values(self) -> dict[str, float]:
        """Return the numbers by name: `k1`, `proximity`, `zone`, and `weights.<field>` and `b.<field>` of each field."""
        (heading, body, code), b = self.weights, self.b
        return {
            "k1": self.k1,
            "weights.heading": heading,
            "weights.body": body,
            "weights.code": code,
            "b.heading": b[0],
            "b.body": b[1],
            "b.code": b[2],
            "proximity": self.proximity,
            "zone": self.zone,
        }

    def changed(self, values: Mapping[str, float]) -> Parameters:
        """Return parameters with some numbers changed, by the names of `values`."""
        v = {**self.values(), **values}
        return Parameters(
            (v["weights.heading"], v["weights.body"], v["weights.code"]),
            (v["b.heading"], v["b.body"], v["b.code"]),
            v["k1"],
            v["proximity"],
            v["zone"],
        )


DEFAULTS = Parameters()
# (growth, k1, raised) -> bounds: a process that searches often asks for the same ones.
MAX_KEPT = 100
_BOUNDS: dict[tuple[float, float, float], list[float]] = {}


class Scorer:
    """The formula with its constants worked out once: x_f = tf / (c0_f + c1_f * len_f).

    means: tokens in heading, body and code of an average entry.
    """

    __slots__ = ("c0", "c1", "k1", "means", "parameters", "raised")

    def __init__(self, parameters: Parameters, means: Sequence[float]):
        self.parameters, self.means = parameters, means
        self.k1 = parameters.k1
        # What a term in the heading counts.
        self.raised = 1 + parameters.zone if parameters.weights[0] > 0 else 1.0
        self.c0, self.c1 = [], []
        for weight, b, mean in zip(parameters.weights, parameters.b, means, strict=True):
            # A field of weight 0 counts for nothing: an infinite norm.
            self.c0.append((1 - b) / weight if weight > 0 else inf)
            self.c1.append(b / mean / weight if weight > 0 else 0.0)

    def score(
        self,
        strings: Sequence[str],
        terms: Sequence[tuple[float, str]],
        pairs: Sequence[tuple[float, int, int]] = (),
        floor: float = 0.0,
    ) -> float:
        """Return the score of an entry, or anything below `floor` when it is below.

        strings: its token strings. terms: (qtf * idf, character) of each, in the query's order. pairs: (what it adds at most,
        number of the rarer term, number of the other).
        """
        heading, body, code = strings
        (h0, b0, d0), (h1, b1, d1) = self.c0, self.c1
        heading_norm, body_norm, code_norm = h0 + h1 * len(heading), b0 + b1 * len(body), d0 + d1 * len(code)
        k1, raised = self.k1, self.raised
        score = 0.0
        saturated = []
        for weight, char in terms:
            x = 0.0
            if tf := body.count(char):
                x = tf / body_norm
            if code and (tf := code.count(char)):
                x += tf / code_norm
            if tf := heading.count(char):
                x += tf / heading_norm
                y = x / (k1 + x)
                score += weight * y * raised
            elif x:
                y = x / (k1 + x)
                score += weight * y
            else:
                y = 0.0
            saturated.append(y)
        if not pairs:
            return score
        there = [pair for pair in pairs if saturated[pair[1]] and saturated[pair[2]]]
        if score + sum([most * saturated[rarer] for most, rarer, _ in there]) < floor:
            return score
        for most, rarer, other in there:
            char, near = terms[rarer][1], terms[other][1]
            x = 0.0
            if near in body:
                x = nearness(body, char, near) / body_norm
            if near in code:
                x += nearness(code, char, near) / code_norm
            if near in heading:
                x += nearness(heading, char, near) / heading_norm
            if x:
                score += most * x / (k1 + x)
        return score

    def bounds(self, segment: Segment) -> list[float]:
        """Return, by impact 0..255, what y is at most for a posting of the segment, raised where the term is in the heading."""
        growth = self._growth(segment)
        key = (growth, self.k1, self.raised)
        bounds = _BOUNDS.get(key)
        if bounds is None:
            if len(_BOUNDS) >= MAX_KEPT:
                _BOUNDS.clear()
            in_heading = [self.raised * self._grown(growth, impact / 255) for impact in range(256)]
            elsewhere = [self._grown(growth, (1 + REFERENCE_ZONE) * impact / 255) for impact in range(256)]
            bounds = _BOUNDS[key] = list(map(max, in_heading, elsewhere))
        return bounds

    def _grown(self, growth: float, y: float) -> float:
        """Return what x / (k1 + x) is, when x is `growth` times what it was when that was y."""
        if y >= 1:
            return 1.0
        x = growth * REFERENCE_K1 * y / (1 - y)
        return x / (self.k1 + x) if x else 0.0

    def _growth(self, segment: Segment) -> float:
        """Return the factor by which x is at most larger here than where impacts were made: with their parameters and means."""
        growth = 0.0
        for field, c0, c1 in zip(range(3), self.c0, self.c1, strict=True):
            longest = segment.longest[field]
            if not longest or c0 == inf:
                continue
            mean = segment.tokens[field] / segment.n_entries
            weight, b = REFERENCE_WEIGHTS[field], REFERENCE_B[field]
            # A ratio of two linear functions of the length is greatest at one of the ends.
            for length in (1, longest):
                reference = (1 - b + b * length / mean) / weight
                growth = max(growth, reference / (c0 + c1 * length))
        return growth


def nearness(string: str, char: str, other: str) -> float:
    """Return the sum over the occurrences of `char` of 1 / distance to the nearest `other`, 0 beyond the window."""
    total = 0.0
    at = string.find(char)
    while at >= 0:
        after = string.find(other, at + 1, at + 1 + WINDOW)
        before = string.rfind(other, at - WINDOW if at > WINDOW else 0, at)
        distance = after - at if after >= 0 else 0
        if before >= 0 and not 0 < distance < at - before:
            distance = at - before
        total += NEARNESS[distance]
        at = string.find(char, at + 1)
    return total
