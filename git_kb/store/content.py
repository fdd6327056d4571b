"""Section content for a few hits, by one git process and no git library.

On the search path.
"""

from __future__ import annotations

from git_kb.model.section import DamagedSection, Section, decode_section
from git_kb.repo.spawn import run_git
from git_kb.store.root import POOL_REF

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.repo.discover import Place


def read_contents(place: Place, kbids: list[str]) -> dict[str, Section]:
    """Return the sections of these kbids from the pool; those that are missing or damaged are left out."""
    if not kbids:
        return {}
    names = "".join(f"{POOL_REF}:{kbid[:2]}/{kbid[2:]}\n" for kbid in kbids).encode()
    status, out, _ = run_git(["cat-file", "--batch"], place.git_cwd, names, place.git_env())
    found: dict[str, Section] = {}
    if status != 0:
        return found
    at = 0
    for kbid in kbids:
        end = out.find(b"\n", at)
        if end < 0:
            break
        header = out[at:end].split(b" ")
        at = end + 1
        if len(header) != 3 or not header[2].isdigit():
            continue
        size = int(header[2])
        try:
            found[kbid] = decode_section(out[at : at + size], kbid)
        except DamagedSection:
            pass
        at += size + 1
    return found
