"""Words with symbols in them, looked for as they are written: `C++`, `.env`, `->`, an emoji.

The index knows letters and digits. So `C++` is found by its term, and then the text of the best hits is looked at: one that has
it as written gets for it, once more, the most that its terms can add to a score. What has no term at all is looked for in the
text of all sections.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from git_kb.index.segments import Segments
from git_kb.index.view import View, ViewDocument, ViewRow
from git_kb.model.section import cut_section, kbid_of_entry
from git_kb.repo.discover import Place
from git_kb.repo.process import CatFile
from git_kb.search.query import Atom, Query
from git_kb.search.rank import Basis, Hit, Result, search
from git_kb.search.score import Parameters
from git_kb.search.telling import inverse_frequency
from git_kb.store.content import read_contents
from git_kb.text.fields import fields
from git_kb.text.words import is_mark

# The text of so many of the best hits is looked at.
N_VERIFIED = 200
# Of so many entries, a scan looks at the documents alone that have them.
MAX_FEW = 2000
# A scan of all sections stops after so many bytes.
MAX_SCANNED = 256 << 20
K1, B = 1.2, 0.75
SELECTORS = "\ufe0e\ufe0f"


def find_literal(text: str, literal: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of the places where a text has it as written, whatever the case. `text` is folded with `fold`.

    No letter or digit may go on where it ends in one, and no symbol of ASCII may be repeated there: `==` is not in `===`.
    """
    needle = fold(literal).rstrip(SELECTORS) or literal
    first, last = needle[0], needle[-1]
    at = text.find(needle)
    while at >= 0:
        end = at + len(needle)
        if not _goes_on(text[at - 1 : at], first) and not _goes_on(text[end : end + 1], last):
            yield at, end
        at = text.find(needle, end)


def fold(text: str) -> str:
    """Return text in lower case, but for what has more characters there (İ)."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join([low if len(low := char.lower()) == 1 else char for char in text])


def _goes_on(beside: str, edge: str) -> bool:
    if edge.isalnum() or edge == "_":
        return bool(beside) and (beside.isalnum() or beside == "_" or is_mark(beside))
    return edge.isascii() and beside == edge and edge != "("


def rank_literally(
    place: Place,
    view: View,
    segments: Segments,
    query: Query,
    limit: int,
    offset: int,
    parameters: Parameters,
    only: set[bytes] | None,
    memo: dict[str, set[bytes]],
) -> Result:
    """Return the best entries as `rank.search` does, after adding what they get for holding the query's literals.

    Looked at are the N_VERIFIED best of the query, and the N_VERIFIED best that hold the terms of a literal in its order. A literal
    that none of these hold though more could is looked for in all sections; memo keeps where it was found. All of this is the same
    whatever the page, so that pages fit together.
    """
    result = search(segments, view, query, max(N_VERIFIED, limit + offset), 0, parameters, only)
    weights = _weights(query, result.basis)
    pool = {hit.entry_id: hit for hit in result.hits[:N_VERIFIED]}
    n_best = len(pool)
    _verify(place, view, list(pool.values()), query, weights)
    if result.total > n_best:
        for literal, found in query.literals.items():
            if not found:
                continue
            phrase = _demanding(query, found)
            more = search(segments, view, phrase, N_VERIFIED, 0, parameters, only)
            _take(place, view, pool, more.hits, query, weights)
            if more.total > len(more.hits) and not any(literal in hit.literals for hit in pool.values()):
                if literal not in memo:
                    memo[literal] = {hit.entry_id for hit in scan(place, view, segments, [literal], only).result.hits}
                there = memo[literal] if only is None else memo[literal] & only
                _take(place, view, pool, search(segments, view, query, N_VERIFIED, 0, parameters, there).hits, query, weights)
    first = sorted(pool.values(), key=lambda hit: (-hit.score, hit.entry_id))
    result.hits = [*first, *(hit for hit in result.hits if hit.entry_id not in pool)][offset : offset + limit]
    result.best_possible += sum(weights.values())
    return result


def _demanding(query: Query, phrase: tuple[tuple[str, ...], ...]) -> Query:
    """Return the query that demands, besides, some terms next to each other."""
    demanding = query.loosened()
    demanding.root.must = [*query.root.must, Atom(phrase)]
    return demanding


def _take(place: Place, view: View, pool: dict[bytes, Hit], hits: Iterable[Hit], query: Query, weights: dict[str, float]) -> None:
    """Put those of further hits into the pool that hold a literal; the others keep their place behind it."""
    others = [hit for hit in hits if hit.entry_id not in pool]
    _verify(place, view, others, query, weights)
    pool.update({hit.entry_id: hit for hit in others if hit.literals})


def _verify(place: Place, view: View, hits: list[Hit], query: Query, weights: dict[str, float]) -> None:
    """Look at the text of hits, and add what they get for the literals in it."""
    kbids = list(dict.fromkeys(kbid_of_entry(hit.entry_id) for hit in hits))
    origins = (
        (kbid_of_entry(h.entry_id), d.source, d.blob)
        for h in hits
        for r in view.rows_of(h.entry_id)
        for d in [view.document(r.doc)]
    )
    contents = read_contents(place, kbids, lambda: origins)
    for hit in hits:
        if (section := contents.get(kbid_of_entry(hit.entry_id))) is not None:
            text = fold(section.content.decode("utf-8", "replace"))
            hit.literals = [literal for literal in query.literals if any(find_literal(text, literal))]
            hit.bonus = sum(weights[literal] for literal in hit.literals)
            hit.score += hit.bonus


def _weights(query: Query, basis: Basis | None) -> dict[str, float]:
    """Return what each literal is worth: the most its terms can add to a score; without terms, the most that any term can."""
    raised = basis.scorer.raised if basis else 1.0
    worth = {term.name: term.weight * raised for term in basis.terms} if basis else {}
    pairs = [(most, {rarer.name, other.name}) for most, rarer, other in basis.pairs] if basis else []
    most_of_all = max(worth.values(), default=1.0)

    def most(reading: tuple[str, ...]) -> float:
        names = set(reading)
        return sum([worth.get(name, 0.0) for name in sorted(names)]) + sum([most for most, pair in pairs if pair <= names])

    return {literal: max(map(most, found), default=0.0) or most_of_all for literal, found in query.literals.items()}


class Scanned(NamedTuple):
    """What a scan found. complete: all sections were looked at. frequencies: literal -> how often it stands in them."""

    result: Result
    complete: bool
    frequencies: dict[str, int]


def scan(place: Place, view: View, segments: Segments, literals: Iterable[str], only: set[bytes] | None) -> Scanned:
    """Return all entries with one of the literals in their text, best first.

    Scored by BM25 over the whole text of a section (k1 1.2, b 0.75), with the number of times a literal stands there for tf.
    """
    literals = list(literals)
    needles = [needle_of(literal) for literal in literals]
    counts: dict[bytes, list[int]] = {}
    lengths: dict[bytes, int] = {}
    complete = True
    n_scanned = 0
    for document, data in sources(place, view, only):
        n_scanned += size_of(view, document, data)
        if n_scanned > MAX_SCANNED:
            complete = False
            break
        for row, content in contents_with(place, view, document, data, needles):
            if row.entry_id in counts or (only is not None and row.entry_id not in only):
                continue
            text = fold(content)
            tfs = [sum(1 for _ in find_literal(text, literal)) for literal in literals]
            if any(tfs):
                counts[row.entry_id] = tfs
                lengths[row.entry_id] = len(text)
    frequencies = {literal: sum(tfs[i] for tfs in counts.values()) for i, literal in enumerate(literals)}
    return Scanned(_scored(view, segments, literals, counts, lengths), complete, frequencies)


def needle_of(literal: str) -> bytes:
    """Return the longest part of a literal that stands in the lower-case bytes of each text that has it, maybe none of it.

    Bytes are lowered by ASCII alone, and a line may end where a blank is.
    """
    parts = "".join([char if char.isascii() or char.lower() == char.upper() else " " for char in fold(literal)]).split()
    return max(parts, key=len, default="").rstrip(SELECTORS).encode("utf-8", "surrogatepass")


def sources(place: Place, view: View, only: set[bytes] | None) -> Iterator[tuple[ViewDocument, bytes | None]]:
    """Yield each document with the bytes it was made of, None where these are not stored.

    only: ids of entries; when they are few, their documents are enough.
    """
    documents: dict[bytes, list[ViewDocument]] = {}
    few = None if only is None or len(only) > MAX_FEW else sorted({row.doc for id_ in only for row in view.rows_of(id_)})
    for document in view.documents() if few is None else map(view.document, few):
        documents.setdefault(document.blob.encode("ascii", "replace"), []).append(document)
    with CatFile.at(place) as git:
        for name, _, kind, data in git.read_many(documents):
            for document in documents[name]:
                yield document, data if kind == "blob" else None


def size_of(view: View, document: ViewDocument, data: bytes | None) -> int:
    """Return how many bytes a document has."""
    return view.end_of(document) if data is None else len(data)


def contents_with(
    place: Place, view: View, document: ViewDocument, data: bytes | None, needles: list[bytes], also: Iterable[ViewRow] = ()
) -> Iterator[tuple[ViewRow, str]]:
    """Yield (row, content) of the sections of a document in whose lower-case bytes a needle stands, and of the rows `also`.

    Where the source is not at hand, or in another encoding than sections are, these are read from the pool.
    """
    wanted = {row.start: row for row in also}
    if data is not None and _is_utf8(data):
        unread = []
        for row in {**wanted, **{row.start: row for row in rows_with(view, document, data, needles)}}.values():
            section = cut_section(data, row.start, row.end, row.type or document.type, kbid_of_entry(row.entry_id))
            if section is None:
                unread.append(row)
            else:
                yield row, section.content.decode("utf-8", "replace")
        # What cutting did more than to take out bytes.
        yield from ((row, content.decode("utf-8", "replace")) for row, content in _from_pool(place, document, unread))
        return
    for row, content in _from_pool(place, document, [view.row(number) for number in document.rows]):
        lower = content.lower()
        if row.start in wanted or any(needle in lower for needle in needles):
            yield row, content.decode("utf-8", "replace")


def _is_utf8(data: bytes) -> bool:
    """Return whether sections are cut from the bytes as they are; UTF-16 without a mark may pass for UTF-8 with zeros."""
    if data.isascii():
        return b"\0" not in data
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in data


def _from_pool(place: Place, document: ViewDocument, rows: list[ViewRow]) -> Iterator[tuple[ViewRow, bytes]]:
    """Yield (row, content) of the rows of a document whose sections can be read."""
    if not rows:
        return
    kbids = list(dict.fromkeys(kbid_of_entry(row.entry_id) for row in rows))
    contents = read_contents(place, kbids, lambda: ((kbid, document.source, document.blob) for kbid in kbids))
    for row in rows:
        if (section := contents.get(kbid_of_entry(row.entry_id))) is not None:
            yield row, section.content


def rows_with(view: View, document: ViewDocument, data: bytes, needles: list[bytes]) -> list[ViewRow]:
    """Return the rows of a document in whose bytes a needle stands."""
    lower = data.lower()
    if not any(needle in lower for needle in needles):
        return []
    rows = [view.row(number) for number in document.rows]
    starts = [row.start for row in rows]
    chosen: dict[int, ViewRow] = {}
    for needle in needles:
        at = lower.find(needle)
        while at >= 0:
            number = bisect_right(starts, at) - 1
            if number < 0 or at >= rows[number].end:
                at = lower.find(needle, at + 1)
                continue
            chosen[number] = rows[number]
            at = lower.find(needle, rows[number].end)
    return [chosen[number] for number in sorted(chosen)]


def _scored(
    view: View, segments: Segments, literals: list[str], counts: dict[bytes, list[int]], lengths: dict[bytes, int]
) -> Result:
    mean = sum(lengths.values()) / max(len(lengths), 1) or 1.0
    dfs = [sum(1 for tfs in counts.values() if tfs[i]) for i in range(len(literals))]
    idfs = [inverse_frequency(view, df) for df in dfs]
    hits = []
    for entry_id, tfs in counts.items():
        found = next(((s, o) for s in segments if (o := s.ordinal(entry_id)) is not None), None)
        if found is None:
            continue
        norm = K1 * (1 - B + B * lengths[entry_id] / mean)
        hit = Hit(sum(idf * tf / (tf + norm) for idf, tf in zip(idfs, tfs, strict=True)), entry_id, *found)
        hit.literals = [literal for literal, tf in zip(literals, tfs, strict=True) if tf]
        hit.bonus = hit.score
        hits.append(hit)
    hits.sort(key=lambda hit: (-hit.score, hit.entry_id))
    return Result(hits, len(hits), True, sum(idf for idf, df in zip(idfs, dfs, strict=True) if df))


def fields_with(mime: str, content: str, literals: Iterable[str]) -> list[str]:
    """Return the fields in which a section's text has one of the literals."""
    _, body, code = (fold(part) for part in fields(mime, content, ""))
    first = fold(content.partition("\n")[0]) if mime == "text/markdown" and content.startswith("#") else ""
    parts = (("heading", first), ("body", body), ("code", code))
    return [name for name, text in parts if any(any(find_literal(text, literal)) for literal in literals)]
