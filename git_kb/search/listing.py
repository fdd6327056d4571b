"""What a query without a word is answered with: the sections that its filters choose, by source and line.

As `git log -- <path>` does without a pattern. docs/query-language.md, "Filters alone".
"""

from __future__ import annotations

from git_kb.errors import shortened
from git_kb.model.section import RAW_SIZE
from git_kb.search.match import Lists, make_check
from git_kb.search.query import MAX_SHOWN
from git_kb.search.rank import Hit, Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.index.segment import Segment
    from git_kb.index.segments import Segments
    from git_kb.index.view import View, ViewDocument
    from git_kb.search.find import Filters
    from git_kb.search.query import Query

    # Entry id, and where it is indexed.
    Listed = tuple[bytes, Segment, int]


def list_entries(view: View, segments: Segments, query: Query, filters: Filters, without: frozenset[bytes]) -> list[Listed]:
    """Return the entries that pass the filters and hold nothing the query excludes: by source, then as they stand in it.

    One that stands in several places is listed at the first. without: raw kbids of sections that are left out. Raises
    DamagedSegment.
    """
    chosen = dict.fromkeys(
        row.entry_id
        for document in sorted(view.documents(), key=lambda document: (document.source, document.name))
        if filters.takes(document)
        for row in map(view.row, document.rows)
        if filters.takes_row(document, row) and row.entry_id[:RAW_SIZE] not in without
    )
    found: dict[bytes, Listed] = {}
    for segment in segments:
        lists = Lists(segment, {})
        bans = [ban for node in query.root.must_not if (ban := make_check(node, lists)) is not None]
        for ordinal, entry_id in enumerate(segment.entry_ids()):
            if entry_id not in chosen or entry_id in found:
                continue
            if bans:
                stored = segment.token_bytes(ordinal)
                if any(ban(stored) for ban in bans):
                    continue
            found[entry_id] = entry_id, segment, ordinal
    return [found[entry_id] for entry_id in chosen if entry_id in found]


def page(listed: list[Listed], limit: int, offset: int, only: set[bytes] | None) -> Result:
    """Return some of what is listed, as hits with the score 0. only: ids that are left of it."""
    left = listed if only is None else [one for one in listed if one[0] in only]
    return Result([Hit(0.0, *one) for one in left[offset : offset + limit]], len(left), True, 0.0)


def unmatched(view: View, filters: Filters) -> list[str]:
    """Return a warning for each filter that no document passes, where all together choose nothing. Raises DamagedSegment."""
    from git_kb.search.find import Filters

    found = []
    for name, value, negative in filters.conditions:
        one = Filters(conditions=[(name, value, negative)])
        if negative or name in ("before", "after") or any(_takes_any(one, document, view) for document in view.documents()):
            continue
        hint = " (a path counts from the top of the repository and has no wildcards)" if name == "path" else ""
        found.append(f"no document has {name} '{shortened(value, MAX_SHOWN)}'{hint}")
    return found


def _takes_any(one: Filters, document: ViewDocument, view: View) -> bool:
    return one.takes(document) and any(one.takes_row(document, view.row(number)) for number in document.rows)
