"""References in reStructuredText, and bare URLs. docs/format-references.md.

A scanner of lines and of inline markup, not docutils: a quoted literal block is prose, a target that names another one leads
nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from git_kb.model.reference import AUTOLINK, BEFORE, DEFINITION, DOC, NAME, REF, RST, TARGET

Found = tuple[int, int, str, str]  # start, end, kind, target

_URL = r"(?<![^\W_])https?://[^\s<>`\"|\[\]{}\\^]{1,2000}"
_BARE = re.compile(_URL)
_INLINE = re.compile(
    r"\\[\s\S]"
    r"|``(?:[^`]|`(?!`)){1,2000}``"
    r"|(?P<roles>(?::[a-zA-Z][\w.+-]{0,50}){1,2}:)?`(?P<quoted>(?:[^`\\]|\\[\s\S]){1,1000})`(?P<end>__?(?!\w))?"
    rf"|(?P<url>{_URL})"
    r"|(?P<bare>(?<=[^\W_])_(?!\w))"
)
# `.. _name: target`, `.. __: target`, `__ target`.
_TARGET = re.compile(
    r"(?:\.\. +__:|\.\. +_(?:`(?P<quoted>[^`]{1,500})`|(?P<name>(?:[^_:\\`]|\\.|:(?! |\Z)|_){1,500})):|__(?= ))(?P<rest> .*)?\Z"
)
_DIRECTIVE = re.compile(r"\.\. +(?:\|[^|]{1,200}\| +)?([a-zA-Z][\w:.+-]{0,100})::(?: |\Z)")
_CODE = ("code", "code-block", "sourcecode", "highlight", "literalinclude", "math", "raw", "doctest", "testcode", "testoutput")
_NOTE = re.compile(r"\.\. +\[[^\]]{1,200}\](?: |\Z)")
_ESCAPE = re.compile(r"\\(\s|(.))")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_MAX_NAME = 200
_BEFORE_NAME = "-:/'\"<([{"


def rst_label(text: str) -> str:
    """Return the name of a target as names are compared."""
    return " ".join(_ESCAPE.sub(r"\2", text).split()).lower()


def rst_references(content: str) -> list[Found]:
    """Return what a section of reStructuredText refers to and what it names, in order of place."""
    found: list[Found] = []
    prose: list[tuple[int, int]] = []
    for start, end, text in _lines(content):
        if text is None:
            if prose and prose[-1][1] == start:
                prose[-1] = (prose[-1][0], end)
            else:
                prose.append((start, end))
        else:
            found += _defined(content, start, end, text)
    for start, end in prose:
        for m in _INLINE.finditer(content, start, end):
            found += _inline(content, start, m)
    return sorted(found)


def bare_urls(content: str) -> Iterator[Found]:
    """Yield the URLs that stand in a text, without what punctuation ends them."""
    for m in _BARE.finditer(content):
        yield _url(m.start(), m[0])


def _url(start: int, text: str) -> Found:
    end = len(text)
    unopened = text.count(")") - text.count("(")
    while end and (text[end - 1] in "?!.,:;*_~'" or (text[end - 1] == ")" and unopened > 0)):
        unopened -= text[end - 1] == ")"
        end -= 1
    return start, start + end, AUTOLINK, text[:end]


def _lines(content: str) -> Iterator[tuple[int, int, str | None]]:
    """Yield (start, end, None) of lines of prose and (start, end, text) of explicit targets, the text with its second line."""
    lines = content.splitlines(keepends=True)
    skipped: int | None = None
    at = number = 0
    while number < len(lines):
        line = lines[number]
        start, at, number = at, at + len(line), number + 1
        text = line.strip()
        indent = len(line) - len(line.lstrip())
        if text and skipped is not None and indent > skipped:
            continue
        if not text:
            if skipped is None:
                yield start, at, None
            continue
        skipped = None
        if m := _TARGET.match(text):
            if not (m["rest"] or "").strip() and number < len(lines):
                after = lines[number]
                if after.strip() and len(after) - len(after.lstrip()) > indent:
                    at, number, text = at + len(after), number + 1, f"{text} {after.strip()}"
            yield start, at, text
        elif text.startswith(">>> "):
            continue
        elif m := _DIRECTIVE.match(text):
            if m[1].lower() in _CODE:
                skipped = indent
            else:
                yield start, at, None
        elif text.startswith(".. ") and not _NOTE.match(text):
            skipped = indent
        else:
            yield start, at, None
            if text.endswith("::"):
                skipped = indent


def _defined(content: str, start: int, end: int, text: str) -> Iterator[Found]:
    """Yield what an explicit target gives: a name of what follows, or of a destination; one without a name refers at once."""
    m = _TARGET.match(text)
    if m is None:
        return
    name = rst_label(m["quoted"] or m["name"] or "")
    target = "".join(_ESCAPE.sub(r"\2", (m["rest"] or "")).split())
    start += len(content[start:end]) - len(content[start:end].lstrip())
    end -= len(content[start:end]) - len(content[start:end].rstrip())
    if target:
        if _followed(target) and not target.endswith("_"):
            yield (start, end, DEFINITION, f"{name}\t{target}") if name else (start, end, RST, target)
    elif name:
        yield start, end, TARGET, name


def _inline(content: str, first: int, m: re.Match[str]) -> Iterator[Found]:
    start, end = m.span()
    if m["url"]:
        yield _url(start, m["url"])
    elif m["bare"]:
        at = start
        while at > max(first, start - _MAX_NAME) and (content[at - 1].isalnum() or content[at - 1] in "-._+"):
            at -= 1
        before = content[at - 1 : at] if at > first else ""
        if start - at < _MAX_NAME and (not before or before.isspace() or before in _BEFORE_NAME) and content[at].isalnum():
            yield at, end, NAME, rst_label(content[at:start])
    elif m["quoted"]:
        yield from _quoted(start, end, m["quoted"], m["roles"], m["end"])


def _quoted(start: int, end: int, quoted: str, roles: str | None, suffix: str | None) -> Iterator[Found]:
    """Yield what a role or a hyperlink in backquotes refers to."""
    opens = quoted.rfind("<") if quoted.endswith(">") else -1
    title, target = (quoted[:opens], quoted[opens + 1 : -1]) if opens >= 0 else (quoted, "")
    if roles:
        role = roles.strip(":").rpartition(":")[2].lower()
        target = " ".join((target or quoted).split())
        if role == "doc" and not quoted.startswith("!"):
            yield start, end, DOC, target
        elif role == "ref" and not quoted.startswith("!"):
            yield start, end, REF, rst_label(target)
    elif suffix and opens >= 0:
        target = target.strip()
        if target.endswith("_") and not target.endswith("\\_"):
            yield start, end, NAME, rst_label(target[:-1].strip("`"))
            return
        target = "".join(_ESCAPE.sub(r"\2", target).split())
        if _followed(target):
            yield start, end, RST, target
            if suffix == "_":
                yield start, end, DEFINITION, f"{rst_label(title)}\t{target}"
    elif suffix == "_":
        yield start, end, NAME, rst_label(quoted)


def _followed(target: str) -> bool:
    m = _SCHEME.match(target)
    return bool(target) and (m is None or m[0].lower() in ("http:", "https:"))


def ends_with_target(content: str, found: list[Found]) -> list[Found]:
    """Return what was found, with the targets at the end of a section as names of the next one: a title begins a section."""
    end = len(content)
    turned = list(found)
    for number in range(len(turned) - 1, -1, -1):
        start, stop, kind, target = turned[number]
        if kind not in (TARGET, DEFINITION) or content[stop:end].strip():
            break
        end = start
        if kind == TARGET:
            turned[number] = (start, stop, BEFORE, target)
    return turned
