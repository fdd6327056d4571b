"""Hyperlinks of a terminal (OSC 8): text that opens a file at a line when it is clicked.

Written after https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda: ESC ] 8 ; ; URL ST text ESC ] 8 ; ; ST. What
comes from sources is percent-encoded byte by byte, so nothing of it can end the sequence.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    # Takes a source and a line, gives a URL, "" for none.
    Link = Callable[[str, int], str]

FORMAT = "file://{host}{path}#{line}"
START, END = "\x1b]8;;", "\x1b\\"
_SAFE = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")


def linked(text: str, url: str) -> str:
    """Return text that opens a URL; the text itself without one."""
    return f"{START}{url}{END}{text}{START}{END}" if url else text


def percent_encoded(raw: bytes) -> str:
    """Return bytes as they may stand in the path of a URL."""
    return "".join([chr(byte) if byte in _SAFE else f"%{byte:02X}" for byte in raw])


def file_link(top: bytes, host: str, format: str = FORMAT) -> Link:
    """Return what makes URLs of sources below the directory `top`.

    format: has {host}, {path} (absolute) and {line} where they go; other characters than printable ASCII are left out.
    """
    from git_kb.model.source import path_of_source

    outline = "".join([c for c in format if "!" <= c <= "~"])

    def link(source: str, line: int) -> str:
        path = path_of_source(source)
        if path is None:
            return ""
        whole = percent_encoded(top.rstrip(b"/") + b"/" + path)
        url = outline.replace("{host}", percent_encoded(host.encode("utf-8", "surrogateescape")))
        return url.replace("{line}", str(line)).replace("{path}", whole)

    return link


def is_format(format: str) -> bool:
    """Return whether a format makes URLs of files: it has a scheme and {path}, and in braces else only {host} and {line}."""
    scheme, colon, rest = format.partition(":")
    plain = rest.replace("{path}", "").replace("{host}", "").replace("{line}", "")
    named = scheme[:1].isalpha() and scheme.isascii() and all(c.isalnum() or c in "+-." for c in scheme)
    return bool(colon) and named and "{path}" in rest and "{" not in plain and "}" not in plain


def takes_links(environ: Mapping[str, str]) -> bool:
    """Return whether the terminal is known to take hyperlinks; most show nothing of what they do not know, but not all."""
    forced = environ.get("FORCE_HYPERLINK", "")
    if forced:
        return forced != "0"
    term = environ.get("TERM", "")
    if environ.get("CI") or term in ("", "dumb", "linux") or environ.get("TEAMCITY_VERSION"):
        return False
    if environ.get("WT_SESSION") or environ.get("DOMTERM") or environ.get("KONSOLE_VERSION") or environ.get("KITTY_WINDOW_ID"):
        return True
    vte = environ.get("VTE_VERSION", "")
    if vte.isdecimal():
        # 0.50.0 is said to crash on them.
        return int(vte) > 5000
    if environ.get("TERM_PROGRAM", "") in ("iTerm.app", "WezTerm", "vscode", "Hyper", "ghostty", "rio", "Tabby"):
        return True
    return any(name in term for name in ("kitty", "alacritty", "foot", "ghostty", "wezterm", "contour"))
