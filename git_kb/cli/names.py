"""What people type for a document or section: a path from here, alone, with a line or with a heading."""

from __future__ import annotations

import os
from collections.abc import Iterator

from git_kb.cli.env import Env

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.index.view import View, ViewDocument
    from git_kb.output.show import Place
    from git_kb.store.state import StateName


def find_named(view: View, name: str, env: Env) -> ViewDocument | list[Place]:
    """Return the document that `name` means, or the places of the one section it means: an id, or what `at_path` takes.

    Raises NotFound, AmbiguousId.
    """
    from git_kb.errors import NotFound
    from git_kb.output.show import AmbiguousId, NoSuchHeading, resolve_id

    why: NotFound | AmbiguousId
    try:
        return resolve_id(view, name)
    except (NotFound, AmbiguousId) as e:
        why = e
    try:
        if (found := at_path(view, name, env)) is not None:
            return found
    except NoSuchHeading as e:
        why = e
    raise why


def at_path(view: View, name: str, env: Env) -> ViewDocument | list[Place] | None:
    """Return what `<path>`, `<path>:<line>` or `<path>#<heading>` means; None when no document is at the path.

    Raises NoSuchHeading.
    """
    from git_kb.output.show import NoSuchHeading, Place
    from git_kb.search.resolve import section_named

    if (whole := _document_at(view, name, env)) is not None:
        return whole
    for path, fragment in path_and_fragment(name):
        if (document := _document_at(view, path, env)) is not None:
            rows = [view.row(n) for n in document.rows]
            row = next((row for row in rows if row.chunk == fragment), None) or section_named(rows, fragment)
            if row is None:
                raise NoSuchHeading(name)
            return [Place(row, document)]
    return None


def path_and_fragment(name: str) -> Iterator[tuple[str, str]]:
    """Yield (path, fragment as in a link) for each way to take a name apart: a heading behind `#`, a line behind `:`.

    A path may have such marks, too, and so may a heading.
    """
    for path, _, heading in dict.fromkeys((name.partition("#"), name.rpartition("#"))):
        if path and heading:
            yield path, heading
    path, _, line = name.rpartition(":")
    if path and line.isdecimal() and len(line) < 10:
        yield path, f"L{int(line) or 1}"


def _document_at(view: View, path: str, env: Env) -> ViewDocument | None:
    """Return the document that has this docid or source, or whose source this is from here."""
    from git_kb.ingest.select import inside_path
    from git_kb.model.source import source_of_path

    inside = inside_path(env.place, path)
    typed = source_of_path(os.fsencode(path)) if "://" not in path else path
    wanted = {path, typed, source_of_path(inside)} if inside else {path, typed}
    return next((d for d in view.documents() if d.docid == path or d.source in wanted), None)


def front_matter(name: str, state: StateName, env: Env) -> list[Place]:
    """Return the places of a front-matter section. Views hold what is searched, so these are looked up in the manifests."""
    from git_kb.index.view import ViewDocument, ViewRow
    from git_kb.model.section import is_kbid_prefix, kbid_bytes
    from git_kb.output.show import Place
    from git_kb.store.manifest import SUFFIX
    from git_kb.store.state import open_documents

    places = []
    for m in open_documents(env.repo, state).load_all(lambda message: None):
        for row, (line, start, end) in zip(m.sections, m.spans(), strict=True):
            called = name == f"{m.docid}#{row.chunk}" or (is_kbid_prefix(name.lower()) and row.kbid.startswith(name.lower()))
            if row.role and called:
                document = ViewDocument(m.docid + SUFFIX, b"", m.docid, m.title, m.source, m.type, m.tier, m.blob, m.tags)
                id_ = kbid_bytes(row.kbid) + bytes(8)
                place = ViewRow(id_, 0, line, start, end, row.part, row.chunk, row.type, row.heading)
                places.append(Place(place, document))
    return places
