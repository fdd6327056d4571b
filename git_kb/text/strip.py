"""What stands in text but is not text: content markers `$(image: …)` and data embedded as base64."""

from __future__ import annotations

import re

_MARKER = re.compile(r"\$\((?:image|code|text|document|link|doc-link):[^()\n]{0,512}\)")
_DATA = re.compile(r"(?:data:[^\s,;\"'()<>]{0,100}(?:;[^\s,;\"'()<>]{0,100}){0,5};)?base64,[A-Za-z0-9+/=_-]*")


def strip_unsearchable(text: str) -> str:
    """Return text with markers and embedded data as one blank each."""
    return _DATA.sub(" ", _MARKER.sub(" ", text))
