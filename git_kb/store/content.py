"""Section content for a few hits: by one git process and no git library.

On the search path.
"""

from __future__ import annotations

from git_kb.model.section import DamagedSection, Section, decode_section
from git_kb.store.root import POOL_REF

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from git_kb.repo.discover import Place


def read_contents(
    place: Place, kbids: list[str], origins: Callable[[], Iterable[tuple[str, str, str]]] = lambda: ()
) -> dict[str, Section]:
    """Return the sections of these kbids. Those that the pool lacks, or has damaged, are made from their sources, or left out.

    origins: gives (kbid, source, blob) of the documents that have them. Raises BadPool.
    """
    found = _read(place, kbids)
    if len(found) < len(set(kbids)):
        # The rare case, so it may cost something to see whether it is the whole pool that is amiss.
        from git_kb.repo.open import open_repository
        from git_kb.store.again import cut_again
        from git_kb.store.pool import Pool

        with open_repository(place) as repo:
            pool = Pool(repo)
            lacking = {kbid for kbid in kbids if kbid not in found}
            for kbid in lacking:
                pool.oid(kbid)
            wanted = ((source, blob, {kbid}) for kbid, source, blob in origins() if kbid in lacking)
            for objects in cut_again(repo, wanted):
                found.update((kbid, decode_section(data, kbid)) for kbid, data in objects.items())
    return found


def _read(place: Place, kbids: list[str]) -> dict[str, Section]:
    found: dict[str, Section] = {}
    if not kbids:
        return found
    from git_kb.repo.catfile import read_objects

    objects = read_objects(place, [f"{POOL_REF}:{kbid[:2]}/{kbid[2:]}" for kbid in kbids])
    for kbid, data in zip(kbids, objects, strict=True):
        try:
            if data is not None:
                found[kbid] = decode_section(data, kbid)
        except DamagedSection:
            pass
    return found
