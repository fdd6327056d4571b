"""Section files: documents whose sections are given, each of any type, not cut. docs/format-manifest.md, "Section files".

A line that begins with U+001E (record separator) begins a section; what follows on that line are its properties as JSON.
U+001E is one of the characters that canonical content may neither begin nor end with, so ranges tile the file and each
still gives its section's content.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from git_kb.model.document import FRONT_MATTER
from git_kb.model.section import BadMime, canonical_text, normalise_mime
from git_kb.text.frontmatter import read_front_matter
from git_kb.text.mime import is_text
from git_kb.text.plain import Cut, Piece, without_blank_pieces

SEPARATOR = "\x1e"
MARKDOWN = "text/markdown"
MAX_WARNINGS = 10
_SEPARATOR_LINE = re.compile(rf"(?:\A\ufeff?|(?<=[\r\n])){SEPARATOR}([^\r\n]*)(?:\r\n?|\n|\Z)")
# What JSON lets stand, and what would confuse a reviewer's terminal or a line reader, or is no UTF-8.
_ESCAPED = re.compile(r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_LINE_START = re.compile(rf"(?:\A|\n){SEPARATOR}")


class Properties(NamedTuple):
    """What a section file says of a section. heading: the path, () for what the content itself says; type: "" for Markdown.

    others: JSON of an object with the keys that this version does not know, "" without any.
    """

    heading: tuple[str, ...] = ()
    type: str = ""
    description: str = ""
    others: str = ""


class Given(NamedTuple):
    """A section where it stands: from `start` (its separator, where it has one) to `end`, its content from `body` on."""

    start: int
    body: int
    end: int
    properties: Properties
    warning: str = ""

    @property
    def has_line(self) -> bool:
        """Whether it has a line of properties."""
        return self.properties != Properties() or bool(self.warning)


def cut_section_file(text: str) -> Cut:
    """Cut a section file into its front matter, lines of properties (role front-matter) and sections. None is ever split."""
    front = read_front_matter(text)
    pieces: list[Piece] = []
    warnings: list[str] = list(front.warnings) if front else []
    given = _all_sections(text, front.end if front else 0)
    at = 0
    if front:
        at = given[0].start if given else len(text)
        pieces.append(Piece(0, at, (), front.type, FRONT_MATTER))
    for one in given:
        if one.has_line:
            pieces.append(Piece(at, one.body, (), "application/json", FRONT_MATTER))
            at = one.body
        content = canonical_text(text[at : one.end])
        pieces.append(Piece(at, one.end, heading_of(content, one.properties), one.properties.type))
        at = one.end
        if one.warning and len(warnings) < MAX_WARNINGS:
            warnings.append(f"line {text.count(chr(10), 0, one.start) + 1}: {one.warning}")
    pieces = without_blank_pieces(text, [p for p in pieces if p.end > p.start])
    if not front:
        return Cut(pieces, warnings=tuple(warnings))
    return Cut(pieces, front.title, front.tags, tuple(warnings), front.rest())


def given_sections(text: str) -> list[Given]:
    """Return the sections of a section file in order, those without content left out."""
    front = read_front_matter(text)
    return [one for one in _all_sections(text, front.end if front else 0) if canonical_text(text[one.body : one.end])]


def _all_sections(text: str, at: int) -> list[Given]:
    """Return what the separators from `at` on divide the text into, up to its end."""
    lines = [m for m in _SEPARATOR_LINE.finditer(text) if m.start() >= at]
    first = lines[0].start() if lines else len(text)
    found = [Given(at, at, first, Properties())] if text[at:first].strip() else []
    for match, stop in zip(lines, [*(m.start() for m in lines[1:]), len(text)], strict=False):
        properties, warning = _read_properties(match[1])
        found.append(Given(match.start(), match.end(), stop, properties, warning))
    return found


def own_heading(content: str) -> tuple[str, ...]:
    """Return the heading that Markdown begins with, as a path of one; () without."""
    from git_kb.text.blocks import scan_blocks
    from git_kb.text.inline import plain_heading

    blocks = scan_blocks(content) if content else []
    heading = plain_heading(blocks[0].text) if blocks and blocks[0].kind == "heading" else ""
    return (heading,) if heading else ()


def heading_of(content: str, properties: Properties) -> tuple[str, ...]:
    """Return the heading path of a section: what its properties say, else what its Markdown begins with."""
    return properties.heading or (own_heading(content) if not properties.type else ())


def holds_separator(content: str) -> bool:
    """Return whether canonical content has a line that would begin another section."""
    return _LINE_START.search(content) is not None


# Writing. All of it leaves what it is not about byte for byte.


def new_section_file(title: str, tags: Sequence[str]) -> str:
    """Return the text of a section file without sections. title, tags: of one line each."""
    lines = ["---", f"title: {_json(title)}", *([f"tags: {_json(sorted(set(tags)))}"] if tags else []), "---"]
    return "\n".join(lines) + "\n"


def insert_section(text: str, at: int | None, content: str, properties: Properties) -> str:
    """Return the text with a section of this canonical content before the section number `at`, or at the end (None)."""
    section = f"{_separator_line(properties)}\n{content}\n"
    if at is None:
        return _with_blank_line(text) + section
    before = given_sections(text)[at]
    # One that has no separator, being the first, needs one now.
    more = "\n" if text[before.start : before.start + 2].lstrip("\ufeff")[:1] == SEPARATOR else f"\n{SEPARATOR}\n\n"
    return text[: before.start] + section + more + text[before.start :]


def remove_section(text: str, at: int) -> str:
    """Return the text without the section number `at` and its properties."""
    one = given_sections(text)[at]
    before, after = text[: one.start], text[one.end :]
    return before + after if after else before.rstrip("\r\n") + "\n" * bool(before)


def replace_section(text: str, at: int, content: str, properties: Properties | None = None) -> str:
    """Return the text with other content for the section number `at`. properties: None leaves them."""
    one = given_sections(text)[at]
    line = text[one.start : one.body] if properties is None else _separator_line(properties)
    old = text[one.body : one.end]
    kept = canonical_bounds(old)
    return text[: one.start] + line + old[: kept[0]] + content + old[kept[1] :] + text[one.end :]


def canonical_bounds(text: str) -> tuple[int, int]:
    """Return where canonical content begins and ends in the text it stands in."""
    from git_kb.model.section import TRIMMED

    start = len(text) - len(text.lstrip(TRIMMED))
    return start, max(start, len(text.rstrip(TRIMMED)))


def _with_blank_line(text: str) -> str:
    if not text:
        return ""
    text += "\n" * (not text.endswith("\n"))
    return text + "\n" * (not text.endswith("\n\n"))


def _separator_line(properties: Properties) -> str:
    if properties == Properties():
        return SEPARATOR + "\n"
    data = {
        **({"heading": list(properties.heading)} if properties.heading else {}),
        **({"type": properties.type} if properties.type else {}),
        **({"description": properties.description} if properties.description else {}),
        **(json.loads(properties.others) if properties.others else {}),
    }
    return f"{SEPARATOR}{_json(data)}\n"


def _json(data: Any) -> str:
    text = json.dumps(data, ensure_ascii=False)
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _read_properties(line: str) -> tuple[Properties, str]:
    """Return the properties on a separator line, and what is wrong with it, "" when nothing is."""
    line = canonical_text(line)
    if not line:
        return Properties(), ""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return Properties(), "the properties of a section are not JSON"
    if not isinstance(data, dict):
        return Properties(), "the properties of a section are no JSON object"
    wrong = ""
    heading, type, description = data.get("heading", []), data.get("type", ""), data.get("description", "")
    if not isinstance(heading, list) or not all(isinstance(h, str) for h in heading):
        heading, wrong = [], "'heading' of a section is not an array of strings"
    if not isinstance(type, str) or (type and not _is_type(type)):
        type, wrong = "", "'type' of a section is no type of text or images"
    if not isinstance(description, str):
        description, wrong = "", "'description' of a section is not a string"
    type = normalise_mime(type) if type else ""
    others = {key: value for key, value in data.items() if key not in Properties._fields[:3]}
    return Properties(tuple(heading), "" if type == MARKDOWN else type, description, _json(others) if others else ""), wrong


def _is_type(type: str) -> bool:
    try:
        mime = normalise_mime(type)
    except BadMime:
        return False
    return is_text(mime) or mime.startswith("image/")
