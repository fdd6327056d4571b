"""Did you mean: real words near those of a query that no section has.

Candidates are the terms of the index within a few edits of the word (insert, delete, replace a letter, swap two neighbours:
Damerau 1964, doi:10.1145/363958.363994, in the form of optimal string alignment). Terms are stems, and the ending of a mistyped
word is often not taken off, so a term may also be near a beginning of it. What is named is a word of some section's text.
"""

from __future__ import annotations

from git_kb.model.section import kbid_of_entry
from git_kb.search.telling import live_df
from git_kb.store.content import read_contents
from git_kb.text.stems import stem
from git_kb.text.words import is_unspaced, terms, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from git_kb.index.segments import Segments
    from git_kb.index.view import View
    from git_kb.repo.discover import Place
    from git_kb.search.query import Query

# Words of a query that are looked after, and suggestions for each.
MAX_WORDS, MAX_SUGGESTIONS = 3, 3
# Terms looked at in a segment, terms whose sections are read, sections read for each, characters of a section that count.
MAX_SCANNED, MAX_TRIED, MAX_READ, MAX_TEXT = 100_000, 10, 2, 20_000
# A stem is at most this much shorter than its word.
MAX_ENDING = 6
LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Correction:
    """A word that no section has, a word near it that some have, how many edits lie between, and in how many sections it is."""

    __slots__ = ("distance", "n_sections", "suggestion", "word")

    def __init__(self, word: str, suggestion: str, distance: int, n_sections: int):
        self.word, self.suggestion, self.distance, self.n_sections = word, suggestion, distance, n_sections


def corrections(place: Place, view: View, segments: Segments, query: Query, held: set[str]) -> list[Correction]:
    """Return words to take in the place of those of a query that no live section has, the nearest first for each.

    held: terms that some section is known to have.
    """
    found = []
    asked = [w for w in dict.fromkeys(words(query.text)) if _may_be_wrong(w)]
    for word in asked:
        its = [t for t in _terms(view, word) if t in query.weights]
        if its and held.isdisjoint(its) and not any(live_df(view, segments, t) for t in its):
            found.append(word)
    return [c for word in found[:MAX_WORDS] for c in _corrections_of(place, view, segments, word)]


def corrected(text: str, found: list[Correction]) -> str:
    """Return a query with the best suggestion in the place of each word; "" when there is none."""
    done: set[str] = set()
    fixed = text
    for correction in found:
        if correction.word not in done:
            done.add(correction.word)
            fixed = fixed.replace(correction.word, correction.suggestion)
    return fixed if fixed != text else ""


def max_distance(word: str) -> int:
    """Return how many edits away a suggestion may be."""
    return 1 if len(word) < 6 else 2


def distance(a: str, b: str, most: int) -> int:
    """Return the number of edits between two words, `most` + 1 when it is more."""
    row = _last_row(a, b, most)
    return min(row[-1], most + 1) if row else most + 1


def _terms(view: View, word: str) -> list[str]:
    """Return the terms of a word in all languages of the view."""
    return [term for rules in view.rules for term in terms(word, rules)]


def _may_be_wrong(word: str) -> bool:
    return 3 <= len(word) <= 40 and not any(map(str.isdigit, word)) and not is_unspaced(word[0])


def _last_row(a: str, b: str, most: int) -> list[int]:
    """Return the edits from `a` to each beginning of `b`; nothing when all are more than `most`."""
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        two_before, before = before, row
        row = [i]
        for j, y in enumerate(b, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, two_before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return []
    return row


def _corrections_of(place: Place, view: View, segments: Segments, word: str) -> list[Correction]:
    folded = word.casefold()
    most = max_distance(folded)
    near = _near_terms(segments, folded, most)
    tried: list[tuple[str, int]] = []
    for term, _ in sorted(near.items(), key=lambda item: (item[1], item[0])):
        if df := live_df(view, segments, term):
            tried.append((term, df))
        if len(tried) == MAX_TRIED:
            break
    entries = {term: _entries_with(view, segments, term) for term, _ in tried}
    texts = _texts(place, view, [entry_id for ids in entries.values() for entry_id in ids])
    best: dict[str, Correction] = {}
    for term, df in tried:
        counts: dict[str, int] = {}
        for entry_id in entries[term]:
            for real in words(texts.get(entry_id, "")):
                low = real.casefold()
                # Looking at a word's terms costs more than looking at its letters.
                if (
                    low != folded
                    and abs(len(low) - len(folded)) <= most
                    and distance(folded, low, most) <= most
                    and term in _terms(view, real)
                ):
                    counts[low] = counts.get(low, 0) + 1
        if counts:
            # One word of a stem: the nearest, then the most frequent.
            low = min(counts, key=lambda low: (distance(folded, low, most), -counts[low], low))
            best.setdefault(low, Correction(word, low, distance(folded, low, most), df))
    return sorted(best.values(), key=lambda c: (c.distance, -c.n_sections, c.suggestion))[:MAX_SUGGESTIONS]


def _near_terms(segments: Segments, word: str, most: int) -> dict[str, tuple[int, int]]:
    """Return terms that may be those of a word near `word` -> (edits, letters left over), the smaller the nearer."""
    near: dict[str, tuple[int, int]] = {}
    root = stem(word) if word.isascii() else word
    letters = dict.fromkeys(map(ord, word))
    shortest = min(len(root), len(word) - MAX_ENDING) - most
    for segment in segments:
        for term in _first_letter_edits(word):
            for form in {term, stem(term) if term.isascii() else term}:
                if form not in near and segment.postings(form) is not None:
                    near[form] = (1, 0)
        for term in segment.prefix_terms(word[0], MAX_SCANNED):
            if not shortest <= len(term) <= len(word) + most or term in near or len(term.translate(letters)) > most:
                continue
            whole = distance(root, term, most)
            if whole <= most:
                near[term] = (whole, 0)
            elif row := _last_row(term, word, most):
                least = min(row)
                ending = min(len(word) - j for j, edits in enumerate(row) if edits == least)
                if least <= most and ending <= MAX_ENDING:
                    near[term] = (least, ending)
    return near


def _first_letter_edits(word: str) -> Iterator[str]:
    """Yield the words one edit away whose first letter is another."""
    yield word[1:]
    yield word[1] + word[0] + word[2:]
    for letter in LETTERS:
        if letter != word[0]:
            yield letter + word[1:]
            yield letter + word


def _entries_with(view: View, segments: Segments, term: str) -> list[bytes]:
    """Return the ids of a few live entries that hold a term, those where it counts most first."""
    found = []
    for segment in segments:
        if (postings := segment.postings(term)) is not None:
            mask = view.mask(segment.name)
            for _, ordinal in postings.best_first():
                if mask is None or mask[ordinal]:
                    found.append(segment.entry_id(ordinal))
                    if len(found) == MAX_READ:
                        return found
    return found


def _texts(place: Place, view: View, entry_ids: list[bytes]) -> dict[bytes, str]:
    """Return the text of some entries, with the headings they stand under."""
    rows = {entry_id: view.rows_of(entry_id) for entry_id in dict.fromkeys(entry_ids)}
    kbids = {entry_id: kbid_of_entry(entry_id) for entry_id in rows}
    origins = ((kbids[e], d.source, d.blob) for e, places in rows.items() for r in places for d in [view.document(r.doc)])
    contents = read_contents(place, list(dict.fromkeys(kbids.values())), lambda: origins)
    texts = {}
    for entry_id, places in rows.items():
        section = contents.get(kbids[entry_id])
        text = section.content.decode("utf-8", "replace")[:MAX_TEXT] if section is not None else ""
        headings = [h for row in places[:1] for h in (view.document(row.doc).title, *row.heading)]
        texts[entry_id] = "\n".join([*headings, text])
    return texts
