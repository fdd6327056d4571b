"""Markdown: one section per top-level heading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from git_kb.model.document import FRONT_MATTER
from git_kb.text.blocks import Block, list_items, scan_blocks
from git_kb.text.frontmatter import read_front_matter
from git_kb.text.inline import definition_label, plain_heading
from git_kb.text.plain import FINER, Cut, Cuts, Limits, Piece, parts_of, without_blank_pieces


def cut_markdown(text: str, limits: Limits) -> Cut:
    """Cut a Markdown document at its top-level headings; front matter and what comes before the first heading stand alone.

    A section over the ceiling is cut between blocks; a block over it between list items, else lines, else words.
    """
    front = read_front_matter(text)
    start = front.end if front else 0
    blocks = scan_blocks(text, start + text.startswith("\ufeff", start))
    if front:
        start = blocks[0].start if blocks else len(text)
    pieces = [Piece(0, start, (), front.type, FRONT_MATTER)] if front else []
    labels = frozenset(definition_label(text[b.start : b.end]) for b in blocks if b.kind == "definition")
    title = front.title if front else ""
    path: list[tuple[int, str]] = []
    for first, stop in _sections(text, blocks):
        opening = blocks[first]
        if opening.kind == "heading":
            path = [h for h in path if h[0] < opening.level]
            path.append((opening.level, plain_heading(opening.text, labels)))
            title = title or path[-1][1]
        begin = opening.start if first else start
        end = blocks[stop].start if stop < len(blocks) else len(text)
        levels = _levels(text, blocks[first:stop])
        pieces += parts_of(text, begin, end, levels, limits, tuple(h for _, h in path))
    if not blocks:
        pieces.append(Piece(start, len(text)))
    pieces = without_blank_pieces(text, [p for p in pieces if p.end > p.start])
    if not front:
        return Cut(pieces, title)
    return Cut(pieces, title, front.tags, front.warnings, front.rest())


def _sections(text: str, blocks: Sequence[Block]) -> Iterator[tuple[int, int]]:
    """Yield (index of the first block, index after the last one) of each section."""
    math = _in_math(text, blocks) if "$$" in text else frozenset()
    starts = [i for i, b in enumerate(blocks) if i == 0 or (b.kind == "heading" and i not in math)]
    return zip(starts, [*starts[1:], len(blocks)][: len(starts)], strict=True)


def _in_math(text: str, blocks: Sequence[Block]) -> frozenset[int]:
    """Return the indices of blocks between a line `$$` and the next one. CommonMark knows no math: a `#` in it is a heading there.

    A blank line ends math, so that a stray `$$` cannot take the document's headings away.
    """
    inside: set[int] = set()
    opened = -1
    for i, block in enumerate(blocks):
        if opened >= 0 and block.line != blocks[i - 1].end_line:
            opened = -1
        if block.kind in ("fence", "code", "html"):
            continue
        n_marks = sum(line.strip() == "$$" for line in text[block.start : block.end].splitlines())
        if opened >= 0 and n_marks:
            inside.update(range(opened + 1, i))
        if n_marks % 2:
            opened = -1 if opened >= 0 else i
    return frozenset(inside)


def _levels(text: str, blocks: Sequence[Block]) -> tuple[Cuts, ...]:
    def between_blocks(text: str, start: int, end: int) -> Iterator[int]:
        return (b.start for b in blocks if start < b.start < end)

    def between_items(text: str, start: int, end: int) -> Iterator[int]:
        for block in blocks:
            if block.kind == "list" and block.start >= start and block.end <= end:
                yield from (i for i in list_items(text, block))

    return (between_blocks, between_items, *FINER)
