"""Lines that end with LF, CRLF or CR, and nothing else: `str.splitlines` has eight ends more."""

from __future__ import annotations

import re
from collections.abc import Iterator

LINE_END = re.compile(r"\r\n?|\n")
# A line with its end; empty at the end of the text.
LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|\Z)")


def split_lines(text: str, start: int = 0) -> Iterator[tuple[int, str]]:
    """Yield (offset, line with its end) from `start` on. A line end at the very end starts no line."""
    at = start
    while at < len(text) and (m := LINE.match(text, at)):
        yield at, m[0]
        at = m.end()


def line_starts(source: str) -> list[int]:
    """Return the offset of each line's first character. A line end at the very end starts no line."""
    starts = [0, *(m.end() for m in LINE_END.finditer(source))]
    return starts[:-1] if starts[-1] == len(source) else starts


def lf_only(text: str) -> str:
    """Return text with LF for every line end."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
