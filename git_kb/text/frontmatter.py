"""Front matter: YAML (`---`), TOML (`+++`) or JSON (`{`) at the very start of a document.

A document may as well begin with a rule, so a `---` block counts only when it is closed, and is a YAML mapping; or a list, a
scalar without blank lines and comments (which could be headings); or comments alone; or broken YAML that begins with a key.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from git_kb.text.lines import LINE, lf_only

MAX_BYTES = 1 << 20
# Nodes that the aliases of a YAML block may add up to: "billion laughs" has a billion, an honest file a handful.
MAX_ALIASED_NODES = 1000
MAX_DEPTH = 100
# Keys of a broken block that are read one by one.
MAX_PIECES = 100

_KEY_FIRST = re.compile(r"(?:[ \t]*#[^\r\n]*(?:\r\n?|\n))*[\"']?[^\s#:\-\[{&*!|>%@`][^:\r\n]*:(?:\s|\Z)")
_BLANK_LINE = re.compile(r"(?:\A|\r\n?|\n)[ \t]*(?:\r\n?|\n)")
_COMMENT = re.compile(r"(?:\A|[\r\n])[ \t]*#")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """Front matter and where it ends.

    kind: yaml, toml or json. end: offset of the first character after it, in the text it was read from.
    metadata: strings to JSON-like data, dates and numbers as their own text; {} when it is no mapping or broken.
    """

    kind: str
    end: int
    metadata: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def type(self) -> str:
        """The MIME type of the block."""
        return f"application/{self.kind}"

    @property
    def title(self) -> str:
        """The title as one line, or ""."""
        title = self.metadata.get("title")
        return " ".join(_plain(title).split()) if title is not None and not isinstance(title, (dict, list)) else ""

    @property
    def tags(self) -> tuple[str, ...]:
        """Tags (`tags`, `tag`, `keywords`): sorted, no repeats, from a list or a text separated by commas."""
        found: set[str] = set()
        for key in ("tags", "tag", "keywords"):
            value = self.metadata.get(key)
            items = value if isinstance(value, list) else value.split(",") if isinstance(value, str) else []
            found.update(
                " ".join(_plain(t).split()).removeprefix("#") for t in items if not isinstance(t, (dict, list)) and t is not None
            )
        return tuple(sorted(found - {""}))

    def rest(self) -> tuple[tuple[str, str], ...]:
        """Return all but title and tags as text: scalars plain, lists and mappings as JSON."""
        return tuple((k, _plain(v)) for k, v in self.metadata.items() if k not in ("title", "tags", "tag", "keywords"))


def read_front_matter(text: str) -> FrontMatter | None:
    """Return the front matter of a document, or None. A byte order mark before it is skipped (and counted in `end`)."""
    start = 1 if text.startswith("\ufeff") else 0
    if text.startswith("---", start):
        return _read_yaml(text, start)
    if text.startswith("+++", start):
        return _read_toml(text, start)
    if text.startswith("{", start):
        return _read_json(text, start)
    return None


def _fenced(text: str, start: int, fence: str, closing: re.Pattern[str]) -> tuple[str, int] | None:
    """Return the block between the opening line at `start` and the first closing line, and where that ends."""
    m = LINE.match(text, start)
    if not m or m[0].strip(" \t\r\n") != fence:
        return None
    end = closing.search(text, m.end(), m.end() + MAX_BYTES)
    return (text[m.end() : end.start()], end.end()) if end else None


# A line begins after CR too, so not "^" with re.MULTILINE, which knows LF only.
_YAML_END = re.compile(r"(?:(?<=[\r\n]))(?:---|\.\.\.)[ \t]*(?:\r\n?|\n|\Z)")
_TOML_END = re.compile(r"(?<=[\r\n])\+\+\+[ \t]*(?:\r\n?|\n|\Z)")


def _read_yaml(text: str, start: int) -> FrontMatter | None:
    found = _fenced(text, start, "---", _YAML_END)
    if not found:
        return None
    block, end = found
    simple = _load_simple_yaml(block)
    if simple:
        return FrontMatter("yaml", end, simple)
    import yaml

    try:
        value, warnings = _load_yaml(block)
    except (yaml.YAMLError, RefusedYaml, RecursionError, ValueError) as e:
        if not _KEY_FIRST.match(block):
            return None
        why = _yaml_reason(e, block)
        kept = _keys_that_can_be_read(block) if isinstance(e, yaml.YAMLError) else {}
        if not kept:
            return FrontMatter("yaml", end, {}, (f"front matter is not read: {why}",))
        return FrontMatter("yaml", end, kept, (f"front matter is read in part: {why}",))
    if isinstance(value, dict):
        return FrontMatter("yaml", end, value, warnings)
    if _BLANK_LINE.search(block) or (value is not None and _COMMENT.search(block)):
        return None
    return FrontMatter("yaml", end)


# PyYAML takes a millisecond for what most documents have: `key: value` lines with plain or quoted scalars or a list of them.
# Not "'#,:[\]{} nor what begins something in YAML, nor what its reader takes for a line end or refuses.
_CHAR = r"[ !$-&(-+\--9;-Z^-z|~\u00a1-\u2027\u2030-\ud7ff\ue000-\ufefe\uff00-\uffef\U00010000-\U0010fffd]"
_QUOTED = rf"\"(?:{_CHAR}|[#,:\[\]{{}}'])*\"|'(?:{_CHAR}|[#,:\[\]{{}}\"])*'"
# Neither ends in a blank, or a run of blanks could be taken apart in as many ways as it has.
_INK = _CHAR.replace("[ !", "[!")
_PLAIN = rf"[A-Za-z0-9](?: *(?:{_INK}|[,\[\]{{}}'\"]|:(?! |\Z)|(?<! )#))*"
_FLOW_WORD = rf"[A-Za-z0-9](?: *{_INK})*"
_FLOW_ITEM = rf"(?:{_QUOTED}|{_FLOW_WORD})"
_KEY_LINE = re.compile(
    rf"([A-Za-z][A-Za-z0-9_.-]{{0,60}}):(?: +(?:({_QUOTED})|({_PLAIN})|\[ *((?:(?:{_FLOW_ITEM} *, *)*{_FLOW_ITEM})?) *\]))? *"
)
_ITEM_LINE = re.compile(rf"( {{0,8}})- +(?:({_QUOTED})|({_PLAIN})) *")
_ITEM = re.compile(rf"({_QUOTED})|({_FLOW_WORD})")


def _load_simple_yaml(block: str) -> dict[str, Any] | None:
    """Return the mapping, when the block is so simple that this equals what `_load_yaml` gives; else None."""
    found: dict[str, Any] = {}
    key = indent = ""
    listing: list[Any] | None = None  # the block list of `key`, once its first item was seen
    for line in lf_only(block).removesuffix("\n").split("\n"):
        if m := _KEY_LINE.fullmatch(line):
            key, quoted, plain, items = m.groups()
            if key in found:
                return None
            listing = [] if line.rstrip(" ").endswith(":") and quoted is plain is items is None else None
            found[key] = _simple_scalar(quoted, plain) if items is None else [_simple_scalar(*i) for i in _ITEM.findall(items)]
        elif listing is not None and (m := _ITEM_LINE.fullmatch(line)) and (not listing or m[1] == indent):
            indent = m[1]
            listing.append(_simple_scalar(m[2], m[3]))
            found[key] = listing
        else:
            return None
    return found


def _simple_scalar(quoted: str | None, plain: str | None) -> Any:
    return quoted[1:-1] if quoted else _scalar((plain or "").rstrip(" "), True)


def _keys_that_can_be_read(block: str) -> dict[str, Any]:
    """Return what a broken block has all the same: each key at the margin is read by itself.

    A value on the key's own line that is no YAML (`title: Re: hives`, `author: @me`) is text as it is written.
    """
    import yaml

    pieces: list[list[str]] = []
    for line in lf_only(block).removesuffix("\n").split("\n"):
        if _YAML_KEY.match(line):
            pieces.append([line])
        elif pieces:
            pieces[-1].append(line)
    if len(pieces) > MAX_PIECES:
        return {}
    found: dict[str, Any] = {}
    for piece in pieces:
        try:
            value, _ = _load_yaml("\n".join(piece))
        except (yaml.YAMLError, RefusedYaml, RecursionError, ValueError):
            key, _, text = piece[0].partition(":")
            text = text.strip()
            # What opens a list, a mapping, a text of several lines or a quote was meant to go on.
            value = {key.strip(" \t\"'"): text} if text and text[0] not in "[{|>&*!\"'" else {}
        if isinstance(value, dict):
            found.update(value)
    return found


class RefusedYaml(ValueError):
    """YAML that would cost too much to build, or means nothing here. at: offset in the block, -1 when it is not known."""

    def __init__(self, reason: str, at: int = -1):
        self.at = at
        super().__init__(reason)


def _yaml_reason(e: Exception, block: str) -> str:
    """Return where a YAML block is wrong, and how."""
    if isinstance(e, RecursionError):
        return "nested too deeply"
    problem = getattr(e, "problem", None) or getattr(e, "reason", None) or str(e) or "not YAML"
    mark, context = getattr(e, "problem_mark", None), getattr(e, "context", None) or ""
    opened = getattr(e, "context_mark", None)
    if opened and "block" not in context:
        # What was begun and never ended (a quote, a list) is to be mended where it begins.
        mark, problem = opened, f"{context}, {problem}"
    at = mark.index if mark else getattr(e, "position", getattr(e, "at", -1))
    return f"{_where(block, at, _YAML_KEY)}{problem}" if at >= 0 else str(problem)


# A key at the left margin, as the reader of a warning looks for it.
# What stands before the colon or equals sign is trimmed by `_where`: a pattern that does would try each blank as the first.
_YAML_KEY = re.compile(r"[\"']?([^\s#:\-\[\]{}][^:\n]*):(?:\s|\Z)")
_TOML_KEY = re.compile(r"[ \t]*([^\s#=\[][^=\n]*)=")


_QUOTE_MARKS = "\"'"


def _where(block: str, at: int, key_line: re.Pattern[str]) -> str:
    """Return "line N, key 'K': " of an offset in a block; lines count from the fence before it, which is line 1."""
    text = lf_only(block)
    lines = text.rstrip("\n").split("\n")
    n = min(text.count("\n", 0, at), len(lines) - 1)
    for line in reversed(lines[: n + 1]):
        if m := key_line.match(line):
            key = m[1].rstrip(" \t")
            return (
                f"line {n + 2}, key '{key.removesuffix(key[-1]) if key_line is _YAML_KEY and key[-1] in _QUOTE_MARKS else key}': "
            )
        if line and line[0] not in " \t-]}":
            break  # text at the margin belongs to no key above it
    return f"line {n + 2}: "


def _load_yaml(block: str) -> tuple[Any, tuple[str, ...]]:
    """Return the value of a YAML document and warnings. Scalars follow YAML 1.2's core schema and keep their own spelling.

    Raises yaml.YAMLError, RefusedYaml, RecursionError.
    """
    import yaml

    loader = yaml.SafeLoader(lf_only(block))
    try:
        node = loader.get_single_node()
    finally:
        loader.dispose()
    builder = _Builder(lf_only(block))
    value = builder.build(node, 0) if node is not None else None
    return value, tuple(builder.warnings)


class _Builder:
    """Makes data of YAML nodes: no tags but the core ones, no cycles, a bound on what aliases repeat."""

    def __init__(self, block: str) -> None:
        self.block = block
        self.warnings: list[str] = []
        self.sizes: dict[int, int] = {}
        self.open: set[int] = set()
        self.n_aliased = 0

    def build(self, node: Any, depth: int) -> Any:
        import yaml

        known, at = self.sizes.get(id(node)), node.start_mark.index
        if id(node) in self.open or depth > MAX_DEPTH:
            raise RefusedYaml("an alias inside what it names" if id(node) in self.open else "nested too deeply", at)
        if known is not None:
            self.n_aliased += known
            if self.n_aliased > MAX_ALIASED_NODES:
                raise RefusedYaml("aliases repeat too much", at)
        if not node.tag.startswith("tag:yaml.org,2002:") or node.tag.startswith("tag:yaml.org,2002:python"):
            raise RefusedYaml(f"tag {node.tag} is not allowed", at)
        if isinstance(node, yaml.ScalarNode):
            self.sizes[id(node)] = 1
            return _scalar(node.value, node.style is None and node.tag != "tag:yaml.org,2002:str")
        self.open.add(id(node))
        before = self.n_aliased
        if isinstance(node, yaml.SequenceNode):
            value: Any = [self.build(item, depth + 1) for item in node.value]
            n = len(node.value)
        else:
            value = self.mapping(node, depth)
            n = 2 * len(node.value)
        self.open.discard(id(node))
        self.sizes[id(node)] = 1 + n + (self.n_aliased - before)
        return value

    def mapping(self, node: Any, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self.build(key_node, depth + 1)
            if isinstance(key, (list, dict)):
                what = "a list" if isinstance(key, list) else "a mapping"
                raise RefusedYaml(f"{what} stands for a key; text that begins so has to be quoted", key_node.start_mark.index)
            name = key_node.value
            if name in found:
                line = self.block.count("\n", 0, key_node.start_mark.index) + 2
                self.warnings.append(f"front matter has the key '{name}' more than once (line {line}); the last one counts")
            found[name] = self.build(value_node, depth + 1)
        return found


_TRUE, _FALSE, _NULL = ("true", "True", "TRUE"), ("false", "False", "FALSE"), ("", "~", "null", "Null", "NULL")


def _scalar(text: str, plain: bool) -> Any:
    """Return true, false and null of YAML 1.2 as such; all else, numbers and dates too, as it was written."""
    if plain and text in _TRUE + _FALSE:
        return text in _TRUE
    return None if plain and text in _NULL else text


def _read_toml(text: str, start: int) -> FrontMatter | None:
    found = _fenced(text, start, "+++", _TOML_END)
    if not found:
        return None
    block, end = found
    import tomllib

    try:
        value = tomllib.loads(lf_only(block), parse_float=str)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as e:
        if "=" not in block:
            return None
        return FrontMatter("toml", end, {}, (f"front matter is not read: {_toml_reason(e, block)}",))
    return FrontMatter("toml", end, {k: _jsonable(v) for k, v in value.items()})


def _toml_reason(e: Exception, block: str) -> str:
    """Return where a TOML block is wrong, and how. tomllib tells the place in its message only."""
    if isinstance(e, RecursionError):
        return "nested too deeply"
    problem, _, place = str(e).partition(" (at ")
    line = re.match(r"line (\d+)", place)
    lines = lf_only(block).split("\n")
    at = len("\n".join(lines[: int(line[1]) - 1])) + 1 if line and int(line[1]) > 1 else 0
    problem = problem[:1].lower() + problem[1:]
    return f"{_where(block, at if line else len(block), _TOML_KEY)}{problem}" if place else problem


def _read_json(text: str, start: int) -> FrontMatter | None:
    """JSON counts when it is an object that ends its line."""
    import json

    try:
        value, end = json.JSONDecoder(parse_float=str).raw_decode(text[: start + MAX_BYTES], start)
    except (ValueError, RecursionError):
        return None
    m = LINE.match(text, end)
    if not isinstance(value, dict) or not m or m[0].strip(" \t\r\n") or not value:
        return None
    return FrontMatter("json", m.end(), value)


def _jsonable(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _jsonable(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_jsonable(v) for v in value]
    return value if isinstance(value, (str, bool, int)) else value.isoformat() if hasattr(value, "isoformat") else str(value)


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    import json

    return json.dumps(value, ensure_ascii=False)
