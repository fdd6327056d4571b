"""SHA-1 and SHA-256 without OpenSSL: `hashlib` loads it, fast on much data, and takes 4 ms to; a search hashes ten sections."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# The interpreter's own modules.
_SHA256 = "_sha2" if sys.version_info >= (3, 12) else "_sha256"
MODULES = {"sha1": "_sha1", "sha256": _SHA256}


def digester(name: str) -> Callable[..., Any]:
    """Return the constructor of "sha1" or "sha256": hashlib's where something has imported it, else the interpreter's own."""
    loaded = sys.modules.get("hashlib") or sys.modules.get(MODULES[name])
    if loaded is None:
        try:
            loaded = __import__(MODULES[name])
        except ImportError:
            loaded = __import__("hashlib")
    return getattr(loaded, name)  # type: ignore[no-any-return]
