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


def indexed_stamps(place: Place) -> dict[str, bytes]:
    """Return file name -> stamp of the manifests that the view of the work tree was made of, all of them sound."""
    try:
        view = View(os.path.join(place.kb_dir, VIEWS, worktree_view_name(place)))
    except (OSError, DamagedSegment, OtherFeature, NewerFormat):
        return {}
    try:
        return {name: bytes(stamp) for name, stamp, _ in view.stamps()}
    except DamagedSegment:
        return {}
    finally:
        view.close()


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
