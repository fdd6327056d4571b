"""The references of a view's sections: what is missing from the cache is found from the pool, or from the sources."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

from git_kb.index.pagefile import DamagedSegment
from git_kb.index.references import (
    DIRECTORY,
    ReferenceFile,
    References,
    drop_files,
    encode_file,
    merge_files,
    object_records,
    open_files,
    section_records,
    write_references,
)
from git_kb.index.segments import Segments
from git_kb.index.view import View
from git_kb.model.section import RAW_SIZE, kbid_text
from git_kb.repo.discover import Place
from git_kb.repo.lockfile import Locked
from git_kb.repo.protocol import Repository
from git_kb.store.again import cut_again
from git_kb.store.collector import paused_collector
from git_kb.store.freshness import NOT_STORED, Hooks, with_fresh_view
from git_kb.store.pool import Pool
from git_kb.store.state import StateName
from git_kb.store.workers import in_workers

T = TypeVar("T")
# Below this many sections, starting workers costs more than it saves.
MIN_PARALLEL = 5000
LOT_SECTIONS = 2000


def fresh_references(repo: Repository, view: View, hooks: Hooks) -> References:
    """Return the references of all sections of a view, found and stored where they were missing.

    Where nothing can be stored they are found for this command alone.
    """
    kb_dir = repo.place.kb_dir
    files, damaged = open_files(kb_dir)
    for name in damaged:
        hooks.warn(f"'{os.path.join(kb_dir, DIRECTORY, name)}' is damaged; what it held is found again")
    known = References(files)
    missing = known.missing({id_[:RAW_SIZE] for id_ in view.part(0, view.n_documents).entry_ids()})
    if not missing:
        return known
    n = len(missing)
    hooks.note(f"finding the references of {n} section{'s' * (n != 1)}")
    try:
        with hooks.lock(), paused_collector():
            write_references(kb_dir, _find(repo, view, missing, hooks))
            merge_files(kb_dir)
        known.close()
        return References(open_files(kb_dir)[0])
    except Locked as e:
        hooks.warn(f"{e}; references are found for this command alone")
    except NOT_STORED as e:
        hooks.warn(f"references cannot be stored ({e}); they are found for this command alone")
    known.files.append(ReferenceFile("memory", "", encode_file(_find(repo, view, missing, hooks))))
    return known


def with_fresh_references(repo: Repository, state: StateName, hooks: Hooks, use: Callable[[View, References], T]) -> T:
    """Return `use(view, references)` over a fresh view of a state. A damaged file is made again, as in `with_fresh_view`."""
    directory = os.path.join(repo.place.kb_dir, DIRECTORY, "")

    def over(view: View, _: Segments) -> T:
        try:
            return use(view, fresh_references(repo, view, hooks))
        except DamagedSegment as e:
            if not e.path.startswith(directory):
                raise
            hooks.warn(f"{e}; it is made again")
            try:
                with hooks.lock():
                    drop_files(repo.place.kb_dir)
            except (Locked, *NOT_STORED):
                raise e from None
        return use(view, fresh_references(repo, view, hooks))

    return with_fresh_view(repo, state, hooks, over)


def _find(repo: Repository, view: View, missing: set[bytes], hooks: Hooks) -> dict[bytes, bytes]:
    """Return kbid -> records of these sections, but for those that neither pool nor sources give."""
    kbids = sorted(missing)
    records: dict[bytes, bytes] = {}
    lost: list[bytes] = []
    if hooks.jobs < 2 or len(kbids) < MIN_PARALLEL:
        records, lost = _records_from_pool(Pool(repo), kbids)
    else:
        place = repo.place.plain()
        lots = [kbids[at : at + LOT_SECTIONS] for at in range(0, len(kbids), LOT_SECTIONS)]
        for n, (found, lacking) in in_workers(_records_of_lot, ((n, (place, lot)) for n, lot in enumerate(lots)), hooks.jobs):
            hooks.progress("references", n * LOT_SECTIONS, len(kbids))
            records.update(found)
            lost += lacking
    if lost:
        records.update(_from_sources(repo, view, lost))
    return records


def _records_of_lot(place: Place, kbids: list[bytes]) -> tuple[dict[bytes, bytes], list[bytes]]:
    """`_records_from_pool` in a worker process."""
    from git_kb.repo.open import open_repository

    with open_repository(place) as repo, paused_collector():
        return _records_from_pool(Pool(repo), kbids)


def _records_from_pool(pool: Pool, kbids: list[bytes]) -> tuple[dict[bytes, bytes], list[bytes]]:
    """Return (kbid -> records, kbids of sections that the pool lacks)."""
    records: dict[bytes, bytes] = {}
    lost = []
    for kbid, (_, section) in zip(kbids, pool.read_many(map(kbid_text, kbids)), strict=True):
        if section is None:
            lost.append(kbid)
        else:
            records[kbid] = section_records(section)
    return records, lost


def _from_sources(repo: Repository, view: View, lost: list[bytes]) -> dict[bytes, bytes]:
    """Return the records of sections that the pool lacks, as far as their sources give them."""
    wanted: dict[int, set[str]] = {}
    for kbid in lost:
        for row in view.rows_of_section(kbid):
            wanted.setdefault(row.doc, set()).add(kbid_text(kbid))
    documents = ((view.document(doc), kbids) for doc, kbids in wanted.items())
    origins = ((d.source, d.blob, kbids) for d, kbids in documents)
    made = {kbid: data for objects in cut_again(repo, origins) for kbid, data in objects.items()}
    return {kbid: object_records(kbid_text(kbid), made[kbid_text(kbid)]) for kbid in lost if kbid_text(kbid) in made}
