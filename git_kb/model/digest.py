"""SHA-1 and SHA-256 without OpenSSL: `hashlib` loads it, fast on much data, and takes 4 ms to; a search hashes ten sections."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# The interpreter's own modules, by Python version: 3.12 and later, 3.11.
MODULES = {"sha1": ("_sha1",), "sha256": ("_sha2", "_sha256")}


def digester(name: str) -> Callable[..., Any]:
    """Return the constructor of "sha1" or "sha256": hashlib's where something has imported it, else the interpreter's own."""
    loaded = sys.modules.get("hashlib")
    if loaded is None:
        for module in MODULES[name]:
            try:
                return getattr(__import__(module), name)  # type: ignore[no-any-return]
            except ImportError:
                continue
        loaded = __import__("hashlib")
    return getattr(loaded, name)  # type: ignore[no-any-return]
