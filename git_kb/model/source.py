"""Sources as manifests name them: repository paths as text, and URLs. docs/format-manifest.md, "Document keys".

On the search path.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def source_of_path(path: bytes) -> str:
    """Return the manifest's `source` for a repository path."""
    try:
        text = path.decode()
        if not text.startswith("bytes:"):
            return text
    except UnicodeDecodeError:
        pass
    return "bytes:" + "".join(chr(b) if 0x20 < b < 0x7F and b != 0x25 else f"%{b:02X}" for b in path)


def path_of_source(source: str) -> bytes | None:
    """Return the repository path of a `source`, or None when it is a URL or is not safe to use."""
    if "://" in source:
        return None
    if source.startswith("bytes:"):
        from urllib.parse import unquote_to_bytes

        path = unquote_to_bytes(source[6:])
    else:
        path = source.encode("utf-8", "surrogatepass")
    parts = path.split(b"/")
    if any(p in (b"", b".", b"..") or p.lower() == b".git" or b"\0" in p for p in parts):
        return None
    return path


def source_keys(source: str, headings: Iterable[Sequence[str]]) -> list[str]:
    """Return the source_key of each section of one document, given its heading paths in order."""
    from hashlib import sha256

    def key_of(heading: str) -> str:
        return sha256(f"{source}\0{heading}".encode("utf-8", "surrogatepass")).hexdigest()[:16]

    taken: set[str] = set()
    ordinals: dict[str, int] = {}
    keys = []
    for path in headings:
        whole = "\0".join(path)
        key = key_of(path[-1] if path else "")
        if key in taken:
            key = key_of(whole)
        n = ordinals.get(whole, 2)
        while key in taken:
            key = key_of(f"{whole}\0#{n}")
            n += 1
        ordinals[whole] = n
        taken.add(key)
        keys.append(key)
    return keys
