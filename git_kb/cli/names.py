"""What people type for a document or section: a path from here, alone, with a line or with a heading."""

from __future__ import annotations

import os
from collections.abc import Iterator

from git_kb.cli.env import Env

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.index.view import View, ViewDocument
    from git_kb.output.show import Place


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
            row = section_named([view.row(n) for n in document.rows], fragment)
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
