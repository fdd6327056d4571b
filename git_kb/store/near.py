"""Near-duplicates among the sections of a view. docs/format-references.md, "Signatures"."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import compress

from git_kb.index.build import from_little_endian
from git_kb.index.pagefile import DamagedSegment
from git_kb.index.segment import ENTRY_SIZE, Segment
from git_kb.index.segments import DIRECTORY, Segments
from git_kb.index.signatures import (
    Signatures,
    body_terms,
    drop_signatures,
    encode_signatures,
    open_signatures,
    term_chars,
    write_signatures,
)
from git_kb.index.view import View
from git_kb.model.section import RAW_SIZE
from git_kb.repo.lockfile import Locked
from git_kb.store.collector import paused_collector
from git_kb.store.freshness import NOT_STORED, Hooks
from git_kb.store.workers import in_workers
from git_kb.text.minhash import MIN_AGREEING, N_BANDS, N_BINS, N_ROWS, THRESHOLD, n_differing

# Below this many entries without signatures, starting workers costs more than it saves.
MIN_PARALLEL = 10_000
# Up to this many keys are looked for one by one, by `bytes.find`; more of them in one pass over the column.
MAX_FINDS = 24
# What is told: pairs in all, and pairs of one group of sections with the same terms (or of two groups).
MAX_PAIRS, MAX_GROUP_PAIRS = 1000, 10
# From this many new entries on, the terms of whole segments are read instead of looked up one by one.
MANY = 200
MAX_SETS = 20_000
SET_SIZE = 8
MOST_DIFFERING = N_BINS - MIN_AGREEING


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sections, by the 16 bytes of their kbids, and the Jaccard similarity of their terms. `new` came in just now."""

    new: bytes
    other: bytes
    similarity: float


@dataclass(frozen=True, slots=True)
class NearDuplicates:
    """The pairs that are told, the most similar and then the largest first, and how many there are."""

    pairs: list[Pair]
    total: int


NONE = NearDuplicates([], 0)


def near_duplicates(kb_dir: str, view: View, segments: Segments, new: set[bytes], hooks: Hooks) -> NearDuplicates:
    """Return the near-duplicates of sections that are `new` (kbids, 16 bytes) among all sections of the view.

    Makes the signatures that are missing. Raises DamagedSegment when a segment is damaged.
    """
    if not new:
        return NONE
    with paused_collector():
        signatures = _fresh_signatures(kb_dir, segments, hooks)
        try:
            return _Search(view, segments, signatures, new).run()
        finally:
            for one in signatures:
                one.close()


def _fresh_signatures(kb_dir: str, segments: Segments, hooks: Hooks) -> list[Signatures]:
    """Return the signatures of each segment, stored where they can be."""
    found = [_sound(open_signatures(kb_dir, segment)) for segment in segments]
    lacking = [
        segment for segment, one in zip(segments, found, strict=True) if one is None and not segment.name.startswith("memory-")
    ]
    if lacking:
        try:
            with hooks.lock():
                _write(kb_dir, lacking, hooks)
                drop_signatures(kb_dir, segments.names)
        except (Locked, *NOT_STORED) as e:
            hooks.warn(f"signatures cannot be stored ({e}); they are made for this command alone")
        found = [one or open_signatures(kb_dir, segment) for segment, one in zip(segments, found, strict=True)]
    return [one or Signatures("memory", s.n_entries, encode_signatures(s)) for s, one in zip(segments, found, strict=True)]


def _sound(signatures: Signatures | None) -> Signatures | None:
    """Return signatures whose every page is sound, or None: there is little to read, and all of it is needed."""
    try:
        if signatures is not None:
            signatures.file.verify()
    except DamagedSegment:
        return None
    return signatures


def _write(kb_dir: str, segments: list[Segment], hooks: Hooks) -> None:
    if hooks.jobs < 2 or len(segments) < 2 or sum(s.n_entries for s in segments) < MIN_PARALLEL:
        for segment in segments:
            write_signatures(kb_dir, segment)
        return
    calls = ((n, (kb_dir, segment.name)) for n, segment in enumerate(segments))
    for n, _ in in_workers(_write_one, calls, min(hooks.jobs, len(segments))):
        hooks.progress("signatures", n, len(segments))


def _write_one(kb_dir: str, name: str) -> None:
    """Write the signatures of a segment in a worker process."""
    segment = Segment(os.path.join(kb_dir, DIRECTORY, name), name)
    try:
        with paused_collector():
            write_signatures(kb_dir, segment)
    finally:
        segment.close()


# An entry is named by its number over all segments: the ordinals of the first one, then those of the second, and so on.


class _Search:
    """One look for near-duplicates. Entries with the same set of terms are a group, of which the first one is compared."""

    def __init__(self, view: View, segments: Segments, signatures: list[Signatures], new: set[bytes]):
        self.signatures = signatures
        self.ids = [bytes(segment.entries) for segment in segments]
        self.starts = [0]
        for segment in segments:
            self.starts.append(self.starts[-1] + segment.n_entries)
        masks = [view.mask(s.name) or b"\1" * s.n_entries for s in segments]
        self.live = b"".join(masks)
        self.new = bytearray(len(self.live))
        for n in self._entries_of(new):
            if self.live[n]:
                self.new[n] = 1
        self.sets = b"".join(one.sets() for one in signatures)
        self.bands = [b"".join(one.band(n) for one in signatures) for n in range(N_BANDS)]
        self.set_of = from_little_endian(self.sets, "Q")
        self.sizes = from_little_endian(b"".join(one.sizes() for one in signatures), "H")
        self.subjects = [n for n in compress(range(len(self.new)), self.new) if self.sizes[n]]
        self.new_sets = {self.set_of[n] for n in self.subjects}
        self.terms = _TermSets(list(segments), self.starts, len(self.subjects) >= MANY)
        self._wholes: dict[int, int] = {}

    def _entries_of(self, kbids: set[bytes]) -> Iterator[int]:
        """Yield the numbers of the entries of these sections."""
        for start, ids in zip(self.starts, self.ids, strict=False):
            if len(kbids) <= MAX_FINDS:
                for kbid in kbids:
                    yield from (start + at for at in _found(ids, kbid, ENTRY_SIZE))
            else:
                yield from (start + at // ENTRY_SIZE for at in range(0, len(ids), ENTRY_SIZE) if ids[at : at + RAW_SIZE] in kbids)

    def run(self) -> NearDuplicates:
        # A group is named by its first entry. Groups that are told -> their entries; pairs of such -> similarity.
        groups: dict[int, list[int]] = {}
        found: dict[tuple[int, int], float] = {}
        if self.subjects:
            for members in _collisions(SET_SIZE, self.sets, self.subjects, self.live):
                groups[members[0]] = members
                found[members[0], members[0]] = 1.0
            tried: set[int] = set()
            for band in self.bands:
                for members in _collisions(N_ROWS, band, self.subjects, self.live):
                    self._compare(members, groups, found, tried)
        return self._tell(groups, found)

    def _compare(
        self, members: list[int], groups: dict[int, list[int]], found: dict[tuple[int, int], float], tried: set[int]
    ) -> None:
        """Find the similar ones of the groups that entries with the same key in a band are in."""
        set_of, sizes, new = self.set_of, self.sizes, self.new_sets
        first_of: dict[int, int] = {}
        for n in members:
            first_of.setdefault(set_of[n], n)
        if len(first_of) < 2:
            return
        firsts = sorted(first_of.values(), key=sizes.__getitem__)
        wholes = list(map(self._whole, firsts))
        for i, n in enumerate(firsts):
            # The similarity is at most the ratio of the sizes.
            largest = sizes[n] / THRESHOLD
            for j in range(i + 1, len(firsts)):
                m = firsts[j]
                if sizes[m] > largest:
                    break
                if n_differing(wholes[i], wholes[j]) > MOST_DIFFERING or (pair := n << 32 | m) in tried:
                    continue
                tried.add(pair)
                if (set_of[n] in new or set_of[m] in new) and (similarity := self.terms.jaccard(n, m)) >= THRESHOLD:
                    found[n, m] = similarity
                    # Entries of one set have the same keys in all bands, so all of them are here.
                    groups.update({first: [k for k in members if set_of[k] == set_of[first]] for first in (n, m)})

    def _whole(self, n: int) -> int:
        """Return the signature of an entry as a number."""
        whole = self._wholes.get(n)
        if whole is None:
            whole = self._wholes[n] = int.from_bytes(b"".join([band[N_ROWS * n : N_ROWS * (n + 1)] for band in self.bands]))
        return whole

    def _tell(self, groups: dict[int, list[int]], found: dict[tuple[int, int], float]) -> NearDuplicates:
        kbids = {key: self._kbids(members) for key, members in groups.items()}
        total = 0
        for a, b in found:
            n, m = kbids[a], kbids[b]
            n_old, m_old = (sum(not new for new in some.values()) for some in (n, m))
            if a == b:
                total += (len(n) * (len(n) - 1) - n_old * (n_old - 1)) // 2
            else:
                total += len(n) * len(m) - n_old * m_old
        pairs: list[Pair] = []
        for a, b in sorted(found, key=lambda ab: (-found[ab], -self.sizes[ab[0]], ab)):
            few = _pairs(kbids[a], kbids[b], found[a, b])
            pairs += [pair for pair, _ in zip(few, range(min(MAX_GROUP_PAIRS, MAX_PAIRS - len(pairs))), strict=False)]
            if len(pairs) >= MAX_PAIRS:
                break
        return NearDuplicates(pairs, total)

    def _kbids(self, members: Iterable[int]) -> dict[bytes, int]:
        """Return the sections of some entries -> whether they are new. One section may stand under several headings."""
        found: dict[bytes, int] = {}
        for n in members:
            segment = _place(self.starts, n)
            at = (n - self.starts[segment]) * ENTRY_SIZE
            found[self.ids[segment][at : at + RAW_SIZE]] = self.new[n]
        return found


def _pairs(some: dict[bytes, int], others: dict[bytes, int], similarity: float) -> Iterator[Pair]:
    """Yield the pairs of which one is new."""
    same = some is others
    for a in sorted(some, key=lambda kbid: (-some[kbid], kbid)):
        for b in sorted(others, key=lambda kbid: (others[kbid], kbid)):
            if (some[a] or others[b]) and (not same or (some[a] and (not others[b] or a < b))):
                yield Pair(a, b, similarity) if some[a] else Pair(b, a, similarity)


class _TermSets:
    """Exact similarity of entries, over segments that number their terms each in its own way."""

    def __init__(self, segments: list[Segment], starts: list[int], many: bool):
        self.segments, self.starts, self.many = segments, starts, many
        self._chars: dict[int, set[str]] = {}
        self._foreign: dict[tuple[int, int], set[str]] = {}
        self._terms: dict[int, dict[str, bytes]] = {}
        self._tables: dict[tuple[int, int], _Table] = {}

    def jaccard(self, n: int, m: int) -> float:
        """Return |both| / |either| of the terms of two entries."""
        s, t = _place(self.starts, n), _place(self.starts, m)
        if self.segments[s].n_entries > self.segments[t].n_entries:
            # The terms of the smaller segment are read, and looked up in the other one.
            n, m, s, t = m, n, t, s
        a, b = self.chars(n, s), self.chars(m, t)
        n_shared = len((a if s == t else self._translated(n, s, t)) & b)
        return n_shared / (len(a) + len(b) - n_shared)

    def chars(self, n: int, segment: int) -> set[str]:
        if n not in self._chars:
            if len(self._chars) >= MAX_SETS:
                self._chars.clear()
            self._chars[n] = body_terms(self.segments[segment], n - self.starts[segment])
        return self._chars[n]

    def _translated(self, n: int, s: int, t: int) -> set[str]:
        """Return the terms of an entry of segment `s` as segment `t` has them, without those that it lacks."""
        if (n, t) not in self._foreign:
            if len(self._foreign) >= MAX_SETS:
                self._foreign.clear()
            if s not in self._terms:
                self._terms[s] = {char: term for term, char in term_chars(self.segments[s])}
            if (s, t) not in self._tables:
                self._tables[s, t] = _Table(self._terms[s], self.segments[t], self.many)
            self._foreign[n, t] = set("".join(self.chars(n, s)).translate(self._tables[s, t]))
        return self._foreign[n, t]


class _Table(dict[int, str | None]):
    """Code point of a term in one segment -> its character in another one; None, which `str.translate` drops, for none."""

    def __init__(self, names: dict[str, bytes], segment: Segment, many: bool):
        super().__init__()
        self.names, self.segment = names, segment
        if many:
            codes = dict(term_chars(segment))
            self.update((ord(char), codes.get(term)) for char, term in names.items())

    def __missing__(self, code: int) -> str | None:
        term = self.names.get(chr(code))
        postings = None if term is None else self.segment.postings(term.decode("utf-8", "surrogatepass"))
        self[code] = found = postings.char if postings else None
        return found


def _place(starts: list[int], n: int) -> int:
    """Return the number of the segment that an entry is in."""
    return bisect_right(starts, n) - 1


def _collisions(width: int, column: bytes, subjects: list[int], live: bytes) -> Iterator[list[int]]:
    """Yield the live entries, ascending, of each key of `width` bytes in a column that one of `subjects` and another entry have."""
    keys = {column[width * n : width * (n + 1)] for n in subjects}
    if len(keys) <= MAX_FINDS:
        for key in sorted(keys):
            found = [n for n in _found(column, key, width) if live[n]]
            if len(found) > 1:
                yield found
        return
    records = [column[at : at + width] for at in range(0, len(column), width)]
    counts = Counter(compress(records, live))
    groups: dict[bytes, list[int]] = {key: [] for key in sorted(keys) if counts[key] > 1}
    for n in compress(range(len(live)), map(groups.__contains__, records)):
        if live[n]:
            groups[records[n]].append(n)
    yield from groups.values()


def _found(column: bytes, key: bytes, width: int) -> Iterator[int]:
    """Yield the numbers of the records of `width` bytes that begin with a key."""
    at = column.find(key)
    while at >= 0:
        if at % width == 0:
            yield at // width
        at = column.find(key, at + 1)
