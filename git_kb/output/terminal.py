"""Text that comes from sources, made safe to print: no control sequence of a document reaches the terminal."""

from __future__ import annotations

# Bidi overrides and isolates, and the invisible tag characters: they make a line read as something else.
_HIDDEN = {0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF, *range(0xE0000, 0xE0080)}
_TABLE: dict[int, str | None] = {
    **{c: f"\\x{c:02x}" for c in (*range(0x20), *range(0x7F, 0xA0)) if c not in (0x09, 0x0A)},
    **dict.fromkeys(_HIDDEN),
    0x2028: " ",
    0x2029: " ",
}


def visible(text: str) -> str:
    """Return text with control characters written out (`\\x1b`) and bidi controls and tag characters left out;
    tab and LF stay.
    """
    return text if text.isascii() and text.isprintable() else text.translate(_TABLE)


def visible_line(text: str) -> str:
    """Return text as `visible` has it, on one line: a name with a line end in it must not make up lines of ours."""
    return text if text.isascii() and text.isprintable() else text.translate(_TABLE).replace("\n", "\\n").replace("\t", "\\t")


def quote_path(path: bytes, quote_all: bool = True) -> str:
    """Return a path as git prints it.

    in double quotes with C escapes when it has odd characters (`core.quotePath`).
    """
    plain = all(0x20 <= b < 0x7F and b not in (0x22, 0x5C) for b in path)
    if plain:
        return path.decode()
    if not quote_all:
        text = path.decode("utf-8", "surrogateescape")
        if all(c not in '"\\' and (c.isprintable() or c in "\u200c\u200d") for c in text):
            return text
    short = {0x07: "a", 0x08: "b", 0x09: "t", 0x0A: "n", 0x0B: "v", 0x0C: "f", 0x0D: "r", 0x22: '"', 0x5C: "\\"}
    out = []
    # Without `quote_all`, letters beyond ASCII stay what they are, in quotes too.
    for char in path.decode("utf-8", "surrogateescape") if not quote_all else map(chr, path):
        if ord(char) in short:
            out.append("\\" + short[ord(char)])
        elif 0x20 <= ord(char) < 0x7F or (not quote_all and (char.isprintable() or char in "\u200c\u200d")):
            out.append(char)
        elif quote_all:
            out.append(f"\\{ord(char):03o}")
        else:
            out += [f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape")]
    return '"' + "".join(out) + '"'
