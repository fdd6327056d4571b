"""Chunks: what the text layer makes of one source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Chunk:
    """One piece of a source, before canonicalisation.

    start, end: byte range in the source as given; the chunks of a source tile it.
    line: 1-based line of `start`; n_lines: line ends inside the range.
    text: the range, decoded (undecodable bytes as lone surrogates, which become U+FFFD later).
    heading: headings from the outermost to this chunk's own, plain text.
    type: MIME type where it differs from the document's, else "".
    role: "" or "front-matter". part: 1, or 2, 3, ... for later parts of a split section.
    """

    start: int
    end: int
    line: int
    n_lines: int
    text: str
    heading: tuple[str, ...] = ()
    type: str = ""
    role: str = ""
    part: int = 1


@dataclass(frozen=True, slots=True)
class ChunkedSource:
    """All of one source. `title` is "" when nothing in the source gives one; `language`: its code; `warnings` are for the user."""

    type: str
    chunks: tuple[Chunk, ...]
    title: str = ""
    tags: tuple[str, ...] = ()
    encoding: str = ""
    chunker: str = ""
    language: str = ""
    warnings: tuple[str, ...] = ()
    # Front matter as plain data (str -> JSON-like), without what the manifest has keys for.
    metadata: tuple[tuple[str, str], ...] = ()
