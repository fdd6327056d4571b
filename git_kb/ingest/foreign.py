"""What another tool's knowledge base gives: files to be, and what cannot be carried. docs/import.md.

The readers (`kbtree.py`, `kbdb.py`, `rows.py`) make a Carried of what they find; `intake.py` writes and ingests it. What they
read was written by others: nothing is followed, everything has a bound.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from unicodedata import category, normalize

from git_kb.errors import Damaged, KbError
from git_kb.model.document import WINDOWS_NAMES
from git_kb.repo.objects import BadPath, check_name
from git_kb.repo.regular import kind, open_regular

# What one import may hold: it is in memory until all of it has been looked at.
MAX_FILES, MAX_DEPTH, MAX_TOTAL = 200_000, 50, 2 << 30
MAX_NAME = 100


class DamagedImport(Damaged):
    """What shall be imported cannot be read as what it is. `path` names the file, `why` says what is wrong."""

    hint = "nothing was written"

    def __init__(self, path: str, why: str):
        self.path, self.why = path, why
        super().__init__(f"cannot import '{path}': {why}")


class UnknownForm(KbError):
    """It is nothing that can be imported."""

    hint = "'git kb import -h' lists what can be"

    def __init__(self, path: str, why: str):
        self.path = path
        super().__init__(f"cannot import '{path}': {why}")


@dataclass(frozen=True, slots=True)
class File:
    """One file to be. path: below the import's own directory, with "/". origin: what it was, for the report.

    media: kept as a file, but no source. tier: as ingest takes it.
    """

    path: str
    data: bytes
    origin: str
    media: bool = False
    tier: str = ""


@dataclass(slots=True)
class Carried:
    """All that an import gives. not_carried, warnings: (what, why).

    kbids: sections by the names they had -> file. docids: documents by theirs -> file.
    """

    kind: str
    files: list[File] = field(default_factory=list)
    not_carried: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[tuple[str, str]] = field(default_factory=list)
    kbids: dict[str, str] = field(default_factory=dict)
    docids: dict[str, str] = field(default_factory=dict)
    n_bytes: int = 0

    def add(self, file: File) -> None:
        """Take a file. Raises DamagedImport when it is too much."""
        self.n_bytes += len(file.data)
        if self.n_bytes > MAX_TOTAL or len(self.files) >= MAX_FILES:
            raise DamagedImport(file.origin, f"one import may have {MAX_FILES} files with {MAX_TOTAL} bytes")
        self.files.append(file)


class Names:
    """Gives each file a path of its own: safe everywhere, the same for the same input."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, directory: str, name: str, ending: str = "") -> str:
        """Return `directory`/`name``ending`, in safe characters; with a hash of the name where that is taken, or lost something."""
        safe = safe_name(name)
        path = f"{directory}/{safe}{ending}" if directory else safe + ending
        n = 0
        while path.casefold() in self._taken:
            digest = sha256(f"{name}\0{n}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
            path = f"{directory}/{safe}.{digest}{ending}" if directory else f"{safe}.{digest}{ending}"
            n += 1
        self._taken.add(path.casefold())
        return path


def safe_name(text: str) -> str:
    """Return a file name for a text: letters, digits and `._+-`; never empty, hidden, reserved or longer than MAX_NAME bytes."""
    kept = "".join(c if c in "._+-" or category(c)[0] in "LNM" else "-" for c in normalize("NFC", text))
    while "--" in kept:
        kept = kept.replace("--", "-")
    kept = kept.encode("utf-8", "ignore")[:MAX_NAME].decode("utf-8", "ignore").strip("-. ")
    if not kept or kept.partition(".")[0].lower() in WINDOWS_NAMES:
        return f"_{kept}" if kept else "untitled"
    try:
        check_name(kept.encode())
    except BadPath:
        return f"_{kept}"
    return kept


def files_below(top: str, skip: frozenset[str] = frozenset()) -> Iterator[tuple[str, str]]:
    """Yield (path from `top`, "" or why it cannot be read) of all files, sorted. Links are not followed. Raises DamagedImport.

    skip: names of directories and files at the top that are passed over.
    """
    n = 0
    stack = [""]
    while stack:
        directory = stack.pop()
        if directory.count("/") > MAX_DEPTH:
            raise DamagedImport(os.path.join(top, directory), f"directories are nested more than {MAX_DEPTH} deep")
        try:
            entries = sorted(os.scandir(os.path.join(top, directory)), key=lambda e: e.name)
        except OSError as e:
            yield directory, f"it cannot be read: {(e.strerror or str(e)).lower()}"
            continue
        below = []
        for entry in entries:
            path = f"{directory}/{entry.name}" if directory else entry.name
            if path in skip:
                continue
            n += 1
            if n > MAX_FILES:
                raise DamagedImport(top, f"it has more than {MAX_FILES} files")
            mode = entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode):
                below.append(path)
            elif stat.S_ISREG(mode):
                yield path, _bad_name(path)
            else:
                yield path, f"it is {kind(mode)}"
        stack += reversed(below)


def _bad_name(path: str) -> str:
    try:
        for name in path.split("/"):
            check_name(os.fsencode(name))
            if len(os.fsencode(name)) > 255:
                return "its name is too long"
    except BadPath:
        return "git does not allow its name"
    return ""


def read_bounded(path: str, limit: int) -> bytes:
    """Return the bytes of a regular file, not through a link. Raises DamagedImport when it is larger or cannot be read."""
    try:
        with open(open_regular(path), "rb") as file:
            data = file.read(limit + 1)
    except OSError as e:
        raise DamagedImport(path, f"it cannot be read: {(e.strerror or str(e)).lower()}") from None
    if len(data) > limit:
        raise DamagedImport(path, f"it is larger than {limit} bytes")
    return data


def is_real_directory(path: str) -> bool:
    """Return whether a path is a directory and no link."""
    return os.path.isdir(path) and not os.path.islink(path)


def front_matter(values: dict[str, object]) -> str:
    """Return YAML front matter of JSON-like values, keys in the order given."""
    import yaml

    text = yaml.safe_dump(values, allow_unicode=True, sort_keys=False, width=1 << 20, default_flow_style=False)
    return f"---\n{text}---\n"
