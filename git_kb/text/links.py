"""References that stand in a section's text: Markdown links, wiki links, anchors, content markers. docs/format-references.md.

A scanner over the prose of one section, not a whole CommonMark parser. What it leaves out: a construct that spans two list
items or table cells is taken as if they were one paragraph; parentheses in a destination nest three deep at most; bare URLs
of Markdown are text.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from html import unescape

from git_kb.model.reference import ANCHOR, AUTOLINK, DEFINITION, HTML, LABEL, MARKDOWN, PICTURE, WIKI, Reference
from git_kb.text.blocks import scan_blocks
from git_kb.text.fields import FENCE_LINE
from git_kb.text.inline import link_label
from git_kb.text.rstlinks import bare_urls, ends_with_target, rst_references

MAX_TARGET = 2000
PROSE = ("text/plain", "text/html", "text/csv", "text/asciidoc", "text/org")

# What stands in the angle brackets of a tag, as CommonMark has it: no blank line is in it, and nothing but attributes.
_BLANKS = r"(?:[ \t]++(?:\n[ \t]*+)?|\n[ \t]*+)"
_QUOTED = r"\"(?:[^\"\n]|\n(?![ \t]*+\n)){0,1000}\"|'(?:[^'\n]|\n(?![ \t]*+\n)){0,1000}'"
_VALUE = rf"{_BLANKS}?={_BLANKS}?(?:{_QUOTED}|[^\s\"'=<>`]{{1,1000}}+)"
_INSIDE = rf"[A-Za-z][A-Za-z0-9-]*+(?:{_BLANKS}[A-Za-z_:][A-Za-z0-9_.:-]*+(?:{_VALUE})?){{0,50}}{_BLANKS}?/?"
# First what needs no look: text, escapes, code spans of one tick on one line, and marks that begin none of the tokens. Then one
# token. A "simple" link has no brackets, escapes, code, tags or line ends in its text, nor what needs more care in its destination.
_TOKEN = re.compile(
    r"(?:[^\\`\[\]!$<]++|\\[\s\S]|(?<!`)`[^`\n]++`(?!`)|!(?!\[)|\$(?!\()|<(?![A-Za-z!?]))*(?P<at>)(?:(?P<end>\Z)"
    r"|(?P<ticks>`+)"
    r"|(?P<image>!)?\[[^\\`\[\]!$<\n]*+\]\((?P<simple>[^\s()\\<&]{1,2000}+)\)"
    r"|!?\[\[(?P<wiki>[^\[\]\n]{1,500})\]\](?![(\[])"
    r"|(?P<open>!?\[)"
    r"|(?P<close>\])"
    r"|\$\((?P<marker>image|code|text|document|link|doc-link):(?P<value>[^()\n]{0,512})\)"
    r"|<(?P<auto>[A-Za-z][A-Za-z0-9+.-]{1,31}:[^<>\s]{0,2000}+)>"
    r"|(?P<raw><!--|<\?|<!\[CDATA\[|<![A-Za-z])"
    rf"|<(?P<tag>{_INSIDE})>"
    r"|(?P<none>[\s\S]))"
)
_MARKER = re.compile(r"\$\((?P<marker>image|code|text|document|link|doc-link):(?P<value>[^()\n]{0,512})\)")
_TAG = re.compile(r"<(?P<tag>[A-Za-z][^<>]{0,1000})>")
_BLANK = re.compile(r"\n[ \t>]*\n")
_TICKS = re.compile(r"`+")
_LEVEL_3 = r"\([^\s()\\]{0,1000}+\)"
_LEVEL_2 = rf"\((?:[^\s()\\]|\\.|{_LEVEL_3}){{0,1000}}\)"
_TITLE = r"(?:\"(?:[^\"\\]|\\[\s\S]){0,1000}\"|'(?:[^'\\]|\\[\s\S]){0,1000}'|\((?:[^()\\]|\\[\s\S]){0,1000}\))"
_INLINE = re.compile(
    rf"\([ \t\n]*(?:<(?P<pointed>[^<>\n]{{0,2000}})>"
    rf"|(?P<bare>(?:[^\s()\\<]|\\.|{_LEVEL_2})(?:[^\s()\\]|\\.|{_LEVEL_2}){{0,2000}})?)"
    rf"(?:[ \t\n]+{_TITLE})?[ \t\n]*\)"
)
_REFERENCE = re.compile(r"\[((?:[^\[\]\\]|\\[\s\S]){0,999})\]")
_DEFINITION = re.compile(
    r"^[ \t>]{0,20}\[((?:[^\[\]\\\n]|\\.){1,999})\]:[ \t]*\n?[ \t]*(?:<(?P<pointed>[^<>\n]{0,2000})>|(?P<bare>[^\s<]\S{0,2000}))",
    re.MULTILINE,
)
# `## Heading {#id}`, in the first lines, where a section has its heading.
_HEADING_ID = re.compile(r"\A(?:[^\n]*\n)?[^\n]*?\{:?[ \t]*#([^\s{}]{1,200})[^{}\n]{0,200}\}[ \t]*(?:\n|\Z)")
_ATTRIBUTE = re.compile(r"([^\s\"'>/=]++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'>]++)))?")
_LINKING = ("a", "img", "iframe")
# What HTML is not to be looked into, up to what ends it. Where it begins a line, blank lines are part of it.
_RAW_ENDS = {"<!--": "-->", "<?": "?>", "<![CDATA[": "]]>"}
_RAW_TAGS = ("pre", "script", "style", "textarea")
_BLOCK_START = re.compile(r"(?: {0,3}(?:>|[-+*][ \t]|[0-9]{1,9}[.)][ \t]))* {0,3}\Z")
_MAX_BLOCK_START = 40
_FENCE_OR_COMMENT = re.compile(rf"(?:{FENCE_LINE.pattern}|^[ \t>]*+(<!--))", re.MULTILINE)
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_CONTROL, _CONTROL_BUT_TAB = re.compile(r"[\x00-\x1f\x7f]"), re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
# Task boxes, alerts and footnotes are no link labels.
_NO_LABEL = re.compile(r"[ xX]?\Z|[!^]")


def find_references(mime: str, content: str) -> list[Reference]:
    """Return the references of a section in order of place. Code, and Markdown in code, has none."""
    if mime == "text/x-rst":
        return _with_lines(content, sorted([*_markers(content), *ends_with_target(content, rst_references(content))]))
    if "]" not in content and "$(" not in content and "<" not in content and "{" not in content and "://" not in content:
        return []
    if mime == "text/markdown":
        found = _markdown(content)
    elif mime in PROSE:
        found = sorted([*_markers(content), *(_tags(content) if mime == "text/html" else bare_urls(content))])
    else:
        return []
    return _with_lines(content, found)


Found = tuple[int, int, str, str]  # start, end, kind, target


def _with_lines(content: str, found: list[Found]) -> list[Reference]:
    references = []
    line = at = 0
    for start, end, kind, target in found:
        target = (_CONTROL_BUT_TAB if kind == DEFINITION else _CONTROL).sub(" ", target).strip(" ")
        if not target or len(target) > MAX_TARGET or target.startswith("\t"):
            continue
        line += content.count("\n", at, start)
        at = start
        references.append(Reference(kind, start, end, line, target))
    return references


def _markers(content: str) -> Iterator[Found]:
    for m in _MARKER.finditer(content):
        yield m.start(), m.end(), m["marker"], m["value"]


def _tags(content: str) -> Iterator[Found]:
    for m in _TAG.finditer(content):
        yield from _tag(m["tag"], m.start(), m.end())


def _tag(inner: str, start: int, end: int) -> Iterator[Found]:
    """Yield what an HTML tag refers to, and the names it gives. inner: what stands in its angle brackets."""
    first, *attributes = _ATTRIBUTE.finditer(inner)
    linking = first[1].lower() in _LINKING
    for m in attributes:
        name, target = m[1].lower(), unescape(m[2] or m[3] or m[4] or "")
        if linking and name in ("href", "src"):
            linking = False
            if _followed(target):
                yield start, end, HTML, target
        elif name in ("id", "name") and target:
            yield start, end, ANCHOR, target


def _markdown(content: str) -> list[Found]:
    found: list[Found] = []
    if m := _HEADING_ID.match(content) if "{" in content else None:
        found.append((m.start(1), m.end(1), ANCHOR, m[1]))
    for start, end in _prose(content):
        found += _Scanner(content, start, end).scan()
    found.sort()
    return _outside_indented_code(content, found)


def _prose(content: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of Markdown that are not fenced code."""
    if "```" not in content and "~~~" not in content:
        yield 0, len(content)
        return
    fence, at, next_at = "", 0, 0
    while m := _FENCE_OR_COMMENT.search(content, next_at):
        marks, rest, comment = m.groups()
        next_at = m.end()
        if comment:
            # A fence in a comment is none. A comment without an end is no comment here.
            end = -1 if fence else content.find("-->", m.end() - 2)
            next_at = max(end, next_at)
        elif fence:
            if marks[0] == fence[0] and len(marks) >= len(fence) and not rest.strip():
                fence, at = "", m.end()
        elif marks[0] == "~" or "`" not in rest:
            yield at, m.start()
            fence = marks
    if not fence:
        yield at, len(content)


def _outside_indented_code(content: str, found: list[Found]) -> list[Found]:
    """Return what does not stand in an indented code block. Blocks are looked for only where a line is indented so."""
    if not any(content.startswith(("    ", "\t"), content.rfind("\n", 0, start) + 1) for start, *_ in found):
        return found
    code = [(b.start, b.end) for b in scan_blocks(content) if b.kind == "code"]
    starts = [start for start, _ in code]
    return [f for f in found if not (n := bisect_right(starts, f[0])) or f[0] >= code[n - 1][1]]


class _Scanner:
    """One pass over a range of Markdown. stack: (offset, is an image) of the brackets that are open in this paragraph."""

    def __init__(self, content: str, start: int, end: int):
        self.content, self.start, self.end = content, start, end
        self.stack: list[tuple[int, bool]] = []
        self.found: list[Found] = []
        self.blanks = [m.start() for m in _BLANK.finditer(content, start, end)] if "\n" in content else []
        self.n_blanks = 0
        self.ticks: dict[int, list[int]] | None = None
        self.ends: dict[str, int] = {}
        # Offset of each definition -> what is found there; those in code and comments are none.
        self.definitions: dict[int, Found] = {}
        self.labels: set[str] = set()

    def scan(self) -> list[Found]:
        if self.content.find("]:", self.start, self.end) >= 0:
            self._define()
        at = self.start
        while (m := _TOKEN.match(self.content, at, self.end)) and m.lastgroup != "end":
            while self.n_blanks < len(self.blanks) and self.blanks[self.n_blanks] < m.start("at"):
                self.n_blanks += 1
                self.stack.clear()
            at = self._take(m)
        return self.found

    def _define(self) -> None:
        for m in _DEFINITION.finditer(self.content, self.start, self.end):
            target = _plain(m["pointed"] if m["bare"] is None else m["bare"])
            if not m[1].startswith(("^", "!")) and _followed(target):
                label = link_label(m[1])
                self.definitions[m.start(1) - 1] = (m.start(), m.end(), DEFINITION, f"{label}\t{target}")
                self.labels.add(label)

    def _take(self, m: re.Match[str]) -> int:
        """Take one token; return where the next may begin."""
        kind, start, end = m.lastgroup, m.start("at"), m.end()
        if kind == "ticks":
            return self._after_code(len(m["ticks"]), end)
        if kind == "simple":
            image, target = bool(m["image"]), m["simple"]
            if _followed(target):
                self.found.append((start, end, PICTURE if image else MARKDOWN, target))
            if not image:
                self.stack.clear()  # links hold no links
        elif kind == "open":
            if start in self.definitions:
                self.found.append(self.definitions[start])
                return self.definitions[start][1]
            self.stack.append((end, m["open"][0] == "!"))
        elif kind == "close":
            return self._close(start, end) if self.stack else end
        elif kind == "wiki":
            # In a table the bar before an alias is escaped.
            self.found.append((start, end, WIKI, m["wiki"].replace("\\|", "|")))
        elif kind == "value":
            self.found.append((start, end, m["marker"], m["value"]))
        elif kind == "auto":
            if _followed(target := unescape(m["auto"])):
                self.found.append((start, end, AUTOLINK, target))
        elif kind == "raw":
            return self._after_raw(_RAW_ENDS.get(m["raw"], ">"), start, end)
        elif kind == "tag":
            self.found += _tag(m["tag"], start, end)
            name = next(_ATTRIBUTE.finditer(m["tag"]))[1]
            if name.lower() in _RAW_TAGS and self._begins_block(start):
                return self._after_raw(f"</{name}>", start, end)
        return end

    def _after_code(self, n: int, at: int) -> int:
        """Return the offset after the code span that `n` ticks before `at` open, or `at` when they open none."""
        if self.ticks is None:
            self.ticks = {}
            for m in _TICKS.finditer(self.content, self.start, self.end):
                self.ticks.setdefault(m.end() - m.start(), []).append(m.start())
        starts = self.ticks.get(n, [])
        i = bisect_left(starts, at)
        return starts[i] + n if i < len(starts) and starts[i] < self._paragraph_end() else at

    def _paragraph_end(self) -> int:
        return self.blanks[self.n_blanks] if self.n_blanks < len(self.blanks) else self.end

    def _after_raw(self, closing: str, start: int, at: int) -> int:
        """Return the offset after what begins with `start` to `at` and ends with `closing`; where nothing does, it is text."""
        # Of a comment, both ends may share their dashes.
        least = at - 2 if closing == "-->" else at
        found = self.ends.get(closing, -1)
        if found < least:
            found = self.content.find(closing, least, self.end)
            found = self.ends[closing] = found if found >= 0 else self.end
        if found < self._paragraph_end() or self._begins_block(start):
            return min(found + len(closing), self.end)
        return start + 1

    def _begins_block(self, start: int) -> bool:
        """Return whether HTML that begins here is a block: nothing but marks of quotes and lists is before it in its line."""
        first = max(self.start, start - _MAX_BLOCK_START)
        line = self.content.rfind("\n", first, start) + 1
        return (line > 0 or first == 0) and _BLOCK_START.match(self.content, max(line, first), start) is not None

    def _close(self, at: int, end: int) -> int:
        """Take a `]`: with a destination it ends a link, with a label or alone it may do so."""
        inner, image = self.stack.pop()
        start = inner - 1 - image
        stop = self._paragraph_end()
        if m := _INLINE.match(self.content, end, stop) if self.content.startswith("(", end) else None:
            target = _plain(m["pointed"] if m["bare"] is None else m["bare"])
            if _followed(target):
                self.found.append((start, m.end(), PICTURE if image else MARKDOWN, target))
            if not image:
                self.stack.clear()  # links hold no links
            return m.end()
        m = _REFERENCE.match(self.content, end, stop) if self.content.startswith("[", end) else None
        if m and m[1] and self._begins_link(m, stop):
            return end
        label = (m and m[1]) or self.content[inner:at]
        end = m.end() if m else end
        if len(label) < 1000 and not _NO_LABEL.match(label) and (label := link_label(label)):
            self.found.append((start, end, LABEL, label))
        return end

    def _begins_link(self, m: re.Match[str], stop: int) -> bool:
        """Return whether a label in brackets is rather the text of an inline link: `[text][another](destination)`."""
        follows = self.content.startswith("(", m.end()) and _INLINE.match(self.content, m.end(), stop)
        return bool(follows) and link_label(m[1]) not in self.labels


def _plain(destination: str | None) -> str:
    """Return a destination with backslash escapes and entities resolved."""
    text = destination or ""
    if "\\" in text:
        text = _ESCAPE.sub(r"\1", text)
    return unescape(text) if "&" in text else text


def _followed(target: str) -> bool:
    """Return whether a destination may lead to a document: a path, a fragment, or http."""
    m = _SCHEME.match(target)
    return bool(target) and (m is None or m[0].lower() in ("http:", "https:"))
