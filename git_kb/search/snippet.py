"""The piece of a section that shows best why it was found.

On the search path.
"""

from __future__ import annotations

from git_kb.text.words import is_mark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

WIDTH = 200
LONGEST = 100_000
LOOKED_AT = 400


class Snippet:
    """A line of text.

    `ranges`: (start, end) of matches in it; `offset`: where it begins in the content, in characters.
    """

    __slots__ = ("offset", "ranges", "text")

    def __init__(self, text: str, ranges: list[tuple[int, int]], offset: int):
        self.text, self.ranges, self.offset = text, ranges, offset


def make_snippet(content: str, terms: Iterable[str], literals: Iterable[str] = (), width: int = WIDTH) -> Snippet:
    """Return the window of about `width` characters with the most different terms (then the most matches, then
    the earliest). literals: what is also looked for as it is written.
    """
    matches = find_matches(content, terms)
    if literals:
        from git_kb.search.literal import find_literal, fold

        folded = fold(content[:LONGEST])
        matches = sorted([*matches, *((a, b, literal) for literal in literals for a, b in find_literal(folded, literal))])
    sample = content[:LOOKED_AT]
    if not sample.isascii() and len(sample.encode("utf-8", "replace")) > 2 * len(sample):
        # Mostly Chinese, Japanese or Korean, whose characters take two columns and say more.
        width //= 2
    start = _best_start(matches, width)
    begin = _word_start(content, max(0, start - width // 5)) if start else 0
    end = min(len(content), begin + width)
    if end < len(content):
        space = content.rfind(" ", begin + width // 2, end + 1)
        end = space if space > 0 else end
    piece = content[begin:end]
    text = " ".join(piece.split())
    inside = [(a - begin, b - begin) for a, b, _ in matches if begin <= a and b <= end]
    ranges = [(_place(piece, a), _place(piece, b)) for a, b in inside]
    prefix = "…" if begin else ""
    text = prefix + text + ("…" if end < len(content) else "")
    return Snippet(text, [(a + len(prefix), b + len(prefix)) for a, b in _disjoint(ranges)], begin)


def find_matches(content: str, terms: Iterable[str]) -> list[tuple[int, int, str]]:
    """Return (start, end, term) of words that begin as a term does, in order. Stems are beginnings, nearly always."""
    listed = list(terms)
    # A character of a pair that is looked for too says nothing more.
    terms = [t for t in listed if t < "\u0e00" or not any(t in other for other in listed if t != other)]
    folded = content[:LONGEST].lower()
    if len(folded) != len(content[:LONGEST]):
        folded = content[:LONGEST]  # a lower case of another length would move all positions
    if folded.isascii():
        return sorted(_matches(folded, terms))
    from git_kb.text.languages import fold_in_place

    # Terms have lost some marks, and kept those that make a letter in their language.
    return sorted({*_matches(folded, terms), *_matches(fold_in_place(content[:LONGEST]), terms)})


def _matches(folded: str, terms: Iterable[str]) -> Iterator[tuple[int, int, str]]:
    for term in terms:
        needle = term if len(term) < 4 or not term.isalpha() else term.removesuffix("i")
        spaced = term < "\u0e00"
        # Arabic writes its articles and prepositions in one with the word.
        inside = not spaced or "\u0600" <= term < "\u0700"
        at = folded.find(needle)
        while at >= 0:
            end = at + len(needle)
            if not spaced:
                yield at, end, term
            elif inside or at == 0 or not folded[at - 1].isalnum():
                while end < len(folded) and (folded[end].isalnum() or folded[end] == "_" or is_mark(folded[end])):
                    end += 1
                # A stem loses a few letters, not half of the word; one letter is a word by itself.
                if end - at <= len(term) + (5 if len(term) > 2 else 3 * (len(term) - 1)):
                    yield at, end, term
            at = folded.find(needle, at + 1 if not spaced else max(end, at + 1))


def _best_start(matches: list[tuple[int, int, str]], width: int) -> int:
    best = (0, 0, 0)
    start = 0
    first = 0
    counts: dict[str, int] = {}
    for at, end, term in matches:
        counts[term] = counts.get(term, 0) + 1
        while end - matches[first][0] > width * 4 // 5 and matches[first][0] != at:
            gone = matches[first][2]
            counts[gone] -= 1
            if not counts[gone]:
                del counts[gone]
            first += 1
        value = (len(counts), sum(counts.values()), -matches[first][0])
        if value > best:
            best, start = value, matches[first][0]
    return start


def _word_start(content: str, at: int) -> int:
    while at > 0 and content[at - 1].isalnum() and content[at].isalnum():
        at -= 1
    return at


def _place(piece: str, at: int) -> int:
    """Return where the character `at` of `piece` stands once runs of blanks are one space each."""
    before = " ".join(piece[:at].split())
    return len(before) + (before != "" and at < len(piece) and piece[at - 1].isspace() and not piece[at].isspace())


def _disjoint(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in ranges:
        if start >= end:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
