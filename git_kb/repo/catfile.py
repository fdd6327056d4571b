"""Objects by `git cat-file`: one process and no git library. On the search path."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.repo.discover import Place


def read_objects(place: Place, names: list[str]) -> list[bytes | None]:
    """Return the content of the objects of these names, which are without line ends; None for what cannot be read."""
    from git_kb.repo.spawn import run_git

    if not names:
        return []
    asked = "".join([f"{name}\n" for name in names]).encode("utf-8", "surrogateescape")
    status, out, _ = run_git(["cat-file", "--batch"], place.git_cwd, asked, place.git_env())
    if status != 0:
        # Git stops at an object that it cannot read; the others are asked for one by one.
        return [data for name in names for data in read_objects(place, [name])] if len(names) > 1 else [None]
    found: list[bytes | None] = []
    at = 0
    for _ in names:
        end = out.find(b"\n", at)
        fields = out[at:end].split(b" ") if end >= 0 else []
        at = end + 1 if end >= 0 else len(out)
        if len(fields) != 3 or not fields[2].isdigit():
            found.append(None)
            continue
        size = int(fields[2])
        found.append(out[at : at + size])
        at += size + 1
    return found
