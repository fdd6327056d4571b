"""`kb/catalog.toml`: the mark of a KB root, and the format of what is in it. docs/format-manifest.md."""

from __future__ import annotations

from typing import Any

from git_kb.errors import Damaged, NewerFormat
from git_kb.store.manifest import has_conflict, read_head, tracked_text
from git_kb.store.root import CATALOG

FORMAT = 1
# Ours has some 150 bytes. A hostile one could keep the TOML parser busy.
MAX_BYTES = 16 << 10


class DamagedCatalog(Damaged):
    """`kb/catalog.toml` cannot be used. `why` says what is wrong."""

    hint = "restore the file from git; moved away, 'git kb init' writes a fresh one"

    def __init__(self, why: str):
        self.why = why
        super().__init__(f"'{CATALOG}' is damaged: {why}")


def check_catalog(data: bytes) -> None:
    """Raise NewerFormat when a catalog's bytes are of a later format, DamagedCatalog when they are none."""
    version = _parse(data).get("format")
    if version is None:
        raise DamagedCatalog("'format' is missing")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise DamagedCatalog("'format' is not 1")
    if version > FORMAT:
        raise NewerFormat(CATALOG, version)


def _parse(data: bytes) -> dict[str, Any]:
    """Return the keys. What `git kb init` writes needs no TOML parser, which takes long to load."""
    if len(data) > MAX_BYTES:
        raise DamagedCatalog(f"it has {len(data)} bytes")
    try:
        text = tracked_text(data)
    except UnicodeDecodeError as e:
        raise DamagedCatalog(f"it is not UTF-8 (byte {e.start})") from None
    if has_conflict(text):
        raise DamagedCatalog("it has merge conflict markers")
    keys = read_head("".join(line for line in text.splitlines(keepends=True) if not line.startswith("#")))
    if keys:
        return keys
    import tomllib

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as e:
        raise DamagedCatalog(f"it is not TOML: {e}") from None
