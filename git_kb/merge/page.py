"""Three versions of a wiki page, or of an index page, to one. docs/format-page.md says what of a page counts here.

Front matter is merged key by key, the generated zone block by block within its headings, the human zone as git merges text.
"""

from __future__ import annotations

from git_kb.merge.order import Conflict, merge_order, merge_set, merge_value, plain_merge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from git_kb.merge.order import T, TextMerge

MARKER = "<!-- human notes below -->"
FENCE = "---"
# What compile works out of the other facts. Where both sides did, the smaller number stands until it does so again.
DERIVED = ("confidence",)
FENCES = ("```", "~~~")
# Between a claim and what it cites.
DASH = " — "


def merge_pages(base: bytes, ours: bytes, theirs: bytes, merge_text: TextMerge) -> tuple[bytes, bool]:
    """Return (the merged page, has it markers of a conflict?). `base` is empty when both sides added the file."""
    return _merge_pages(base, ours, theirs, merge_text, False)


def merge_indexes(base: bytes, ours: bytes, theirs: bytes, merge_text: TextMerge) -> tuple[bytes, bool]:
    """Return the same of an index page: where the entries of a list are sorted on both sides, they are sorted afterwards."""
    return _merge_pages(base, ours, theirs, merge_text, True)


def _merge_pages(base: bytes, ours: bytes, theirs: bytes, merge_text: TextMerge, is_index: bool) -> tuple[bytes, bool]:
    if (plain := plain_merge(base, ours, theirs)) is not None:
        return plain, False
    try:
        before, mine, other = (Page(data.decode()) for data in (base, ours, theirs))
    except UnicodeDecodeError:
        return merge_text(base, ours, theirs)
    front = _merge_front(before.front, mine.front, other.front, merge_text)
    zones = [(before.human, mine.human, other.human)]
    written = list(front[:1])
    conflict = front[1]
    if mine.marker and other.marker and (before.marker or not base):
        written.append(_merge_generated(before.generated, mine.generated, other.generated, is_index).encode())
        written.append(mine.marker.encode())
    elif is_index and not (mine.marker or other.marker or before.marker):
        written.append(_merge_generated(before.generated, mine.generated, other.generated, is_index).encode())
    else:
        # Without the marker nobody knows what is a person's: then all may be.
        zones = [(before.body, mine.body, other.body)]
    for texts in zones:
        merged, in_conflict = _merge_lines(texts, merge_text)
        written.append(merged)
        conflict |= in_conflict
    return b"".join(written), conflict


def _merge_lines(texts: tuple[str, str, str], merge_text: TextMerge) -> tuple[bytes, bool]:
    base, ours, theirs = (text.encode() for text in texts)
    plain = plain_merge(base, ours, theirs)
    return merge_text(base, ours, theirs) if plain is None else (plain, False)


class Page:
    """The parts of a page; together they are its text. `front` has its fences, `marker` its line end; each may be empty."""

    __slots__ = ("front", "generated", "human", "marker")

    def __init__(self, text: str):
        lines = text.split("\n")
        end = 0
        if lines[0].rstrip() == FENCE:
            ends = [n for n, line in enumerate(lines) if n and line.rstrip() == FENCE and n + 1 < len(lines)]
            end = ends[0] + 1 if ends else 0
        self.front = "".join(line + "\n" for line in lines[:end])
        at = next((n for n in range(end, len(lines)) if lines[n].rstrip() == MARKER), None)
        if at is None:
            self.generated, self.marker, self.human = "\n".join(lines[end:]), "", ""
            return
        self.generated = "".join(line + "\n" for line in lines[end:at])
        self.marker = lines[at] + ("\n" if at + 1 < len(lines) else "")
        self.human = "\n".join(lines[at + 1 :])

    @property
    def body(self) -> str:
        return self.generated + self.marker + self.human


def _merge_front(base: str, ours: str, theirs: str, merge_text: TextMerge) -> tuple[bytes, bool]:
    """Return the merged front matter, and whether it has markers of a conflict."""
    if (plain := plain_merge(base.encode(), ours.encode(), theirs.encode())) is not None:
        return plain, False
    fields = [_fields(text) for text in (base, ours, theirs)]
    before, mine, other = fields
    if before is None or mine is None or other is None:
        return merge_text(base.encode(), ours.encode(), theirs.encode())
    order = merge_order(list(before), list(mine), list(other), {*mine, *other})
    merged = {key: _merge_field(key, before.get(key), mine.get(key), other.get(key)) for key in order}
    texts = []
    for side in range(3):
        values = [value.sides[side] if isinstance(value, Conflict) else value for value in merged.values()]
        texts.append("".join([FENCE + "\n", *(v for v in values if v is not None), FENCE + "\n"]).encode())
    return (texts[1], False) if texts[1] == texts[2] else merge_text(*texts)


def _fields(text: str) -> dict[str, str] | None:
    """Return key -> its lines; None where a key stands twice, or a line at the margin is no key."""
    fields: dict[str, str] = {}
    lines = text.split("\n")[1:-2] if text else []
    last = ""
    for line in lines:
        key, colon, rest = line.partition(":")
        if line[:1] in (" ", "\t", "") or line.startswith(("- ", "#")) or line == "-":
            if not last:
                return None
            fields[last] += line + "\n"
        elif colon and key and rest[:1] in ("", " ") and key.replace("_", "").replace("-", "").isalnum() and key not in fields:
            fields[key] = line + "\n"
            last = key
        else:
            return None
    return fields


def _merge_field(key: str, base: str | None, ours: str | None, theirs: str | None) -> str | Conflict | None:
    merged = merge_value(base, ours, theirs)
    if not isinstance(merged, Conflict) or ours is None or theirs is None:
        return merged
    if key in DERIVED:
        numbers = [_number(text) for text in (ours, theirs)]
        if None not in numbers:
            return min((ours, theirs), key=lambda text: (_number(text) or 0.0, text))
    lists = [_list(text) if text else ([], "") for text in (base, ours, theirs)]
    if lists[0] is None or lists[1] is None or lists[2] is None or lists[1][1] != lists[2][1]:
        return merged
    items = merge_set(lists[0][0], lists[1][0], lists[2][0])
    return _list_text(key, items, lists[1][1])


def _number(text: str) -> float | None:
    try:
        return float(text.partition(":")[2])
    except ValueError:
        return None


def _list(text: str) -> tuple[list[str], str] | None:
    """Return (items as they stand, how the list is written) of a field that is a list of plain items; None for any other.

    Written: "[" on one line, else what stands before each item on a line of its own.
    """
    head, *lines = text[:-1].split("\n")
    value = head.partition(":")[2].strip()
    if value:
        inside = value[1:-1].strip()
        odd = any(c in inside for c in "\"'[]{}#&*!|>%@`\\") or ": " in inside
        if lines or value[0] != "[" or value[-1] != "]" or odd:
            return None
        items = [item.strip() for item in inside.split(",")] if inside else []
        return (items, "[") if all(items) else None
    starts = {line[: len(line) - len(line.lstrip(" ")) + 2] for line in lines}
    if len(starts) != 1 or not (start := starts.pop()).endswith("- "):
        return None
    return [line[len(start) :] for line in lines], start


def _list_text(key: str, items: list[str], written: str) -> str | None:
    if written == "[":
        return f"{key}: [{', '.join(items)}]\n"
    return f"{key}:\n" + "".join(f"{written}{item}\n" for item in items) if items else None


class Node:
    """A heading and what stands below it: its own blocks, and the headings under it. The root has level 0 and no heading."""

    __slots__ = ("blocks", "children", "heading", "level")

    def __init__(self, heading: str, level: int):
        self.heading, self.level = heading, level
        self.blocks: list[str] = []
        self.children: list[Node] = []

    def text(self) -> str:
        return self.heading + "".join(self.blocks) + "".join(child.text() for child in self.children)


def _merge_generated(base: str, ours: str, theirs: str, is_index: bool) -> str:
    merged = merge_value(base, ours, theirs)
    if isinstance(merged, str):
        return merged
    before, mine, other = (_tree(text) for text in (base, ours, theirs))
    text = _merge_nodes(before, mine, other, is_index)
    end = ours[len(ours.rstrip("\n")) :]
    return text.rstrip("\n") + (end or "\n") if text else text


def _tree(text: str) -> Node:
    """Return the headings of a text as a tree. The texts of its nodes, one after the other, are the text."""
    root = Node("", 0)
    path = [root]
    for block in _blocks(text):
        level = _level(block)
        if level:
            while path[-1].level >= level:
                path.pop()
            path.append(Node(block, level))
            path[-2].children.append(path[-1])
        else:
            path[-1].blocks.append(block)
    return root


def _level(block: str) -> int:
    level = len(block) - len(block.lstrip("#"))
    return level if level <= 6 and block[level : level + 1] in (" ", "\n") else 0


def _blocks(text: str) -> list[str]:
    """Return headings, list items, lines of quotes, fenced code and paragraphs, each with the blank lines after it."""
    blocks: list[str] = []
    fence = ""
    starts = True
    for line in text.removesuffix("\n").split("\n") if text else []:
        blank = not line.strip()
        # Whatever is indented belongs to what it stands under, after a blank line too.
        inside = bool(fence) or blank or (line.startswith("  ") and not (blocks and _level(blocks[-1])))
        if blocks and (inside or not (starts or _is_item(line) or _level(line + "\n") or line.startswith(FENCES))):
            blocks[-1] += line + "\n"
        else:
            blocks.append(line + "\n")
        if fence:
            fence = "" if line.startswith(fence) else fence
        elif line.startswith(FENCES):
            fence = line[:3]
        starts = not fence and (blank or bool(_level(line + "\n")))
    return blocks


def _is_item(line: str) -> bool:
    return line.startswith(("- ", "* ", "> "))


def _merge_nodes(base: Node, ours: Node, theirs: Node, is_index: bool) -> str:
    merged = merge_value(base.text(), ours.text(), theirs.text())
    if isinstance(merged, str):
        return merged
    heading = merge_value(base.heading, ours.heading, theirs.heading)
    if isinstance(heading, Conflict):
        heading = ours.heading + theirs.heading
    before, mine, other = (_named(node.children, _heading_name) for node in (base, ours, theirs))
    texts = {}
    for name in {**mine, **other}:
        sides = before.get(name), mine.get(name), other.get(name)
        was, here, there = (node.text() if node else None for node in sides)
        text = _merge_present(was, here, there)
        if text is None and sides[1] and sides[2]:
            text = _merge_nodes(sides[0] or Node("", 0), sides[1], sides[2], is_index)
        if text:
            texts[name] = text
    order = merge_order(list(before), list(mine), list(other), set(texts))
    blocks = _merge_blocks(base.blocks, ours.blocks, theirs.blocks, is_index)
    return (heading or "") + blocks + "".join(texts[name] for name in order)


def _merge_present(base: str | None, ours: str | None, theirs: str | None) -> str | None:
    """Return the text that one side has changed, "" when it is gone, None when both have it and changed it.

    What one side deleted and the other changed stays.
    """
    merged = merge_value(base, ours, theirs)
    if not isinstance(merged, Conflict):
        return merged or ""
    return None if ours and theirs else ours or theirs


def _merge_blocks(base: list[str], ours: list[str], theirs: list[str], is_index: bool) -> str:
    """Return the blocks of one heading: what one side added, changed or deleted; both versions of what both changed."""
    before, mine, other = (_named([block.rstrip("\n") for block in blocks], _block_name) for blocks in (base, ours, theirs))
    texts: dict[object, list[str]] = {}
    for name in {**mine, **other}:
        sides = before.get(name), mine.get(name), other.get(name)
        text = _merge_present(*sides)
        if text is None:
            texts[name] = _merge_cited(*sides)
        elif text:
            texts[name] = [text]
    order = merge_order(list(before), list(mine), list(other), set(texts))
    merged = [text for name in order for text in texts[name]]
    if is_index and all(_is_sorted(blocks) for blocks in (mine.values(), other.values())):
        merged = _sorted_items(merged)
    loose = {text for blocks in (ours, theirs) for text in _loose_items(blocks)}
    written = ""
    for at, text in enumerate(merged):
        follower = merged[at + 1] if at + 1 < len(merged) else ""
        tight = _is_item(text) and follower[:2] == text[:2] and text not in loose
        written += text + ("\n" if tight else "\n\n")
    return written


def _loose_items(blocks: list[str]) -> list[str]:
    """Return the items with a blank line before the next item."""
    return [
        block.rstrip("\n")
        for at, block in enumerate(blocks[:-1])
        if block.endswith("\n\n") and _is_item(block) and block[:2] == blocks[at + 1][:2]
    ]


def _is_sorted(texts: Iterable[str]) -> bool:
    items = [text for text in texts if _is_item(text)]
    return items == sorted(items)


def _sorted_items(texts: list[str]) -> list[str]:
    items = iter(sorted(text for text in texts if _is_item(text)))
    return [next(items) if _is_item(text) else text for text in texts]


def _named(things: list[T], name_of: Callable[[T], object]) -> dict[object, T]:
    """Return the things by name; a name that comes again gets a number."""
    named: dict[object, T] = {}
    seen: dict[object, int] = {}
    for thing in things:
        name = name_of(thing)
        seen[name] = n = seen.get(name, 0) + 1
        named[name, n] = thing
    return named


def _heading_name(node: Node) -> object:
    """Return what a heading is about: the page, a chunk of a source, or what it says."""
    if node.level == 1:
        return 1
    words = node.heading.lstrip("#").strip()
    chunk, colon, _ = words.partition(":")
    return (node.level, chunk if colon and chunk.startswith("c-") else words)


def _block_name(block: str) -> object:
    """Return what a block is about: the key of a fact, the target of a list of citations; else it is only itself."""
    if block.startswith("> **") and ":** " in block:
        return block.partition(":** ")[0]
    if block.startswith("- [") and DASH in block:
        return block.partition(DASH)[0]
    return (block,)


def _merge_cited(base: str | None, ours: str | None, theirs: str | None) -> list[str]:
    """Return one line for two versions of a list of citations, else both."""
    versions = [text for text in (base, ours, theirs) if text is not None]
    mark = DASH if versions[0].startswith("- ") else ":** "
    lists = [text.partition(mark)[2].split(", ") for text in versions]
    if any("\n" in text for text in versions) or not all(item.startswith(("[", "c-")) for items in lists for item in items):
        return versions[-2:]
    items = merge_set(lists[0] if base is not None else [], *lists[-2:])
    return [versions[-1].partition(mark)[0] + mark + ", ".join(items)] if items else []
