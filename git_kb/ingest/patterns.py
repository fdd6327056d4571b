"""Include and exclude patterns of `kb.config.json`: `*`, `?`, `[...]` within a name, `**` across
directories. Case does not count: `README.MD` is Markdown too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable


def compile_patterns(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Return a test for repository paths (`/` between names). `**/x` also matches `x` at the top."""
    expressions = [_expression(p) for p in patterns]
    if not expressions:
        return lambda path: False
    match = re.compile("|".join(f"(?:{e})" for e in expressions), re.DOTALL | re.IGNORECASE).fullmatch
    return lambda path: match(path) is not None


def _expression(pattern: str) -> str:
    out = []
    i = 0
    while i < len(pattern):
        if pattern.startswith("**/", i):
            out.append("(?:[^/]+/)*")
            i += 3
        elif pattern.startswith("**", i):
            out.append(".*")
            i += 2
        elif pattern[i] == "*":
            out.append("[^/]*")
            i += 1
        elif pattern[i] == "?":
            out.append("[^/]")
            i += 1
        elif pattern[i] == "[" and (end := pattern.find("]", i + 2)) > 0:
            body = pattern[i + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            out.append("[" + ("^" + body[1:] if body[0] in "!^" else body) + "]")
            i = end + 1
        else:
            out.append(re.escape(pattern[i]))
            i += 1
    return "".join(out)
