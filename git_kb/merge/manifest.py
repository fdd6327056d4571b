"""Three manifests to one: section by section, key by key. docs/format-merge.md, "Manifests".

Keys and values are merged as the text they are, so that what this version does not know stays as it is, and because a driver runs
once a file: the reader of `store/manifest.py` takes longer to load than all of this to run, and is asked only about what
no ingest wrote.
"""

from __future__ import annotations

from git_kb.merge.order import Conflict, match, merge_derived, merge_order, merge_set, merge_value, plain_merge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.merge.order import TextMerge

    Table = dict[str, str | Conflict]

ROWS = "\n[[sections]]\n"
HEAD_KEYS = ("format", "docid", "title", "source", "moved_from", "blob", "type", "encoding", "chunker", "language", "tier", "tags")
ROW_KEYS = ("kbid", "chunk", "source_key", "heading", "type", "role", "part", "n_lines", "n_bytes", "supersedes", "conflict")
# What ingest makes anew from the source.
DERIVED_HEAD = ("moved_from", "type", "encoding", "chunker", "language")
DERIVED_ROW = ("source_key", "heading", "supersedes", "conflict")
# What belongs to the words of a section, and what says where they stand.
OF_CONTENT = ("chunk", "type", "role", "part")
COUNTS = ("n_lines", "n_bytes")
OF_CUT = ("kbid", *OF_CONTENT, "heading", *COUNTS)
MAX_COUNT = 0x7FFFFFFF
# As much as the reader takes (store/manifest.py).
MAX_TEXT = 32 << 20


class Unreadable(Exception):
    """The text is no manifest that this version can merge."""


class Tables:
    """A manifest as keys and values in TOML's own writing, in the order of the file."""

    __slots__ = ("head", "rows")

    def __init__(self, head: dict[str, str], rows: list[dict[str, str]]):
        self.head, self.rows = head, rows


def merge_manifests(base: bytes, ours: bytes, theirs: bytes, merge_text: TextMerge) -> tuple[bytes, bool]:
    """Return (the merged manifest, has it markers of a conflict?). `base` is empty when both sides added the file.

    Where one of the two sides is no manifest, it is plain text that is merged.
    """
    if (plain := plain_merge(base, ours, theirs)) is not None:
        return plain, False
    try:
        mine, other = read_tables(ours), read_tables(theirs)
        before = _read_base(base)
        head, rows = _merge(before, mine, other)
    except Unreadable:
        return merge_text(base, ours, theirs)
    texts = [_render(head, rows, side).encode() for side in range(3)]
    return (texts[1], False) if texts[1] == texts[2] else merge_text(*texts)


def read_tables(data: bytes) -> Tables:
    """Return a manifest's keys and values. Raises Unreadable."""
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise Unreadable from None
    if len(text) > MAX_TEXT:
        raise Unreadable
    try:
        return _read_plain(text)
    except Unreadable:
        return _read_plain(_canonical(text))


def _read_base(data: bytes) -> Tables | None:
    """Return the base; None without one, or with one that is no manifest, such as an earlier conflict."""
    try:
        return read_tables(data) if data else None
    except Unreadable:
        return None


def _canonical(text: str) -> str:
    """Return a manifest as ingest would write it. Raises Unreadable."""
    from git_kb.errors import KbError
    from git_kb.store.manifest import SUFFIX, parse_manifest, render_manifest

    for line in text.split("\n"):
        if line.startswith("docid"):
            docid = line.partition("=")[2].strip()[1:-1]
            break
    else:
        raise Unreadable
    try:
        return render_manifest(parse_manifest(text, docid + SUFFIX))
    except KbError:
        raise Unreadable from None


def _read_plain(text: str) -> Tables:
    """Read what has one key and its value on each line, as ingest writes it. Raises Unreadable for anything else."""
    if not text.startswith("format = 1\n") or not text.endswith("\n") or '"""' in text or "'''" in text:
        raise Unreadable
    head, *rows = [_read_table(part.removesuffix("\n")) for part in text[:-1].split(ROWS)]
    tables = Tables(head, rows)
    if not all(_string(tables.head.get(key)) for key in ("docid", "title", "source", "blob", "type")):
        raise Unreadable
    _strings(tables.head.get("tags", "[]"))
    for row in tables.rows:
        if not all(_string(row.get(key)) for key in ("kbid", "chunk", "source_key")):
            raise Unreadable
        if not all(_is_count(row.get(key, "")) for key in COUNTS):
            raise Unreadable
        _strings(row.get("heading", "[]"))
    return tables


def _read_table(text: str) -> dict[str, str]:
    table: dict[str, str] = {}
    for line in text.split("\n"):
        key, equals, value = _split(line)
        if not (key and equals and value) or key in table:
            raise Unreadable
        table[key] = value
    return table


def _split(line: str) -> tuple[str, str, str]:
    if not line.startswith('"'):
        key, equals, value = line.partition(" = ")
        bare = key.replace("_", "").replace("-", "")
        return key if bare.isascii() and (bare.isalnum() or not bare) else "", equals, value
    at = 1
    while line[at : at + 1] not in ('"', ""):
        at += 2 if line[at] == "\\" else 1
    return line[: at + 1], line[at + 1 : at + 4] if line[at + 1 : at + 4] == " = " else "", line[at + 4 :]


def _string(value: str | None) -> bool:
    """Return whether a value is one basic string."""
    return bool(value) and _end_of_string(value or "", 0) == len(value or "")


def _end_of_string(value: str, at: int) -> int:
    """Return where the basic string that begins at `at` ends; -1 when none does."""
    if value[at : at + 1] != '"':
        return -1
    at += 1
    while at < len(value) and value[at] != '"':
        at += 2 if value[at] == "\\" else 1
    return at + 1 if at < len(value) else -1


def _is_count(value: str) -> bool:
    return value.isascii() and value.isdigit() and len(value) <= 10 and (value == "0" or value[0] != "0")


def _strings(value: str | Conflict) -> list[str]:
    """Return the strings of an array on one line. Raises Unreadable."""
    if not isinstance(value, str) or value[:1] != "[" or value[-1:] != "]":
        raise Unreadable
    inside = value[1:-1]
    if not inside:
        return []
    if "\\" not in inside:
        parts = inside[1:-1].split('", "')
        if inside[0] != '"' or inside[-1] != '"' or len(inside) < 2 or any('"' in part for part in parts):
            raise Unreadable
        return parts
    return [_text(part) for part in _parts(inside)]


def _parts(inside: str) -> list[str]:
    parts, at = [], 0
    while True:
        end = _end_of_string(inside, at)
        if end < 0:
            raise Unreadable
        parts.append(inside[at:end])
        if end == len(inside):
            return parts
        if inside[end : end + 2] != ", ":
            raise Unreadable
        at = end + 2


def _text(value: str) -> str:
    """Return what a basic string stands for. Raises Unreadable."""
    if "\\" not in value:
        return value[1:-1]
    import json

    try:
        return str(json.loads(value))
    except ValueError:
        raise Unreadable from None


def _merge(base: Tables | None, ours: Tables, theirs: Tables) -> tuple[Table, list[Table]]:
    """Return the merged head and rows. Raises Unreadable where the three are not of one document."""
    before = base or Tables({}, [])
    head = _merge_head(before.head, ours.head, theirs.head)
    source = str(head["source"])
    for side in (before, ours, theirs):
        _prepare(side, source, str(head["type"]))
    rows = _merge_rows(before.rows, ours.rows, theirs.rows)
    head["blob"] = blob = _merge_blob(before, ours, theirs, rows)
    if blob.strip('"0') == "":
        _number(rows, source)
    return head, rows


def _merge_head(base: dict[str, str], ours: dict[str, str], theirs: dict[str, str]) -> Table:
    head: Table = {}
    recut = ours["blob"] != theirs["blob"]
    for key in _keys(HEAD_KEYS, ours, theirs):
        sides = base.get(key), ours.get(key), theirs.get(key)
        merged: str | Conflict | None
        if key == "tags":
            merged = _merge_tags(*sides)
        elif key in DERIVED_HEAD or (key == "title" and recut):
            merged = merge_derived(*sides)
        else:
            merged = merge_value(*sides)
        if isinstance(merged, Conflict) and key in ("format", "docid", "source"):
            raise Unreadable
        if merged is not None:
            head[key] = merged
    return head


def _merge_tags(base: str | None, ours: str | None, theirs: str | None) -> str | None:
    merged = merge_value(base, ours, theirs)
    if not isinstance(merged, Conflict):
        return merged
    written: dict[str, str] = {}
    sets = []
    for value in (base, ours, theirs):
        inside = (value or "[]")[1:-1]
        parts = _parts(inside) if inside else []
        sets.append([_text(part) for part in parts])
        written.update(zip(sets[-1], parts, strict=True))
    tags = sorted(merge_set(*sets))
    return "[" + ", ".join(written[tag] for tag in tags) + "]" if tags else None


def _prepare(side: Tables, source: str, type_: str) -> None:
    """Make the rows of one side rows of the merged document: keys follow from its source, another type is said."""
    if not side.head:
        return
    if side.head["source"] != source:
        for row, key in zip(side.rows, _source_keys(source, side.rows), strict=True):
            row["source_key"] = key
    if side.head["type"] != type_:
        for row in side.rows:
            row.setdefault("type", side.head["type"])


def _source_keys(source: str, rows: list[Table] | list[dict[str, str]]) -> list[str]:
    from git_kb.model.source import source_keys

    return [f'"{key}"' for key in source_keys(_text(source), [_strings(row.get("heading", "[]")) for row in rows])]


# What is the same section: as it was; renamed with a heading above it; under another key, since keys count repeated headings; with
# other words. The kbid comes before the key: a new section may take the key of one that now has another.
SAME_AS_BEFORE = (
    lambda row: (row["source_key"], row["kbid"], row.get("heading")),
    lambda row: (row["source_key"], row["kbid"]),
    lambda row: row["kbid"],
    lambda row: row["source_key"],
)
# Without a base to compare with, the headings have to agree.
SAME_ON_BOTH = (
    lambda row: (row["source_key"], row["kbid"], row.get("heading")),
    lambda row: (row["kbid"], row.get("heading")),
    lambda row: (row["source_key"], row.get("heading")),
)


def _merge_rows(base: list[dict[str, str]], ours: list[dict[str, str]], theirs: list[dict[str, str]]) -> list[Table]:
    mine = dict(enumerate(ours_at := match(base, ours, SAME_AS_BEFORE)))
    other = dict(enumerate(match(base, theirs, SAME_AS_BEFORE)))
    # New rows get numbers after those of the base.
    new_here = [at for at, place in enumerate(ours_at) if place is None]
    new_there = [at for at, place in other.items() if place is None]
    mine.update((at, len(base) + n) for n, at in enumerate(new_here))
    same = match([ours[at] for at in new_here], [theirs[at] for at in new_there], SAME_ON_BOTH)
    for n, (at, place) in enumerate(zip(new_there, same, strict=True)):
        other[at] = len(base) + (len(new_here) + n if place is None else place)
    here = {place: ours[at] for at, place in mine.items() if place is not None}
    there = {place: theirs[at] for at, place in other.items() if place is not None}
    merged = {}
    for place in {**here, **there}:
        before = base[place] if place < len(base) else None
        if rows := _merge_row(before, here.get(place), there.get(place)):
            merged[place] = rows
    # Where the same words stood twice, each side may have dropped another of the two. Both kept the words, so they stay.
    lost = {row["kbid"] for row in ours} & {row["kbid"] for row in theirs} - {
        row["kbid"] for rows in merged.values() for row in rows
    }
    for place in sorted({**here, **there}) if lost else ():
        row = here.get(place) or there[place]
        if place not in merged and row["kbid"] in lost:
            merged[place] = [dict(row)]
            lost.remove(row["kbid"])
    order = merge_order(range(len(base)), list(here), list(there), set(merged))
    return _without_repeats([row for place in order for row in merged[place]])


def _merge_row(base: dict[str, str] | None, ours: dict[str, str] | None, theirs: dict[str, str] | None) -> list[Table]:
    """Return the rows that three versions of one section give: none, one, or two where both sides have other words."""
    if ours is None or theirs is None:
        only = ours or theirs or {}
        if base is None:
            return [dict(only)]
        return [_marked(only, "deleted")] if _said(only) != _said(base) else []
    before = base or {}
    if ours in (theirs, before):
        return [dict(theirs)]
    if theirs == before:
        return [dict(ours)]
    kbid = merge_value(before.get("kbid"), ours["kbid"], theirs["kbid"])
    if isinstance(kbid, Conflict):
        return [_marked(ours, "changed"), _marked(theirs, "changed")]
    # The side whose words are taken; none where both have the same.
    side = None if ours["kbid"] == theirs["kbid"] else ours if kbid == ours["kbid"] else theirs
    row: Table = {}
    for key in _keys(ROW_KEYS, ours, theirs):
        values = before.get(key), ours.get(key), theirs.get(key)
        merged: str | Conflict | None
        if key in COUNTS:
            merged = _merge_count(*values)
        elif key in OF_CONTENT and side is not None:
            merged = side.get(key)
        elif key in (*DERIVED_ROW, *OF_CONTENT):
            merged = merge_derived(*values)
        else:
            merged = merge_value(*values)
        if merged is not None:
            row[key] = merged
    return [row]


def _said(row: dict[str, str]) -> dict[str, str]:
    """Return what of a row is more than where it stands: its words, and keys that this version does not know."""
    return {key: value for key, value in row.items() if key == "kbid" or key not in ROW_KEYS}


def _marked(row: dict[str, str], how: str) -> Table:
    marked: Table = dict(row)
    marked.setdefault("conflict", f'"{how}"')
    return marked


def _merge_count(base: str | None, ours: str | None, theirs: str | None) -> str | None:
    """Return a length: changes of both add up, since they are of different lines."""
    merged = merge_value(base, ours, theirs)
    if not isinstance(merged, Conflict):
        return merged
    if base is None:
        return max((ours or "0", theirs or "0"), key=int)
    return str(min(max(int(ours or 0) + int(theirs or 0) - int(base), 0), MAX_COUNT))


def _without_repeats(rows: list[Table]) -> list[Table]:
    """Drop versions that stand there already: a merge whose side has the rows of an earlier one would give them once more."""
    seen = set()
    kept = []
    for row in rows:
        if "conflict" in row:
            if (row["kbid"], row.get("heading")) in seen:
                continue
            seen.add((row["kbid"], row.get("heading")))
        kept.append(row)
    return kept


def _merge_blob(base: Tables, ours: Tables, theirs: Tables, rows: list[Table]) -> str:
    """Return the blob that the rows tile: that of the side which has these rows, when the other side has the base's; else zeros.

    Zeros are no source's id: ingest cuts the source again, whatever it is.
    """
    merged = merge_value(base.head.get("blob"), ours.head["blob"], theirs.head["blob"])
    cut = [[row.get(key) for key in OF_CUT] for row in rows]
    for side in (ours, theirs):
        if side.head["blob"] == merged and [[row.get(key) for key in OF_CUT] for row in side.rows] == cut:
            return side.head["blob"]
    return '"' + "0" * (len(ours.head["blob"]) - 2) + '"'


def _number(rows: list[Table], source: str) -> None:
    """Give rows of two origins the source keys and chunk ids that their headings and their order ask for."""
    for row, key in zip(rows, _source_keys(source, rows), strict=True):
        row["source_key"] = key
    seen: dict[str, int] = {}
    for row in rows:
        chunk = str(row["chunk"])[1:-1]
        stem = "-".join(chunk.split("-")[:2])
        seen[stem] = n = seen.get(stem, 0) + 1
        row["chunk"] = f'"{stem}-{n}"' if n > 1 else f'"{stem}"'


def _keys(known: tuple[str, ...], ours: dict[str, str], theirs: dict[str, str]) -> list[str]:
    """Return the keys of both: known ones in their order, then the others as found in ours, then in theirs."""
    found = {**ours, **theirs}
    return [key for key in known if key in found] + [key for key in found if key not in known]


def _render(head: Table, rows: list[Table], side: int) -> str:
    """Return the text of one side: 0 base, 1 ours, 2 theirs. They differ where there is a conflict."""
    return _lines(head, HEAD_KEYS, side) + "".join(ROWS + _lines(row, ROW_KEYS, side) for row in rows)


def _lines(table: Table, known: tuple[str, ...], side: int) -> str:
    lines = []
    for key in [*(k for k in known if k in table), *(k for k in table if k not in known)]:
        value = table[key]
        text = value.sides[side] if isinstance(value, Conflict) else value
        if text is not None:
            lines.append(f"{key} = {text}\n")
    return "".join(lines)
