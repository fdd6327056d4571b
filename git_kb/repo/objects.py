"""Git's object formats as pure functions: names, trees, commits."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from git_kb.errors import KbError
from git_kb.repo.ident import decode_ident, encode_ident
from git_kb.repo.protocol import DIRECTORY, EXECUTABLE, FILE, GITLINK, SYMLINK, Commit, DamagedObject, TreeEntry, show_path

if TYPE_CHECKING:
    from git_kb.repo.ident import Ident

MODES = {b"100644": FILE, b"100755": EXECUTABLE, b"40000": DIRECTORY, b"120000": SYMLINK, b"160000": GITLINK}
MODE_TEXT = {mode: text for text, mode in MODES.items()}

HFS_IGNORED = dict.fromkeys([*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF])


class BadPath(KbError):
    """A path, or a name in a tree, that git would refuse or that clashes with another."""

    def __init__(self, path: bytes, why: str):
        self.path, self.why = path, why
        super().__init__(f"'{show_path(path)}': {why}")


class BadCommit(KbError):
    """A commit cannot be made of this."""


def object_id(kind: str, data: bytes, object_format: str) -> str:
    """Return the hex id git gives these bytes."""
    digest = hashlib.sha256() if object_format == "sha256" else hashlib.sha1(usedforsecurity=False)
    digest.update(b"%s %d\0" % (kind.encode(), len(data)))
    digest.update(data)
    return digest.hexdigest()


def check_name(name: bytes, path: bytes | None = None) -> None:
    """Raise BadPath unless `name` may stand in a tree. `path` is what the message names."""
    if name.isalnum():
        # Most names, and all of the pool's.
        return
    if name in (b"", b".", b"..") or b"/" in name or b"\0" in name or _means_dotgit(name):
        raise BadPath(name if path is None else path, "not a name git allows in a tree")


def encode_tree(entries: Iterable[TreeEntry]) -> bytes:
    """Return a tree object's bytes, in git's order. Raises BadPath."""
    ordered = sorted(entries, key=tree_order)
    names = set()
    parts = []
    for name, mode, oid in ordered:
        check_name(name)
        if name in names:
            raise BadPath(name, "is in the tree twice")
        names.add(name)
        text = MODE_TEXT.get(mode)
        if text is None:
            raise BadPath(name, f"mode {mode:o} is not one git stores")
        parts.append(b"%s %s\0%s" % (text, name, bytes.fromhex(oid)))
    return b"".join(parts)


def decode_tree(data: bytes, oid: str) -> list[TreeEntry]:
    """Return a tree object's entries, in git's order. Raises DamagedObject(oid)."""
    size = len(oid) // 2
    entries = []
    position, end = 0, len(data)
    try:
        while position < end:
            space = data.index(b" ", position)
            nul = data.index(b"\0", space)
            mode = MODES.get(data[position:space])
            if mode is None:
                mode = _odd_mode(data[position:space])
            position = nul + 1 + size
            entries.append(TreeEntry(data[space + 1 : nul], mode, data[nul + 1 : position].hex()))
    except ValueError:
        raise DamagedObject(oid, "its entries do not parse") from None
    if position != end:
        raise DamagedObject(oid, "its last entry is cut off")
    return entries


def tree_order(entry: TreeEntry) -> bytes:
    """Return the sort key of an entry: git sorts a directory as if its name ended in a slash."""
    return entry.name + b"/" if entry.mode == DIRECTORY else entry.name


def encode_commit(tree: str, parents: Iterable[str], author: Ident, committer: Ident, message: str) -> bytes:
    """Return a commit object's bytes. Raises BadCommit for a message with a NUL."""
    if "\0" in message:
        raise BadCommit("a commit message cannot hold a NUL character")
    lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
    head = "\n".join(lines).encode() + b"\nauthor " + encode_ident(author) + b"\ncommitter " + encode_ident(committer)
    return head + b"\n\n" + message.rstrip("\n").encode("utf-8", "replace") + b"\n"


def decode_commit(data: bytes, oid: str) -> Commit:
    """Return a commit object's content. Raises DamagedObject(oid)."""
    head, _, message = data.partition(b"\n\n")
    fields: dict[bytes, bytes] = {}
    parents = []
    for line in head.split(b"\n"):
        key, _, value = line.partition(b" ")
        if key == b"parent":
            parents.append(value.decode("ascii", "replace"))
        elif key:
            fields.setdefault(key, value)
    for key in (b"tree", b"author", b"committer"):
        if key not in fields:
            raise DamagedObject(oid, f"it has no {key.decode()}")
    names = [fields[b"tree"].decode("ascii", "replace"), *parents]
    if not all(is_oid(name, len(oid)) for name in names):
        raise DamagedObject(oid, "it names objects that are no object ids")
    text = _decode_message(message, fields.get(b"encoding", b"utf-8"))
    return Commit(names[0], tuple(parents), decode_ident(fields[b"author"]), decode_ident(fields[b"committer"]), text)


def is_oid(text: str, length: int) -> bool:
    """Return whether text is a whole object id of `length` digits, in lower case as git writes it."""
    return len(text) == length and not text.strip("0123456789abcdef")


def _means_dotgit(name: bytes) -> bool:
    """Return whether a name is `.git` on some file system: in any case, with what HFS+ ignores, in NTFS's short and long forms."""
    if name.isascii() and b"git" not in name.lower():
        return False
    lowered = name.decode("utf-8", "surrogateescape").translate(HFS_IGNORED).lower()
    return any(part.partition(":")[0].rstrip(" .") in (".git", "git~1") for part in lowered.split("\\"))


def _odd_mode(text: bytes) -> int:
    """Return a mode old or foreign tools wrote (100664, 040000). Raises ValueError."""
    if not text or len(text) > 6 or text.strip(b"01234567"):
        raise ValueError("not a mode")
    mode = int(text, 8)
    # As git's canon_mode: of a file's permissions only "executable" counts.
    if mode & 0o170000 == 0o100000:
        return EXECUTABLE if mode & 0o100 else FILE
    return mode


def _decode_message(message: bytes, encoding: bytes) -> str:
    try:
        return message.decode(encoding.decode("ascii", "replace"), "replace")
    except (LookupError, ValueError):
        return message.decode("utf-8", "replace")
