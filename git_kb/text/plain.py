"""Cutting by size: plain text at paragraphs, and what all cutters share for sections too long to stay whole.

Cutters work on decoded text and give pieces that tile it. Sizes are bytes of UTF-8, whatever the source is encoded in.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple
from unicodedata import category

from git_kb.model.section import TRIMMED
from git_kb.text.lines import LINE_END

# Gives the offsets, between start and end, at which a range may be cut, in ascending order.
Cuts = Callable[[str, int, int], Iterable[int]]


class Limits(NamedTuple):
    """A part is closed once it has `target` bytes, and never has more than `ceiling`; its blank ends do not count."""

    target: int = 4000
    ceiling: int = 8000


class Piece(NamedTuple):
    """A chunk before its bytes and lines are counted: character offsets and what model.chunk.Chunk says about the rest."""

    start: int
    end: int
    heading: tuple[str, ...] = ()
    type: str = ""
    role: str = ""
    part: int = 1


class Cut(NamedTuple):
    """What a cutter makes of a text. `pieces` tile it; none is blank, unless all of the text is."""

    pieces: list[Piece]
    title: str = ""
    tags: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    metadata: tuple[tuple[str, str], ...] = ()
    chunker: str = ""


def cut_plain(text: str, limits: Limits) -> Cut:
    """Cut plain text: whole paragraphs until they reach the target."""
    return Cut(parts_of(text, 0, len(text), (paragraphs, *FINER), limits, always=True))


def cut_lines(text: str, limits: Limits) -> Cut:
    """Cut text of a type without a cutter of its own (JSON, YAML, CSV): whole lines until they reach the target."""
    return Cut(parts_of(text, 0, len(text), FINER, limits, always=True))


def parts_of(
    text: str, start: int, end: int, levels: Sequence[Cuts], limits: Limits, heading: tuple[str, ...] = (), *, always: bool = False
) -> list[Piece]:
    """Return the range as one piece, or as parts when it is over the ceiling (`always`: over the target).

    levels: where it may be cut, the best places first; a stretch between two cuts that is over the ceiling goes to the next level.
    """
    if n_utf8(text, start, end) <= (limits.target if always else limits.ceiling):
        return [Piece(start, end, heading)]
    spans = _without_blank(text, list(_pack(text, start, end, levels, limits)))
    return [Piece(a, b, heading, part=i) for i, (a, b) in enumerate(spans, 1)]


def n_utf8(text: str, start: int, end: int) -> int:
    """Return the bytes of text[start:end] in UTF-8."""
    part = text[start:end]
    return len(part) if part.isascii() else len(part.encode("utf-8", "surrogatepass"))


def is_blank(text: str, start: int, end: int) -> bool:
    """Return whether nothing would be left of text[start:end] as a section's content."""
    return not text[start:end].strip(TRIMMED)


def without_blank_pieces(text: str, pieces: list[Piece]) -> list[Piece]:
    """Return the pieces with blank ones joined to the one before, or, at the start, to the one after."""
    kept: list[Piece] = []
    # Whether the last one is blank so far: it grows, so it is not looked at again.
    blank_so_far = False
    for piece in pieces:
        blank = is_blank(text, piece.start, piece.end)
        if kept and blank_so_far:
            kept[-1] = piece._replace(start=kept[-1].start)
            blank_so_far = blank
        elif kept and blank:
            kept[-1] = kept[-1]._replace(end=piece.end)
        else:
            kept.append(piece)
            blank_so_far = blank
    return kept


def _pack(text: str, start: int, end: int, levels: Sequence[Cuts], limits: Limits) -> Iterator[tuple[int, int]]:
    """Yield spans that tile the range: units between cuts, joined until they reach the target."""
    # A unit can be a word: the unit that reaches the target is then looked up, for where a byte is a character that is no more
    # than a look at offsets.
    pack = _pack_ascii if text[start:end].isascii() else _pack_any
    return pack(text, start, end, levels, limits)


def _pack_ascii(text: str, start: int, end: int, levels: Sequence[Cuts], limits: Limits) -> Iterator[tuple[int, int]]:
    """`_pack` for a range in ASCII: the same spans."""
    ends = [b for _, b in _units(text, start, end, levels[0])]
    # The part goes from `at`, its next unit from `a`; that unit has number `i`.
    at, a, i = start, start, 0
    while i < len(ends):
        if a - at >= limits.target:
            yield at, a
            at = a
        # All units before this one fit into the part, whose size stays below the target.
        j = bisect_left(ends, at + limits.target, i)
        if j == len(ends):
            break
        a, b = ends[j - 1] if j > i else a, ends[j]
        i = j
        if a > at and b - at > limits.ceiling:
            yield at, a
            at = a
            continue
        if b - a > limits.ceiling and len(levels) > 1:
            spans = list(_pack(text, a, b, levels[1:], limits))
            yield from spans[:-1]
            at = spans[-1][0]
        a, i = b, j + 1
    if at < end:
        yield at, end


def _pack_any(text: str, start: int, end: int, levels: Sequence[Cuts], limits: Limits) -> Iterator[tuple[int, int]]:
    at = start
    size = 0
    for a, b in _units(text, start, end, levels[0]):
        n = n_utf8(text, a, b)
        if size and (size >= limits.target or size + n > limits.ceiling):
            yield at, a
            at, size = a, 0
        if n > limits.ceiling and len(levels) > 1:
            spans = list(_pack(text, a, b, levels[1:], limits))
            yield from spans[:-1]
            at, n = spans[-1][0], n_utf8(text, *spans[-1])
        size += n
    if at < end:
        yield at, end


def _units(text: str, start: int, end: int, cuts: Cuts) -> Iterator[tuple[int, int]]:
    at = start
    for cut in cuts(text, start, end):
        if at < cut < end:
            yield at, cut
            at = cut
    yield at, end


def _without_blank(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return [(p.start, p.end) for p in without_blank_pieces(text, [Piece(a, b) for a, b in spans])]


# Where text may be cut.

_PARAGRAPH_GAP = re.compile(r"(?:\r\n?|\n)(?:[ \t\f\v]*(?:\r\n?|\n))+")
# No look ahead at what follows: blanks before a line's end would be tried from each of them anew.
_WORD_END = re.compile(r"[ \t]+|[。！？；]")


def paragraphs(text: str, start: int, end: int) -> Iterator[int]:
    """Yield where a paragraph begins after blank lines."""
    return (m.end() for m in _PARAGRAPH_GAP.finditer(text, start, end))


def lines(text: str, start: int, end: int) -> Iterator[int]:
    """Yield where a line begins."""
    return (m.end() for m in LINE_END.finditer(text, start, end))


def words(text: str, start: int, end: int) -> Iterator[int]:
    """Yield where a word begins after blanks, or a sentence of a script without blanks."""
    for m in _WORD_END.finditer(text, start, end):
        at = m.end()
        if at < end and text[at] not in "\r\n":
            yield at


def characters(text: str, start: int, end: int) -> Iterator[int]:
    """Yield where a character begins, one for every kilobyte or so, no code point parted from those that combine with it."""
    step = 250  # of at most four bytes each
    at = start + step
    while at < end:
        cut = at
        while cut > at - step // 2 and _joined(text, cut):
            cut -= 1
        yield at if cut == at - step // 2 else cut
        at += step


FINER: tuple[Cuts, ...] = (lines, words, characters)


def _joined(text: str, at: int) -> bool:
    """Return whether text[at] belongs to one character, as a reader sees it, with text[at - 1]. Errs on the side of yes."""
    before, char = text[at - 1], text[at]
    if char < "\u0300":
        return before == "\r" and char == "\n"
    if before == "\u200d" or char in "\u200c\u200d\u200b\u2060\ufe0f\ufe0e" or category(char)[0] == "M":
        return True
    if "\U0001f1e6" <= char <= "\U0001f1ff" or "\U0001f3fb" <= char <= "\U0001f3ff" or "\U000e0020" <= char <= "\U000e007f":
        return True
    return "\u1160" <= char <= "\u11ff" or "\ud7b0" <= char <= "\ud7ff" or ("\udc80" <= char <= "\udcff")
