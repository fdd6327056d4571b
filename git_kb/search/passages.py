"""What can be quoted of a section: its sentences and its code blocks, each a verbatim span.

A line scanner for Markdown, reStructuredText and plain text. It sees paragraphs, list items, fenced and indented code;
headings, tables, quotes and raw HTML are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from git_kb.search.find import Found
from git_kb.text.fields import FENCE_LINE
from git_kb.text.words import terms

MAX_SENTENCE = 600
MAX_CODE_LINES = 12
PROSE, CODE, OTHER = "prose", "code", "other"
PROSE_TYPES = ("text/markdown", "text/plain", "text/x-rst", "text/html", "text/asciidoc", "text/org")
_BREAK = re.compile(r"(?:(?<=[.!?])|(?<=[.!?][\"')\]])|(?<=[.!?][\"')\]]{2}))\s+(?=[\"'(\[`*_]?[^\Wa-z_])|(?<=[。！？])")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")
_MARKUP = re.compile(r"[ \t]*(?:#{1,6}(?:[ \t]|$)|\||>|<[a-zA-Z/!]|\[[^\]]+\]:|[-=*_]{3,}[ \t]*$|:::|\{\{|\.\.[ \t])")
# A table without outer bars is seen by its second row only.
_TABLE_RULE = re.compile(r"^[ \t]*:?-+:?(?:[ \t]*\|[ \t]*:?-+:?)+[ \t]*$", re.MULTILINE)
_DIRECTIVE = re.compile(r"[ \t]*\.\.[ \t]+(?:code-block|code|sourcecode)::[ \t]*(\S*)")
_DIRECTIVE_OPTION = re.compile(r"[ \t]+:[\w-]+:")
# A line that stands for a file kept elsewhere (mdBook) shows nothing of it.
_INCLUDE = re.compile(r"[ \t]*\{\{#[^{}]*\}\}[ \t]*")


class Block(NamedTuple):
    """A run of lines. start, end: characters in the content, without the fences of code. info: the language, when it is named."""

    kind: str
    start: int
    end: int
    info: str


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a section, verbatim.

    start, end: characters in the section's content; line: 1-based in the source.
    """

    text: str
    start: int
    end: int
    line: int
    citation: str
    source: str


class Sentence(Passage):
    """A sentence."""


@dataclass(frozen=True, slots=True)
class CodeBlock(Passage):
    """Whole lines of a code block; at most MAX_CODE_LINES.

    info: the language, "" when it is not named. n_lines: of the whole block.
    """

    info: str
    n_lines: int


def split_sentences(found: Found) -> list[Sentence]:
    """Return the sentences of a hit's prose, in order."""
    content = found.content or ""
    return [
        Sentence(content[start:end], start, end, _line(found, start), found.citation, found.document.source)
        for start, end in sentence_spans(content)
    ]


def sentence_spans(content: str) -> list[tuple[int, int]]:
    """Return (start, end) of each sentence of the prose, in order; none is empty, blank or longer than MAX_SENTENCE."""
    spans = []
    for block in split_blocks(content):
        if block.kind != PROSE:
            continue
        at = block.start
        for piece in _BREAK.split(content[block.start : block.end]):
            begin = content.index(piece, at) if piece else at
            at = begin + len(piece)
            text = piece.strip()
            if 0 < len(text) <= MAX_SENTENCE and any(c.isalnum() for c in text):
                begin += piece.index(text)
                spans.append((begin, begin + len(text)))
    return spans


def code_near(found: Found, quoted: Iterable[Sentence], weights: dict[str, float]) -> CodeBlock | None:
    """Return the code block of a hit that goes best with sentences quoted from it, or None.

    It stands right after the paragraph of one of them, or right before it and has a word of the question, or it holds half of
    the question's weight. Of source code, it is the section. weights: term -> weight of the question's terms.
    """
    content = found.content or ""
    if not content:
        return None
    if (found.row.type or found.document.type) not in PROSE_TYPES:
        return _quote(found, Block(CODE, 0, len(content.rstrip("\n")), ""), weights)
    starts = [s.start for s in quoted]
    blocks = split_blocks(content)
    rated = []
    for i, block in enumerate(blocks):
        text = content[block.start : block.end]
        if block.kind != CODE or not _says_something(text):
            continue
        held = sum(weights[t] for t in set(terms(text, found.rules)) & weights.keys()) / (sum(weights.values()) or 1.0)
        after = i > 0 and _holds(blocks[i - 1], starts)
        before = held > 0 and i + 1 < len(blocks) and _holds(blocks[i + 1], starts)
        if after or before or held >= 0.5:
            # What follows a sentence mostly shows what it speaks of; what precedes one, less often.
            rated.append((held + 0.5 * after + 0.25 * before, -i, block))
    return _quote(found, max(rated)[2], weights) if rated else None


def _quote(found: Found, block: Block, weights: dict[str, float]) -> CodeBlock:
    content = found.content or ""
    start, end = _window(content, block, weights, found.rules)
    n_lines = content.count("\n", block.start, block.end) + 1
    return CodeBlock(
        content[start:end], start, end, _line(found, start), found.citation, found.document.source, block.info, n_lines
    )


def _line(found: Found, at: int) -> int:
    return found.row.line + (found.content or "").count("\n", 0, at)


def _holds(block: Block, starts: list[int]) -> bool:
    return block.kind == PROSE and any(block.start <= s < block.end for s in starts)


def _says_something(text: str) -> bool:
    return any(line.strip() and not _INCLUDE.fullmatch(line) for line in text.split("\n"))


def _window(content: str, block: Block, weights: dict[str, float], rules: str) -> tuple[int, int]:
    """Return (start, end) of the lines of a block to quote: all, or the MAX_CODE_LINES with most terms of the question."""
    lines = content[block.start : block.end].split("\n")
    if len(lines) <= MAX_CODE_LINES:
        return block.start, block.end
    held = [set(terms(line, rules)) & weights.keys() for line in lines]
    values = [len(set().union(*held[i : i + MAX_CODE_LINES])) for i in range(len(lines) - MAX_CODE_LINES + 1)]
    best = [i for i, value in enumerate(values) if value == max(values)]
    first = best[len(best) // 2] if max(values) else 0
    start = block.start + sum(len(line) + 1 for line in lines[:first])
    return start, start + len("\n".join(lines[first : first + MAX_CODE_LINES]))


def split_blocks(content: str) -> list[Block]:
    """Return the blocks of a section in order: paragraphs and list items, code, and what is neither."""
    scanner = _Scanner(content)
    at = 0
    for line in content.split("\n"):
        scanner.take(line, at)
        at += len(line) + 1
    scanner.close()
    return scanner.blocks


class _Scanner:
    """The state between two lines. fence: the marks of the open fence; literal: code follows at any indentation."""

    def __init__(self, content: str):
        self.content = content
        self.blocks: list[Block] = []
        self.kind, self.start, self.end, self.info = "", 0, 0, ""
        self.fence = ""
        self.literal = self.in_list = False
        self.blank = True

    def take(self, line: str, at: int) -> None:
        marks = FENCE_LINE.match(line)
        if self.fence:
            if marks and marks[1][0] == self.fence[0] and len(marks[1]) >= len(self.fence) and not marks[2].strip():
                self.fence = ""
                self.close()
            else:
                self.end = at + len(line)
        elif marks and not (marks[1][0] == "`" and "`" in marks[2]):
            self.fence = marks[1]
            self.open(OTHER if ">" in line[: marks.start(1)] else CODE, at + len(line) + 1, marks[2].strip())
        elif not line.strip():
            if self.kind == PROSE:
                self.literal = self.content[self.start : at].rstrip().endswith("::")
                self.close()
        else:
            self._text(line, at)
        self.blank = not line.strip()

    def _text(self, line: str, at: int) -> None:
        """Take a line that is not blank, outside of fences."""
        indented = line.startswith(("    ", "\t"))
        item = _ITEM.match(line)
        if self._is_code(line, indented):
            if self.kind != CODE:
                self.open(CODE, at, self.info if self.literal else "")
        elif item:
            self.in_list = True
            self.open(PROSE, at + item.end())
        elif self.kind == OTHER and self.literal and _DIRECTIVE_OPTION.match(line):
            pass
        elif indented or _MARKUP.match(line):
            directive = _DIRECTIVE.match(line)
            self.open(OTHER, at, directive[1] if directive else "")
            self.literal = directive is not None
            self.in_list = self.in_list and line[0] in " \t"
        elif self.kind != PROSE:
            self.in_list = self.in_list and line[0] in " \t"
            self.open(PROSE, at)
        self.end = at + len(line)

    def _is_code(self, line: str, indented: bool) -> bool:
        """Whether an indented line is code: after `::` or a directive always, else after a blank line outside of lists."""
        if line[0] not in " \t":
            return False
        if self.kind == CODE:
            return indented or self.literal
        return self.blank and (self.literal or (indented and not self.in_list))

    def open(self, kind: str, start: int, info: str = "") -> None:
        self.close()
        if kind != CODE:
            self.literal = False
        self.kind, self.start, self.end, self.info = kind, start, start, info

    def close(self) -> None:
        kind = self.kind
        if kind == PROSE and _TABLE_RULE.search(self.content, self.start, self.end):
            kind = OTHER
        if kind and self.end > self.start:
            self.blocks.append(Block(kind, self.start, self.end, self.info))
        self.kind = ""
