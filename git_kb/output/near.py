"""Near-duplicates with their places, as text and as data."""

from __future__ import annotations

from dataclasses import dataclass

from git_kb.index.view import View
from git_kb.output.hits import shown_source
from git_kb.output.show import Place
from git_kb.output.terminal import visible_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.store.near import NearDuplicates


@dataclass(frozen=True, slots=True)
class NearPair:
    """Two sections where they stand first; `new` is the one that came in."""

    new: Place
    other: Place
    similarity: float


@dataclass(frozen=True, slots=True)
class NearReport:
    """The pairs that are told, and how many there are."""

    pairs: list[NearPair]
    total: int

    def data(self) -> list[dict[str, object]]:
        """Return the pairs as plain data: the new section, and the keys of seed 3 (kbid, similarity) for the other one."""
        return [
            {
                **_place(pair.other),
                "similarity": round(pair.similarity, 4),
                "of": _place(pair.new),
            }
            for pair in self.pairs
        ]


def near_report(view: View, near: NearDuplicates) -> NearReport:
    """Return near-duplicates with the places of their sections. May raise DamagedSegment."""
    places: dict[bytes, Place] = {}

    def place(kbid: bytes) -> Place:
        if kbid not in places:
            row = view.rows_of_section(kbid)[0]
            places[kbid] = Place(row, view.document(row.doc))
        return places[kbid]

    return NearReport([NearPair(place(p.new), place(p.other), p.similarity) for p in near.pairs], near.total)


def near_line(pair: NearPair, prefix: bytes = b"") -> str:
    """Return a pair for people."""
    return f"{pair.similarity:.2f}  {_text(pair.new, prefix)}  ~  {_text(pair.other, prefix)}"


def _text(place: Place, prefix: bytes) -> str:
    heading = place.row.heading[-1] if place.row.heading else place.document.title
    return f"{shown_source(place.document.source, prefix)}:{place.row.line} {visible_line(heading)}"


def _place(place: Place) -> dict[str, object]:
    return {"kbid": place.kbid, "citation": place.citation, "source": place.document.source, "line": place.row.line}
