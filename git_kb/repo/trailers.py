"""Trailers: the `Key: value` lines at the end of a commit message, such as `Kb-Section: docs--guide.md#c-a1b2c3d4`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from git_kb.errors import KbError

# Lines that git itself writes; with one of them a last paragraph counts even where only a quarter of it is trailers.
GIT_GENERATED = ("Signed-off-by: ", "(cherry picked from commit ")


class BadTrailer(KbError):
    """The key is not letters, digits and hyphens, or the value is empty."""

    def __init__(self, key: str):
        self.key = key
        super().__init__(f"'{key}' cannot be a trailer")


def read_trailers(message: str, key: str | None = None) -> list[tuple[str, str]]:
    """Return the (key, value) trailers of a message, folded lines joined by a blank. `key` picks one kind, in any case."""
    found: list[tuple[str, str]] = []
    split = None
    for line in _trailer_lines(message):
        if line[:1] not in (" ", "\t"):
            split = _split(line)
            if split is not None:
                found.append(split)
        elif split is not None:
            found[-1] = found[-1][0], f"{found[-1][1]} {line.strip()}".strip()
    return [trailer for trailer in found if key is None or trailer[0].lower() == key.lower()]


def add_trailers(message: str, trailers: Iterable[tuple[str, str]]) -> str:
    """Return the message with trailers put after those it has, or in a paragraph of their own. Raises BadTrailer."""
    lines = [f"{_checked_key(key)}: {_one_line(key, value)}" for key, value in trailers]
    if not lines:
        return message
    body = message.rstrip()
    gap = "\n" if _trailer_lines(body) else "\n\n"
    return (body + gap if body else "\n") + "\n".join(lines) + "\n"


def _trailer_lines(message: str) -> Sequence[str]:
    """Return the lines of the trailer block by git's rules: the last paragraph, not the subject, all of it trailers.

    A quarter is enough where git itself wrote one of them.
    """
    paragraphs = _paragraphs(message)
    if len(paragraphs) < 2:
        return ()
    block = paragraphs[-1]
    n_trailers = n_others = 0
    has_generated = False
    is_folded = False
    for line in block:
        if line[:1] in (" ", "\t"):
            n_others += not is_folded
            continue
        is_generated = line.startswith(GIT_GENERATED)
        is_folded = is_generated or _split(line) is not None
        has_generated |= is_generated
        n_trailers += is_folded
        n_others += not is_folded
    is_block = n_trailers > 0 and (n_others == 0 or (has_generated and n_trailers * 3 >= n_others))
    return block if is_block else ()


def _paragraphs(message: str) -> list[list[str]]:
    paragraphs: list[list[str]] = [[]]
    for line in message.split("\n"):
        if line.strip():
            paragraphs[-1].append(line)
        elif paragraphs[-1]:
            paragraphs.append([])
    return [paragraph for paragraph in paragraphs if paragraph]


def _split(line: str) -> tuple[str, str] | None:
    key, colon, value = line.partition(":")
    key = key.rstrip(" \t")
    return (key, value.strip()) if colon and _is_key(key) else None


def _is_key(key: str) -> bool:
    return bool(key) and key.isascii() and key.replace("-", "a").isalnum()


def _checked_key(key: str) -> str:
    if not _is_key(key):
        raise BadTrailer(key)
    return key


def _one_line(key: str, value: str) -> str:
    line = " ".join(value.split())
    if not line:
        raise BadTrailer(key)
    return line
