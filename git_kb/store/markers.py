"""Content markers `$(kind: id)` of one state: do they lead anywhere, to the right thing, and to an end?

Over manifests and section content alone, since `git kb fsck` must not trust the index. What a marker means is what
docs/format-references.md says; `search/resolve.py` follows it over a view.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from git_kb.model.document import Manifest
from git_kb.model.reference import MARKERS, Reference
from git_kb.model.section import is_kbid_prefix

# Markers of sections; the others name documents.
OF_SECTIONS = ("image", "code", "text", "link")
# Markers that put what they name in their own place.
EXPANDED = ("text", "document")
PROSE = {"text/markdown", "text/plain", "text/x-rst", "text/html", "text/csv", "text/asciidoc", "text/org"}
PAST_ALL = "\x7f"
MAX_SHOWN = 100

# A section by kbid, or a document by docid behind ":", which no kbid has.
Node = str


@dataclass(slots=True)
class Marked:
    """What a state has, and which markers stand in its sections.

    docids: docid -> kbids of its sections, in order. chunks: docid -> chunk id -> kbid. types: kbid -> MIME type.
    places: kbid -> (source, first line, 1-based) of the first place. markers: kbid -> its markers.
    """

    docids: dict[str, list[str]] = field(default_factory=dict)
    chunks: dict[str, dict[str, str]] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    places: dict[str, tuple[str, int]] = field(default_factory=dict)
    markers: dict[str, list[Reference]] = field(default_factory=dict)

    def add(self, manifest: Manifest) -> None:
        """Take one document of the state."""
        self.docids[manifest.docid] = [row.kbid for row in manifest.sections]
        self.chunks[manifest.docid] = {row.chunk: row.kbid for row in manifest.sections}
        for row, (line, _, _) in zip(manifest.sections, manifest.spans(), strict=True):
            self.types.setdefault(row.kbid, manifest.row_type(row))
            self.places.setdefault(row.kbid, (manifest.source, line))

    @property
    def n_markers(self) -> int:
        """How many markers stand in sections of the state."""
        return sum(len(self.markers[kbid]) for kbid in self.markers if kbid in self.types)


def markers_in(mime: str, content: bytes) -> list[Reference]:
    """Return the markers in a section."""
    if b"$(" not in content or mime.startswith("image/"):
        return []
    # Here, since hardly any section has one, and the scanner takes a while to load.
    from git_kb.text.links import find_references

    return [r for r in find_references(mime, content.decode("utf-8", "replace")) if r.kind in MARKERS]


def check_markers(marked: Marked, in_pool: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Yield (kind of finding, kbid, detail) of markers that lead nowhere, to the wrong type, or round in a circle.

    in_pool: kbids of the pool, which say why a marker leads nowhere.
    """
    names = sorted(marked.types)
    pool = set(in_pool) if marked.markers else set()
    edges: dict[Node, list[Node]] = {}
    for kbid in sorted(marked.markers.keys() & marked.types.keys()):
        for marker in marked.markers[kbid]:
            found = _follow(marked, names, marker)
            if isinstance(found, _Fault):
                known = found.kind == "broken_reference" and marker.target.strip().lower() in pool
                why = found.why + (" of this state; the pool has the section" if known else "")
                yield found.kind, kbid, f"{_place(marked, kbid, marker)} {why}"
            elif marker.kind in EXPANDED:
                edges.setdefault(kbid, []).append(found)
    for circle in _circles(marked, edges):
        first = next(node for node in circle if not node.startswith(":"))
        shown = circle if len(circle) <= MAX_SHOWN else [*circle[:MAX_SHOWN], "…"]
        path = " -> ".join(node.removeprefix(":") for node in [*shown, circle[0]])
        yield "circular_reference", first, f"{_at(marked, first)}: $(text: …) and $(document: …) lead back: {path}"


@dataclass(frozen=True, slots=True)
class _Fault:
    kind: str
    why: str


def _follow(marked: Marked, names: list[str], marker: Reference) -> Node | _Fault:
    """Return what a marker means. names: the kbids of the state, sorted."""
    target = marker.target.strip()
    docid, sharp, chunk = target.partition("#")
    wants_section = marker.kind in OF_SECTIONS
    if sharp:
        kbid = marked.chunks.get(docid, {}).get(chunk)
        if kbid is None:
            return _Fault("broken_reference", "names no section in any document")
        return _typed(marked, marker.kind, kbid) if wants_section else kbid
    if not wants_section:
        if target in marked.docids:
            return ":" + target
        if target.lower() in marked.types:
            return _Fault("type_mismatch", "names a section, not a document")
        return _Fault("broken_reference", "names no document")
    prefix = target.lower()
    fits = names[bisect_left(names, prefix) : bisect_right(names, prefix + PAST_ALL)] if is_kbid_prefix(prefix) else []
    if len(fits) == 1:
        return _typed(marked, marker.kind, fits[0])
    if fits:
        return _Fault("broken_reference", f"is ambiguous: {', '.join(fits[:3])}{', …' * (len(fits) > 3)}")
    if target in marked.docids:
        return _Fault("type_mismatch", "names a document, not a section")
    return _Fault("broken_reference", "names no section in any document")


def _typed(marked: Marked, kind: str, kbid: str) -> Node | _Fault:
    """Return the section if a marker of this kind may name it."""
    type_ = marked.types[kbid]
    is_image = type_.startswith("image/")
    fits = {
        "image": is_image,
        "code": not is_image and type_ != "text/markdown",
        "text": type_ in PROSE,
    }.get(kind, True)
    return kbid if fits else _Fault("type_mismatch", f"names a section of type {type_}")


def _place(marked: Marked, kbid: str, marker: Reference) -> str:
    source, line = marked.places[kbid]
    return f"{source}:{line + marker.line}: $({marker.kind}: {marker.target.strip()})"


def _at(marked: Marked, kbid: str) -> str:
    source, line = marked.places[kbid]
    return f"{source}:{line}"


def _circles(marked: Marked, edges: dict[Node, list[Node]]) -> Iterator[list[Node]]:
    """Yield one circle of each strongly connected part, the shortest through its first section; sorted by that.

    A document leads to all its sections.
    """

    def after(node: Node) -> list[Node]:
        return [n for n in marked.docids[node[1:]] if n in edges] if node.startswith(":") else edges.get(node, [])

    circles = []
    for part in _strong_parts(sorted(edges), after):
        first = min(node for node in part if not node.startswith(":"))
        if len(part) > 1 or first in after(first):
            circles.append(_shortest(first, set(part), after))
    yield from sorted(circles)


def _strong_parts(starts: list[Node], after: Callable[[Node], list[Node]]) -> Iterator[list[Node]]:
    """Yield the strongly connected parts that hold a section (Tarjan 1972), without recursion: chains of markers may be long."""
    number: dict[Node, int] = {}
    low: dict[Node, int] = {}
    stack: list[Node] = []
    on_stack: set[Node] = set()
    for start in starts:
        if start in number:
            continue
        work: list[tuple[Node, Iterator[Node]]] = []

        def enter(node: Node, work: list[tuple[Node, Iterator[Node]]] = work) -> None:
            number[node] = low[node] = len(number)
            stack.append(node)
            on_stack.add(node)
            work.append((node, iter(after(node))))

        enter(start)
        while work:
            node, rest = work[-1]
            step = next((n for n in rest if n not in number or n in on_stack), None)
            if step is not None:
                if step in number:
                    low[node] = min(low[node], number[step])
                else:
                    enter(step)
                continue
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[node])
            if low[node] == number[node]:
                part: list[Node] = []
                while not part or part[-1] != node:
                    part.append(stack.pop())
                    on_stack.discard(part[-1])
                if any(not n.startswith(":") for n in part):
                    yield part


def _shortest(first: Node, part: set[Node], after: Callable[[Node], list[Node]]) -> list[Node]:
    """Return the shortest way from `first` back to it within a part."""
    came_from: dict[Node, Node] = {}
    queue = [first]
    for node in queue:
        for step in after(node):
            if step == first:
                way = [node]
                while way[-1] != first:
                    way.append(came_from[way[-1]])
                return way[::-1]
            if step in part and step not in came_from:
                came_from[step] = node
                queue.append(step)
    raise AssertionError("every node of a strongly connected part lies on a circle")
