"""The live segments: `current`, publishing, merging. docs/format-index.md, "`current`".

Readers take no lock. Writers hold the lock of the knowledge base. Reading is on the search path.
"""

from __future__ import annotations

import os

from xxhash import xxh3_64_hexdigest, xxh3_128_hexdigest

from git_kb.index.pagefile import DamagedSegment, OtherFeature
from git_kb.index.segment import MAX_ENTRIES, Segment
from git_kb.repo.regular import read_regular
from git_kb.text.words import GENERATION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

CURRENT = "current"
DIRECTORY = "segments"
MAGIC_LINE = "git-kb index 2"
SUFFIX = ".kbs"
MAX_TRIES = 10
# So many entries are looked up one by one; for more, all ids of a segment are gone through.
MAX_LOOK_UPS = 500
MAX_MERGED_TERMS = 1_000_000


class Segments:
    """One published set of segments, open.

    `damaged`: (name, error) of segments that `current` names but that cannot be used.
    """

    __slots__ = ("damaged", "kb_dir", "segments")

    def __init__(self, kb_dir: str, segments: list[Segment], damaged: list[tuple[str, Exception]]):
        self.kb_dir, self.segments, self.damaged = kb_dir, segments, damaged

    @classmethod
    def open(cls, kb_dir: str) -> Segments:
        """Open what `current` names.

        No index is an empty one. A segment that a writer has just merged away: `current` is read again.
        """
        names: list[str] = []
        for _ in range(MAX_TRIES):
            names = read_current(kb_dir)
            opened: list[Segment] = []
            damaged: list[tuple[str, Exception]] = []
            for name in names:
                try:
                    opened.append(Segment(os.path.join(kb_dir, DIRECTORY, name), name))
                except (DamagedSegment, OtherFeature, FileNotFoundError) as e:
                    damaged.append((name, e))
            if not any(isinstance(e, FileNotFoundError) for _, e in damaged) or read_current(kb_dir) == names:
                return cls(kb_dir, opened, damaged)
            for segment in opened:
                segment.close()
        return cls(kb_dir, [], [(name, FileNotFoundError(name)) for name in names])

    @property
    def names(self) -> list[str]:
        return [s.name for s in self.segments]

    def __iter__(self) -> Iterator[Segment]:
        return iter(self.segments)

    @property
    def n_entries(self) -> int:
        return sum(s.n_entries for s in self.segments)

    def missing(self, entry_ids: Iterable[bytes]) -> set[bytes]:
        """Return those ids that no segment holds."""
        wanted = set(entry_ids)
        for segment in self.segments:
            if not wanted:
                break
            if len(wanted) <= MAX_LOOK_UPS:
                wanted = {id_ for id_ in wanted if segment.ordinal(id_) is None}
            else:
                wanted.difference_update(segment.entry_ids())
        return wanted

    def close(self) -> None:
        for segment in self.segments:
            segment.close()


def read_current(kb_dir: str) -> list[str]:
    """Return the names of the live segments.

    A missing, unreadable or damaged list, or one of another tokenizer generation, is empty.
    """
    try:
        data = read_regular(os.path.join(kb_dir, CURRENT), follow=True)
    except OSError:
        return []
    body, _, check = data.rpartition(b"xxh3 ")
    if not body or check.strip() != xxh3_64_hexdigest(body).encode():
        return []
    lines = body.decode("ascii", "replace").splitlines()
    if lines[:2] != [MAGIC_LINE, f"feature {GENERATION}"]:
        return []
    names = [line.split(" ")[0] for line in lines[2:]]
    return [n for n in names if is_segment_name(n)]


def is_segment_name(name: str) -> bool:
    """Return whether a file of that name is a segment of ours."""
    return name.startswith("seg-") and name.endswith(SUFFIX) and "/" not in name


def write_segment(kb_dir: str, data: bytes | bytearray) -> str:
    """Store a segment's bytes under their name, synced, and return the name. Nobody sees it before `publish`."""
    from git_kb.repo.lockfile import atomic_write

    name = f"seg-{xxh3_128_hexdigest(data)}{SUFFIX}"
    directory = os.path.join(kb_dir, DIRECTORY)
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, name)
    # A file of that name and size that passes its check has these bytes; anything else there is replaced.
    try:
        segment = Segment(path, name)
    except (FileNotFoundError, DamagedSegment, OtherFeature):
        atomic_write(path, data)
        return name
    try:
        segment.verify()
    except DamagedSegment:
        atomic_write(path, data)
    finally:
        segment.close()
    return name


def publish(kb_dir: str, names: Iterable[tuple[str, int]]) -> None:
    """Make (name, n_entries) the live segments, then delete the files that are not. The caller holds the lock."""
    from git_kb.repo.lockfile import atomic_write, is_leftover

    rows = list(names)
    body = "".join([f"{MAGIC_LINE}\nfeature {GENERATION}\n", *(f"{name} {n}\n" for name, n in rows)]).encode()
    os.makedirs(kb_dir, exist_ok=True)
    atomic_write(os.path.join(kb_dir, CURRENT), body + b"xxh3 " + xxh3_64_hexdigest(body).encode() + b"\n")
    live = {name for name, _ in rows}
    directory = os.path.join(kb_dir, DIRECTORY)
    if os.path.isdir(directory):
        for name in os.listdir(directory):
            # Nothing else in there is ours to delete.
            if name not in live and (is_segment_name(name) or is_leftover(name)):
                _unlink(os.path.join(directory, name))


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass  # somebody else has done it, or (on Windows) a reader still has it open; the next publish tries again


def merge_groups(sizes: list[int]) -> list[int]:
    """Return the indices of the segments to merge into one, so that sizes at least double; nothing when they do.

    Segments over a quarter of the largest size allowed stay out of it: merging those costs more than it saves.
    """
    order = sorted(range(len(sizes)), key=lambda i: (sizes[i], i))
    small = [i for i in order if sizes[i] <= MAX_ENTRIES // 4]
    total, take = 0, 0
    for at, index in enumerate(small):
        # Whatever lies below a segment of less than twice that sum goes into the merge with it.
        if at and sizes[index] < 2 * total:
            take = at + 1
        total += sizes[index]
    chosen: list[int] = []
    total = 0
    for index in small[:take]:
        if total + sizes[index] > MAX_ENTRIES:
            break
        chosen.append(index)
        total += sizes[index]
    return chosen if len(chosen) > 1 else []


def merge_and_publish(kb_dir: str, names: list[str], beat: Callable[[], None] = lambda: None) -> list[str]:
    """Merge small segments until sizes at least double, publish, and return the live names.

    The caller holds the lock.
    """
    from git_kb.index.build import merge_segments

    opened = {}
    for name in names:
        try:
            opened[name] = Segment(os.path.join(kb_dir, DIRECTORY, name), name)
        except (DamagedSegment, OtherFeature, FileNotFoundError):
            continue  # left out of the list; what it held is missing and gets indexed again
    try:
        while True:
            live = list(opened)
            group = [opened[live[i]] for i in merge_groups([opened[n].n_entries for n in live])]
            if not group or sum(s.n_terms for s in group) > MAX_MERGED_TERMS:
                break
            beat()
            try:
                merged = write_segment(kb_dir, merge_segments(group))
            except DamagedSegment as e:
                bad = next(s for s in group if s.file.path == e.path)
                opened.pop(bad.name)
                bad.close()
                continue
            for segment in group:
                opened.pop(segment.name)
                segment.close()
            opened[merged] = Segment(os.path.join(kb_dir, DIRECTORY, merged), merged)
        publish(kb_dir, [(name, segment.n_entries) for name, segment in opened.items()])
        return list(opened)
    finally:
        for segment in opened.values():
            segment.close()
