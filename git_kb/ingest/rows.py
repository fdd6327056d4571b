"""Rows of tables `kb_pages` and `kb_sources`, as CSV, JSON lines or SQLite. docs/import.md."""

from __future__ import annotations

import csv
import io
import json
import os
import urllib.parse
from collections.abc import Iterator
from typing import Any

from git_kb.ingest.foreign import Carried, DamagedImport, File, Names, UnknownForm, front_matter, read_bounded
from git_kb.store.manifest import one_line

TABLES = {"kb_pages": "pages", "kb_sources": "sources"}
ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json")
SQLITE = b"SQLite format 3\0"
MAX_TABLE = 1 << 30
MAX_ROWS, MAX_VALUE = 1_000_000, 16 << 20
# A database of others could hold a query that does not end: steps of its machine, in thousands.
MAX_STEPS = 50_000
CONTENT = ("content", "body", "markdown", "content_md", "body_md", "content_markdown", "md", "text", "raw")
NAME = ("slug", "path", "name", "title", "id")
TITLE, TAGS, TIER = ("title", "name", "heading"), ("tags", "tag", "keywords"), ("tier", "quality_tier")
VECTORS = ("embedding", "embeddings", "vector", "fts", "tsv", "search_vector")
# What front matter holds of one value; more is no metadata.
MAX_METADATA = 10_000


def tables_at(path: str) -> list[str]:
    """Return the files with rows that a path stands for: itself, or those in a directory, sorted. Empty when there are none."""
    if os.path.isdir(path):
        names = [name for name in sorted(os.listdir(path)) if _table_of(name) and name.lower().endswith(ENDINGS)]
        return [os.path.join(path, name) for name in names]
    if path.lower().endswith(ENDINGS):
        return [path]
    return []


def is_sqlite(path: str) -> bool:
    """Return whether a file is an SQLite database."""
    try:
        with open(path, "rb") as file:
            return file.read(len(SQLITE)) == SQLITE
    except OSError:
        return False


def read_rows(paths: list[str]) -> Carried:
    """Return what rows give: a Markdown file each. Raises DamagedImport, UnknownForm."""
    carried = Carried("rows")
    names = Names()
    for path in paths:
        if is_sqlite(path):
            for name, n, values in _sqlite_rows(path, carried):
                _carry(name, f"{name} row {n}", values, names, carried)
            continue
        table = _table_of(os.path.basename(path))
        if table is None:
            raise UnknownForm(path, "its name says neither 'kb_pages' nor 'kb_sources'")
        reader = _csv_rows if path.lower().endswith((".csv", ".tsv")) else _json_rows
        for n, row in enumerate(reader(path), 1):
            if n > MAX_ROWS:
                raise DamagedImport(path, f"it has more than {MAX_ROWS} rows")
            _carry(table, f"{os.path.basename(path)} row {n}", row, names, carried)
    return carried


def _table_of(name: str) -> str | None:
    lower = name.lower()
    return next((table for table in TABLES if lower.startswith(table) or f".{table}." in lower or f"_{table}." in lower), None)


def _csv_rows(path: str) -> Iterator[dict[str, Any] | str]:
    text = _text(path)
    csv.field_size_limit(MAX_VALUE)
    delimiter = "\t" if path.lower().endswith(".tsv") else ","
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        if not reader.fieldnames:
            return
        for row in reader:
            if None in row or None in row.values():
                yield f"it has {'more' if None in row else 'fewer'} fields than the head of the table"
            else:
                yield dict(row)
    except csv.Error as e:
        raise DamagedImport(path, f"it is not CSV: {e}") from None


def _json_rows(path: str) -> Iterator[dict[str, Any] | str]:
    text = _text(path)
    if path.lower().endswith(".json"):
        rows = _json(path, text, "")
        if not isinstance(rows, list):
            raise DamagedImport(path, "it is no list of rows")
        for row in rows:
            yield row if isinstance(row, dict) else "it is no object"
        return
    for n, line in enumerate(text.split("\n"), 1):
        if line.strip():
            row = _json(path, line, f"line {n}: ")
            yield row if isinstance(row, dict) else "it is no object"


def _json(path: str, text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as e:
        raise DamagedImport(path, f"{where}it is not JSON: {e}") from None


def _text(path: str) -> str:
    data = read_bounded(path, MAX_TABLE)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        raise DamagedImport(path, f"it is not UTF-8 (byte {e.start})") from None


def _sqlite_rows(path: str, carried: Carried) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Yield (table, row number, row). Only plain tables are read; nothing that the file defines is run."""
    import sqlite3

    # A link, a pipe or what is too large is refused; SQLite opens the file by itself afterwards.
    if os.path.islink(path) or os.lstat(path).st_size > MAX_TABLE:
        raise DamagedImport(path, f"it is a link, or larger than {MAX_TABLE} bytes")
    uri = f"file:{urllib.parse.quote(os.fsencode(os.path.abspath(path)))}?mode=ro&immutable=1"
    steps = [0]

    def too_long() -> int:
        steps[0] += 1
        return int(steps[0] > MAX_STEPS * 1000)

    try:
        connection = sqlite3.connect(uri, uri=True)
        try:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE)
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA query_only = ON")
            connection.execute("PRAGMA cell_size_check = ON")
            connection.set_progress_handler(too_long, 1000)
            query = "SELECT name FROM sqlite_master WHERE type = 'table' AND lower(sql) NOT LIKE 'create virtual%' ORDER BY name"
            tables = [name for (name,) in connection.execute(query) if isinstance(name, str)]
            known = [name for name in tables if name.lower() in TABLES]
            if not known:
                raise UnknownForm(path, "it has no table 'kb_pages' or 'kb_sources'")
            for name in sorted(set(tables) - set(known)):
                if not name.startswith("sqlite_"):
                    carried.not_carried.append((f"table {name}", "only kb_pages and kb_sources are carried"))
            for name in known:
                quoted = name.replace('"', '""')
                cursor = connection.execute(f'SELECT * FROM "{quoted}"')
                columns = [column for column, *_ in cursor.description]
                for n, values in enumerate(cursor, 1):
                    if n > MAX_ROWS:
                        raise DamagedImport(path, f"table '{name}' has more than {MAX_ROWS} rows")
                    yield name.lower(), n, dict(zip(columns, values, strict=True))
        finally:
            connection.close()
    except (sqlite3.Error, UnicodeDecodeError, OverflowError) as e:
        raise DamagedImport(path, f"it is no SQLite database that can be read: {e}") from None


def _carry(table: str, origin: str, row: dict[str, Any] | str, names: Names, carried: Carried) -> None:
    """Make the file of one row, or say why there is none."""
    if isinstance(row, str):
        carried.not_carried.append((origin, row))
        return
    lower = {str(key).strip().lower(): value for key, value in row.items()}
    content_key = next((key for key in CONTENT if isinstance(lower.get(key), str) and lower[key].strip()), None)
    if content_key is None:
        carried.not_carried.append((origin, f"it has no text in any of {', '.join(CONTENT)}"))
        return
    content = lower.pop(content_key)
    if "\0" in content:
        carried.not_carried.append((origin, "its text has a NUL in it"))
        return
    name = next((str(lower[key]) for key in NAME if lower.get(key) not in (None, "")), "untitled")
    title_key = next((key for key in TITLE if isinstance(lower.get(key), str) and lower[key].strip()), None)
    values: dict[str, object] = {"title": one_line(lower.pop(title_key))} if title_key else {}
    tags: list[str] = []
    for key in TAGS:
        tags += _tags(lower.pop(key, None))
    if tags:
        values["tags"] = sorted(set(tags))
    tier = next((str(lower[key]).strip().upper() for key in TIER if lower.get(key)), "")
    for key, value in lower.items():
        if (why := _why_left(key, value)) is None:
            values[key] = _plain(value)
        elif why:
            carried.not_carried.append((f"{origin}, {one_line(key, 60)}", why))
    path = names.take(TABLES[table], name.removesuffix(".md"), ".md")
    head = front_matter({"kb_table": table, **values})
    text = content.replace("\r\n", "\n").lstrip("\ufeff")
    if text.startswith("---\n"):
        carried.warnings.append((origin, "its own front matter is kept as text"))
    body = "\n" + text if not text.startswith("\n") else text
    data = (head + body + ("" if body.endswith("\n") else "\n")).encode("utf-8", "replace")
    carried.add(File(path, data, origin, tier=tier if tier in ("S", "A", "B") else ""))


def _tags(value: Any) -> list[str]:
    """Return tags from a list, a JSON or PostgreSQL array, or a text separated by commas."""
    if isinstance(value, str):
        text = value.strip()
        if text.startswith("["):
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):
                value = text.strip("[]").split(",")
        else:
            value = text.removeprefix("{").removesuffix("}").split(",")
    if not isinstance(value, list):
        return []
    return [tag for item in value if isinstance(item, (str, int)) and (tag := one_line(str(item).strip().strip('"'), 100))]


def _why_left(key: str, value: Any) -> str | None:
    """Return why a column is not carried, "" where nothing is lost, None when it is carried."""
    if value is None or value == "":
        return ""
    if key in VECTORS or any(key.endswith("_" + v) for v in VECTORS):
        return "embeddings and search columns are made anew"
    if isinstance(value, bytes):
        return "it is binary"
    if len(value if isinstance(value, str) else json.dumps(value, default=str)) > MAX_METADATA:
        return f"it is longer than {MAX_METADATA} characters"
    return None


def _plain(value: Any) -> object:
    if isinstance(value, str):
        return "".join(c if c.isprintable() or c in "\n\t" else " " for c in value)
    return json.loads(json.dumps(value))
