"""The order of a list that two sides changed, and the merge of single values and sets: what all merges here have in common."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence
    from typing import TypeVar

    # Merges plain text: (base, ours, theirs) -> (result, has it markers of a conflict?).
    TextMerge = Callable[[bytes, bytes, bytes], tuple[bytes, bool]]
    T = TypeVar("T")
    K = TypeVar("K", bound=Hashable)


class Conflict:
    """A value that both sides changed, each in its own way; None where it is not there."""

    __slots__ = ("sides",)

    def __init__(self, base: str | None, ours: str | None, theirs: str | None):
        self.sides = (base, ours, theirs)


def plain_merge(base: bytes | None, ours: bytes, theirs: bytes) -> bytes | None:
    """Return the merge where at most one side changed anything, None where both did."""
    if ours == theirs or base == theirs:
        return ours
    return theirs if base == ours else None


def merge_value(base: str | None, ours: str | None, theirs: str | None) -> str | Conflict | None:
    """Return what one side made of a value, or a Conflict."""
    if ours == theirs or base == theirs:
        return ours
    return theirs if base == ours else Conflict(base, ours, theirs)


def merge_derived(base: str | None, ours: str | None, theirs: str | None) -> str | None:
    """Return what one side made of a value that ingest makes anew anyway; where both changed it, the smaller text of the two."""
    merged = merge_value(base, ours, theirs)
    if not isinstance(merged, Conflict):
        return merged
    return min(value for value in (ours, theirs) if value is not None)


def merge_set(base: Iterable[K], ours: Iterable[K], theirs: Iterable[K]) -> list[K]:
    """Return what is in both, and what one side added. In the order of ours, then of theirs."""
    before, mine, other = set(base), dict.fromkeys(ours), dict.fromkeys(theirs)
    kept = [k for k in mine if k in other or k not in before]
    return kept + [k for k in other if k not in mine and k not in before]


def merge_order(base: Sequence[K], ours: Sequence[K], theirs: Sequence[K], kept: set[K]) -> list[K]:
    """Return `kept` in an order made of both. No list has a key twice; each of `kept` is in `ours` or in `theirs`.

    What both have stands in the order of the side that moved something: ours when both did. What one side alone has follows
    what stands before it there; at one place, ours comes first.
    """
    mine, other = set(ours), set(theirs)
    common = {k for k in ours if k in other and k in kept}
    before = [k for k in base if k in common]
    old = set(before)
    moved_here, moved_there = ([k for k in keys if k in old] != before for keys in (ours, theirs))
    following = _following(ours, common, kept, mine - common), _following(theirs, common, kept, other - common)
    merged = following[0].get(None, []) + following[1].get(None, [])
    for key in theirs if moved_there and not moved_here else ours:
        if key in common:
            merged += [key, *following[0].get(key, ()), *following[1].get(key, ())]
    return merged


def _following(keys: Sequence[K], common: set[K], kept: set[K], own: set[K]) -> dict[K | None, list[K]]:
    """Return the keys that one side alone has, by the common one that stands before them; None for the start."""
    found: dict[K | None, list[K]] = {}
    last: K | None = None
    for key in keys:
        if key in common:
            last = key
        elif key in own and key in kept:
            found.setdefault(last, []).append(key)
    return found


def match(known: Sequence[T], items: Sequence[T], signatures: Sequence[Callable[[T], Hashable]]) -> list[int | None]:
    """Return for each item the place in `known` of the one that it is, None for a new one.

    signatures: what two of the same have in common, the surest first. Equal ones are taken in order.
    """
    found: list[int | None] = [None] * len(items)
    free = dict.fromkeys(range(len(known)))
    for signature in signatures:
        places: dict[Hashable, list[int]] = {}
        for place in free:
            places.setdefault(signature(known[place]), []).append(place)
        for at, item in enumerate(items):
            if found[at] is None and (same := places.get(signature(item))):
                found[at] = place = same.pop(0)
                del free[place]
    return found
