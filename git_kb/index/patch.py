"""The order and the masks of a view that differs little from an old one, without a look at all entries."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from itertools import repeat

from git_kb.index.build import from_little_endian, little_endian
from git_kb.index.segments import Segments
from git_kb.index.view import Masks, View, ViewPart

# Rows that come and go, and entries to be looked up in segments; above, it is as quick to begin anew.
MAX_ROWS, MAX_LOOK_UPS = 2000, 4000


def patch_order(documents: ViewPart, segments: Segments, old: View) -> tuple[bytes, Masks, int] | None:
    """Return (the area `order`, the mask of each segment, how many different entries there are).

    None where too much is different, or something about the old view is not as it should be. May raise DamagedSegment.
    """
    n_taken = sum(n for taken, n in documents.runs if taken is not None)
    n_rows = sum(n for _, n in documents.runs)
    known = [segment.name for segment in segments if segment.name in old.segment_names]
    fresh = [segment for segment in segments if segment.name not in old.segment_names]
    n_different = n_rows - n_taken + old.n_rows - n_taken
    if old.n_missing or n_different > MAX_ROWS or known != [name for name in old.segment_names if name in known]:
        return None
    if (n_different + sum(segment.n_entries for segment in fresh)) * max(len(segments.segments), 1) > MAX_LOOK_UPS:
        return None
    moved = _moved_rows(documents, old.n_rows)
    if moved is None:
        return None
    id_of = documents.entry_id
    order: list[int] | array[int] = from_little_endian(bytes(old.file.read_area("order")))
    if moved:
        try:
            order = list(map(moved.__getitem__, order))
        except IndexError:
            return None
        if n_taken < old.n_rows:
            order = [row for row in order if row >= 0]
    for row in documents.new_rows():
        order.insert(bisect_left(order, (id_of(row), row), key=lambda r: (id_of(r), r)), row)

    def is_live(entry_id: bytes) -> bool:
        at = bisect_left(order, entry_id, key=id_of)
        return at < len(order) and id_of(order[at]) == entry_id

    came = {id_ for id_ in documents.new_entry_ids() if not old.holds(id_)}
    left = {id_ for row in _gone_rows(documents, old.n_rows) if not is_live(id_ := old.entry_id(row))}
    different = {*came, *left, *(id_ for segment in fresh for id_ in segment.entry_ids())}
    masks = _masks(segments, old, {id_: is_live(id_) for id_ in different})
    n_entries = old.n_live + len(came) - len(left)
    if sum(segment.n_entries if mask is None else mask.count(1) for segment, mask in masks) != n_entries:
        # A segment that is gone held what none of the others does.
        return None
    return little_endian(array("I", order)), masks, n_entries


def _moved_rows(documents: ViewPart, n_old: int) -> list[int] | None:
    """Return the new number of each old row, -1 where it is gone; nothing when all keep theirs.

    None when they have changed their order.
    """
    moved: list[int] = []
    at = 0
    same = True
    for taken, n in documents.runs:
        if taken is not None:
            if taken.start < len(moved) or taken.stop > n_old or len(taken) != n:
                return None
            same = same and taken.start == len(moved) == at
            moved.extend(repeat(-1, taken.start - len(moved)))
            moved.extend(range(at, at + n))
        at += n
    same = same and len(moved) == n_old
    moved.extend(repeat(-1, n_old - len(moved)))
    return [] if same else moved


def _gone_rows(documents: ViewPart, n_old: int) -> Iterator[int]:
    at = 0
    for taken, _ in documents.runs:
        if taken is not None:
            yield from range(at, taken.start)
            at = taken.stop
    yield from range(at, n_old)


def _masks(segments: Segments, old: View, different: dict[bytes, bool]) -> Masks:
    """Return the masks: the old ones, but for the entries of which it is said whether they are live."""
    changed: dict[str, bytearray] = {}
    known = set(old.segment_names)
    for segment in segments:
        if segment.name not in known:
            changed[segment.name] = bytearray(segment.n_entries)
    for id_, live in different.items():
        # It is live in the first segment that holds it.
        left = live
        for segment in segments:
            ordinal = segment.ordinal(id_)
            if ordinal is None:
                continue
            if segment.name not in changed:
                mask = old.mask(segment.name)
                was = 1 if mask is None else mask[ordinal]
                if was != left:
                    changed[segment.name] = bytearray(b"\1" * segment.n_entries if mask is None else mask)
            if segment.name in changed:
                changed[segment.name][ordinal] = left
            left = False
    return [(s, changed[s.name] if s.name in changed else old.mask(s.name)) for s in segments]
