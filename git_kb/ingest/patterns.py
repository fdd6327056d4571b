"""Include and exclude patterns of `kb.config.json`: `*`, `?`, `[...]` within a name, `**` across
directories. Case does not count: `README.MD` is Markdown too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial

# An expression of few wildcards is tried in little time whatever the path. More of them could take for ever, so those patterns
# are followed place by place instead.
MAX_WILDCARDS = 3


def compile_patterns(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Return a test for repository paths (`/` between names). `**/x` also matches `x` at the top."""
    simple: list[str] = []
    tests: list[Callable[[str], bool]] = []
    for pattern in patterns:
        if len(re.findall(r"\*+", pattern)) <= MAX_WILDCARDS:
            simple.append(_expression(pattern))
        else:
            tests.append(partial(_follow, _elements(pattern)))
    if simple:
        expression = re.compile("|".join(f"(?:{e})" for e in simple), re.DOTALL | re.IGNORECASE)
        tests.insert(0, lambda path: expression.fullmatch(path) is not None)
    return lambda path: any(test(path) for test in tests)


def _elements(pattern: str) -> list[tuple[str, str]]:
    """Return (kind, expression) of each element: "names" (`**/`), "all" (`**`), "name" (`*`), or "one" for one character."""
    found = []
    for element in re.findall(r"\*\*/|\*\*|\*|\[[^]]+\]|.", pattern, re.DOTALL):
        if element == "**/":
            found.append(("names", ""))
        elif element == "**":
            found.append(("all", ""))
        elif element == "*":
            found.append(("name", ""))
        else:
            found.append(("one", _expression(element)))
    return found


def _follow(elements: list[tuple[str, str]], path: str) -> bool:
    """Return whether the elements match the whole path. Takes elements times characters, never more."""
    places = {0}
    for kind, expression in elements:
        if kind == "one":
            one = re.compile(expression, re.DOTALL | re.IGNORECASE)
            places = {at + 1 for at in places if at < len(path) and one.fullmatch(path, at, at + 1)}
        elif places:
            first = min(places)
            if kind == "all":
                places = set(range(first, len(path) + 1))
            elif kind == "names":
                for at in range(first, len(path)):
                    # A name of at least one character, and the "/" after it.
                    if at in places and path[at] != "/" and (end := path.find("/", at)) > 0:
                        places.add(end + 1)
            else:
                reached = set()
                for at in sorted(places):
                    while at <= len(path) and at not in reached:
                        reached.add(at)
                        if at == len(path) or path[at] == "/":
                            break
                        at += 1
                places = reached
    return len(path) in places


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
            out.append(_set(pattern[i + 1 : end]))
            i = end + 1
        else:
            out.append(re.escape(pattern[i]))
            i += 1
    return "".join(out)


def _set(body: str) -> str:
    """Return the expression of `[body]`; one that makes no sense, such as `[z-a]`, stands for itself."""
    inside = body.replace("\\", "\\\\").replace("[", "\\[")
    expression = "[" + ("^" + inside[1:] if inside[0] in "!^" else inside) + "]"
    try:
        re.compile(expression)
    except re.error:
        return re.escape(f"[{body}]")
    return expression
