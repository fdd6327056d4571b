"""Does an entry hold what a query requires? And which entries of a segment may?

An entry is looked at as its token string in UTF-8, as it is stored: a phrase is a substring of it.

On the search path.
"""

from __future__ import annotations

from itertools import chain, compress

from git_kb.search.query import Atom, Either
from git_kb.text.words import FIELDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from git_kb.index.segment import Postings, Segment
    from git_kb.search.query import Group

    Node = Atom | Either | Group
    # Takes a token string as stored.
    Check = Callable[[bytes], bool]

# A beginning that more terms than this share is looked for in the first ones alone.
MAX_BEGINNINGS = 2000
# A list of up to so many times as many entries is gone through, of a longer one those in question are looked up.
MAX_RATIO = 16
SEPARATOR = FIELDS.encode()


class Lists:
    """Posting lists of one segment, each read once."""

    def __init__(self, segment: Segment, known: Mapping[str, Postings]):
        """`known`: what was read already, by term."""
        self.segment = segment
        self._known: dict[str, Postings | None] = dict(known)
        self._beginnings: dict[str, list[Postings]] = {}

    def term(self, name: str) -> Postings | None:
        """Return the postings of a term."""
        if name not in self._known:
            self._known[name] = self.segment.postings(name)
        return self._known[name]

    def readings(self, atom: Atom) -> list[list[list[Postings]]]:
        """Return, for each reading of an atom that can hold, and each term of it, the lists of which one has to hold."""
        if atom.prefix:
            also = [p for term in atom.also if (p := self.term(term)) is not None]
            found = list(dict.fromkeys([*also, *(p for (beginning,) in atom.readings for p in self._beginning(beginning))]))
            return [[found]] if found else []
        lists = [[self.term(term) for term in reading] for reading in atom.readings]
        return [[[p] for p in reading if p is not None] for reading in lists if None not in reading]

    def _beginning(self, text: str) -> list[Postings]:
        if text not in self._beginnings:
            found = (self.term(name) for name in self.segment.prefix_terms(text, MAX_BEGINNINGS))
            self._beginnings[text] = [p for p in found if p is not None]
        return self._beginnings[text]


def make_check(node: Node, lists: Lists) -> Check | None:
    """Return the test of whether an entry holds a node, None when no entry of the segment does."""
    if isinstance(node, Atom):
        return _atom_check(node, lists)
    if isinstance(node, Either):
        found = [check for group in node.groups if (check := make_check(group, lists)) is not None]
        return _any_of(found) if found else None
    must = [make_check(child, lists) for child in node.must]
    if None in must:
        return None
    bans = [ban for child in node.must_not if (ban := make_check(child, lists)) is not None]
    checks = [check for check in must if check is not None]
    if not node.must:
        should = [check for atom in node.should if (check := make_check(atom, lists)) is not None]
        if not should:
            return None
        checks = [_any_of(should)]
    return lambda stored: all(check(stored) for check in checks) and not any(ban(stored) for ban in bans)


def _any_of(checks: list[Check]) -> Check:
    return checks[0] if len(checks) == 1 else lambda stored: any(check(stored) for check in checks)


def _atom_check(atom: Atom, lists: Lists) -> Check | None:
    readings = lists.readings(atom)
    if not readings:
        return None
    if atom.prefix:
        needles = [p.char.encode() for p in readings[0][0]]
        return _in_fields(atom.field, lambda field: any(needle in field for needle in needles))
    strings = ["".join([found[0].char for found in reading]) for reading in readings]
    return _any_of([_string_check(string, atom) for string in strings])


def _string_check(string: str, atom: Atom) -> Check:
    if atom.slop and len(string) > 1:
        return _in_fields(atom.field, lambda field: _stand_near(field.decode("utf-8", "replace"), string, atom.slop))
    return _holds(string.encode(), atom.field)


class Holds:
    """The check of a phrase in any field: that a token string has a substring."""

    __slots__ = ("needle",)

    def __init__(self, needle: bytes):
        self.needle = needle

    def __call__(self, stored: bytes) -> bool:
        return self.needle in stored


def _holds(needle: bytes, field: int | None) -> Check:
    return Holds(needle) if field is None else lambda stored: needle in stored.split(SEPARATOR)[field]


def _in_fields(field: int | None, check: Check) -> Check:
    """Return a check of one field, or of each until one passes."""
    if field is None:
        return lambda stored: any(check(part) for part in stored.split(SEPARATOR))
    return lambda stored: check(stored.split(SEPARATOR)[field])


def _stand_near(string: str, chars: str, slop: int) -> bool:
    """Return whether the characters stand in order within a stretch of their number and `slop` more."""
    start = string.find(chars[0])
    while start >= 0:
        at = start
        for char in chars[1:]:
            at = string.find(char, at + 1, start + len(chars) + slop)
            if at < 0:
                break
        else:
            return True
        start = string.find(chars[0], start + 1)
    return False


def cost(node: Node, lists: Lists) -> int:
    """Return how many entries `candidates` may return."""
    if isinstance(node, Atom):
        return sum(min(sum(p.df for p in found) for found in reading) for reading in lists.readings(node))
    if isinstance(node, Either):
        return sum(cost(group, lists) for group in node.groups)
    if node.must:
        return min(cost(child, lists) for child in node.must)
    return sum(cost(atom, lists) for atom in node.should)


def candidates(node: Node, lists: Lists) -> set[int]:
    """Return ordinals among which are all entries that hold the node."""
    if isinstance(node, Atom):
        return set().union(*map(_holding_all, lists.readings(node)))
    if isinstance(node, Either):
        return set().union(*[candidates(group, lists) for group in node.groups])
    if node.must:
        return candidates(min(node.must, key=lambda child: cost(child, lists)), lists)
    return set().union(*[candidates(atom, lists) for atom in node.should])


def candidates_of_all(nodes: Sequence[Node], lists: Lists) -> set[int]:
    """Return ordinals among which are all entries that hold each of the nodes."""
    first, *others = sorted(nodes, key=lambda node: cost(node, lists))
    listed = candidates(first, lists)
    for node in others:
        if isinstance(node, Atom):
            listed = set().union(*[_narrowed(listed, reading) for reading in lists.readings(node)])
    return listed


def _holding_all(reading: list[list[Postings]]) -> set[int]:
    first, *others = sorted(reading, key=lambda found: sum(p.df for p in found))
    return _narrowed({o for postings in first for o in postings.ordinals}, others)


def _narrowed(listed: set[int], reading: list[list[Postings]]) -> set[int]:
    """Return those of the ordinals that hold every term of a reading."""
    for found in reading:
        if sum(p.df for p in found) <= MAX_RATIO * len(listed):
            listed = listed.intersection(chain.from_iterable([p.ordinals for p in found]))
        else:
            rows = list(listed)
            listed = {o for p in found for o in compress(rows, p.impacts_of(rows))}
    return listed


def present(node: Node, lists: Lists) -> int:
    """Return the same as `candidates` as one long integer, little-endian: byte `ordinal` is 1 for those, else 0."""
    if isinstance(node, Atom):
        some = 0
        for reading in lists.readings(node):
            both = -1
            for found in reading:
                one = 0
                for postings in found:
                    one |= int.from_bytes(postings.present(), "little")
                both &= one
            some |= both
        return some
    children: list[Node] = [*node.groups] if isinstance(node, Either) else [*(node.must or node.should)]
    every = not isinstance(node, Either) and bool(node.must)
    result = -1 if every else 0
    for child in children:
        result = result & present(child, lists) if every else result | present(child, lists)
    return result
