"""A `kb/` tree with a `.kb-manifest.json`: raw sources, wiki pages, media. docs/import.md."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from typing import Any

from git_kb.ingest.foreign import Carried, DamagedImport, File, files_below, is_real_directory, read_bounded

MANIFEST = ".kb-manifest.json"
MAX_MANIFEST = 64 << 20
KNOWN_VERSION = 1
# What is made of the rest, by a tool that is not here; the first part of the path that fits counts.
LEFT = (
    (".kb-lock", "it is a lock"),
    (".index/", "it is an index, a cache"),
    ("output/", "it is generated output"),
    ("wiki/index", "it is a generated index page"),
    ("raw/.", "it is hidden"),
)
TAKEN = ("raw/", "wiki/")


def find_kb_tree(path: str) -> str | None:
    """Return the directory with the manifest, which may be `kb` below the one given."""
    for top in (path, os.path.join(path, "kb")):
        if is_real_directory(top) and os.path.isfile(os.path.join(top, MANIFEST)):
            return top
    return None


def read_kb_tree(top: str, max_file_bytes: int) -> Carried:
    """Return what a tree gives. Raises DamagedImport."""
    carried = Carried("kb-tree")
    listed = _read_manifest(os.path.join(top, MANIFEST))
    found: dict[str, str] = {}
    for path, why in files_below(top, skip=frozenset({MANIFEST})):
        if not why:
            why = next((reason for start, reason in LEFT if path.startswith(start)), "")
        if not why and not path.startswith(TAKEN):
            why = "it is neither below raw/ nor below wiki/"
        if not why and os.lstat(os.path.join(top, path)).st_size > max_file_bytes:
            why = f"it is larger than {max_file_bytes} bytes (sources.max_file_bytes)"
        if why:
            carried.not_carried.append((path, why))
            continue
        data = read_bounded(os.path.join(top, path), max_file_bytes)
        found[path] = sha256(data).hexdigest()
        carried.add(File(path, data, path, media=path.startswith("raw/media/")))
    _compare(listed, found, carried)
    return carried


def _read_manifest(path: str) -> list[dict[str, Any]]:
    try:
        data = json.loads(read_bounded(path, MAX_MANIFEST).decode("utf-8-sig"))
    except (ValueError, RecursionError) as e:
        raise DamagedImport(path, f"it is not JSON: {e}") from None
    if not isinstance(data, dict) or not isinstance(data.get("sources", []), list):
        raise DamagedImport(path, "it is no object with a list of 'sources'")
    version = data.get("version", KNOWN_VERSION)
    if version != KNOWN_VERSION:
        raise DamagedImport(path, f"its version is {str(version)[:40]}; {KNOWN_VERSION} is known")
    # Some list sources by slug: {"slug": {...}} has come up; only objects count.
    return [entry for entry in data.get("sources", []) if isinstance(entry, dict)]


def _compare(listed: list[dict[str, Any]], found: dict[str, str], carried: Carried) -> None:
    """Say where the manifest and the files do not agree."""
    seen = set()
    for entry in listed:
        name = _text(entry, "slug") or _text(entry, "path") or "a source without a name"
        raw = next((path for path in _candidates(entry) if path in found), None)
        if raw is None:
            carried.not_carried.append((name, f"'{MANIFEST}' lists it, but its file below raw/ is not there"))
            continue
        seen.add(raw)
        digest = _text(entry, "hash").removeprefix("sha256:").lower()
        if digest and digest != found[raw]:
            carried.warnings.append((raw, "it is not what the manifest's hash says; carried as it is"))
    for path in sorted(found.keys() - seen):
        if path.startswith("raw/") and not path.startswith("raw/media/"):
            carried.warnings.append((path, f"'{MANIFEST}' does not list it; carried all the same"))


def _candidates(entry: dict[str, Any]) -> list[str]:
    """Return the paths below the tree that a source's file may have, likeliest first."""
    candidates = []
    for key in ("raw", "raw_path", "file", "path", "source"):
        path = _text(entry, key).removeprefix("./")
        if path:
            candidates += [path, path.removeprefix("kb/"), "raw/" + path.replace("/", "--"), "raw/" + path]
    slug = _text(entry, "slug")
    if slug:
        candidates += [f"raw/{slug}", f"raw/{slug}.md", f"raw/{slug}.txt"]
    return candidates


def _text(entry: dict[str, Any], key: str) -> str:
    value = entry.get(key)
    return value if isinstance(value, str) and len(value) < 4096 else ""
