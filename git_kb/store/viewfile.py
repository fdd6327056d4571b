"""Where views are kept, and the quick answer to "is the cached view of the work tree current?".

On the search path.
"""

from __future__ import annotations

import os

from git_kb.errors import NewerFormat
from git_kb.index.pagefile import DamagedSegment, OtherFeature
from git_kb.index.segments import Segments
from git_kb.index.view import VIEWS, View
from git_kb.store.root import DOCUMENTS
from git_kb.store.stamps import quick_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.repo.discover import Place


def worktree_view_name(place: Place, cached: bool = False) -> str:
    """Return the file name of the view of this work tree, or of its index."""
    return f"{'index' if cached else 'worktree'}{'-' + place.worktree_id if place.worktree_id else ''}.kbv"


class Indexed:
    """What the view of the work tree says of the manifests that it was made of, all of them sound.

    Asked for few, it looks them up; asked for many, it reads all at once.
    """

    # A look-up takes 50 us among 12,000 documents, reading all of them 40 ms.
    MANY = 500

    def __init__(self, place: Place):
        self._all: dict[str, tuple[bytes, int]] | None = None
        self._n_asked = 0
        try:
            self._view: View | None = View(os.path.join(place.kb_dir, VIEWS, worktree_view_name(place)))
        except (OSError, DamagedSegment, OtherFeature, NewerFormat):
            self._view = None

    def get(self, name: str) -> tuple[bytes, int] | None:
        """Return (stamp, where the last section ends in the source) of a manifest's file name; None for one that is not there."""
        if self._view is None:
            return None
        try:
            if self._all is None and self._n_asked >= self.MANY:
                ends = self._view.ends()
                self._all = {name: (stamp, end) for (name, stamp, _), end in zip(self._view.stamps(), ends, strict=True)}
            if self._all is not None:
                return self._all.get(name)
            self._n_asked += 1
            document = self._view.document_named(name)
            return None if document is None else (document.stamp, self._view.end_of(document))
        except DamagedSegment:
            self.close()
            return None

    def close(self) -> None:
        if self._view is not None:
            self._view.close()
            self._view = None


def current_view(place: Place, tree: str | None = None) -> tuple[View, Segments] | None:
    """Return the cached view of the work tree (or of the `kb/documents` tree `tree`) when nothing has to be
    done to it, else None.
    """
    if not tree and any(os.path.islink(os.path.join(place.work_tree or "", part)) for part in ("kb", DOCUMENTS)):
        return None  # the long way refuses it
    name = f"tree-{tree}.kbv" if tree else worktree_view_name(place)
    path = os.path.join(place.kb_dir, VIEWS, name)
    try:
        view = View(path)
    except (OSError, DamagedSegment, OtherFeature):
        return None
    if tree:
        key = b"tree " + tree.encode()
    else:
        key = quick_key(os.path.join(place.work_tree or "", DOCUMENTS), view.n_documents)
    # What cannot be used is told by the long way.
    if key != view.key or view.n_missing or view.skipped:
        view.close()
        return None
    segments = Segments.open(place.kb_dir)
    if segments.damaged or not view.fits(segments):
        segments.close()
        view.close()
        return None
    return view, segments
