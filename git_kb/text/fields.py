"""The three fields of an entry: heading, body, code."""

from __future__ import annotations

import re

# A fence line, in a list or a quote too: (marks, what follows).
FENCE_LINE = re.compile(r"^[ \t>]*(`{3,}|~{3,})(.*)$", re.MULTILINE)
# A paragraph from the start whose last line is an underline.
_SETEXT = re.compile(r"(?:[ \t]*[^\s][^\n]*\n){1,20}? {0,3}(?:=+|-+)[ \t]*(?:\n|\Z)")


def fields(mime: str, content: str, heading: str) -> tuple[str, str, str]:
    """Return (heading, body, code) of an entry, as text to cut words from."""
    if mime == "text/markdown":
        body, code = split_code(without_heading(content))
        return heading, body, code
    if mime.startswith("image/"):
        return heading, "", ""
    if mime in ("text/plain", "text/x-rst", "text/html", "text/csv", "text/asciidoc", "text/org"):
        return heading, content, ""
    return heading, "", content


def without_heading(content: str) -> str:
    """Return Markdown without the heading it begins with, since its words are in the heading field."""
    if content.startswith("#"):
        level = len(content) - len(content.lstrip("#"))
        if level <= 6 and content[level : level + 1] in (" ", "\t", "\n", ""):
            return content.partition("\n")[2]
        return content
    match = _SETEXT.match(content)
    return content[match.end() :] if match else content


def split_code(content: str) -> tuple[str, str]:
    """Return (prose, fenced code) of Markdown.

    Fences as in CommonMark, at any indentation, since they may stand in lists.
    """
    if "```" not in content and "~~~" not in content:
        return content, ""
    prose: list[str] = []
    code: list[str] = []
    fence = ""
    at = 0
    for match in FENCE_LINE.finditer(content):
        marks, rest = match.groups()
        if fence:
            if marks[0] == fence[0] and len(marks) >= len(fence) and not rest.strip():
                code.append(content[at : match.start()])
                fence = ""
                at = match.end() + 1
        elif marks[0] == "~" or "`" not in rest:  # else a code span
            prose.append(content[at : match.start()])
            fence = marks
            at = match.end() + 1
    (code if fence else prose).append(content[at:])
    return "".join(prose), "".join(code)
