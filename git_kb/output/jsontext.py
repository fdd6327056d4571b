"""JSON for people's terminals and other programs alike: text of documents cannot steer the one, nor break the other."""

from __future__ import annotations

import json
import re

# Control characters beyond those that JSON escapes anyway, bidi controls, line separators, and lone surrogates (bytes that are no
# UTF-8), which no encoder of UTF-8 takes. They only ever stand inside strings.
_ESCAPED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def json_text(data: object, indent: int | None = None) -> str:
    """Return data as JSON text that is valid UTF-8 and has no control characters in it."""
    text = json.dumps(data, ensure_ascii=False, indent=indent)
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
