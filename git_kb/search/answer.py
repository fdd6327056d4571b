"""Cited answers: the sentences of the best sections that say most about the question, word for word.

Nothing is composed that does not stand in a section. Confidence, gaps and what to ask next come from the
ranking alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from git_kb.index.segments import Segments
from git_kb.index.view import View, ViewRow
from git_kb.repo.discover import Place
from git_kb.search.explore import N_ANSWER_SECTIONS, Suggestion, suggest
from git_kb.search.find import Found, find
from git_kb.search.passages import CodeBlock, Sentence, code_near, split_sentences
from git_kb.search.query import Query, parse_query
from git_kb.search.question import content_words
from git_kb.search.rank import search
from git_kb.search.score import DEFAULTS
from git_kb.text.words import terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from git_kb.search.find import States
    from git_kb.search.score import Parameters

N_SECTIONS = 10
N_SENTENCES = 4
N_CODE_BLOCKS = 2
# From where on an answer's confidence is high and medium: 9 and 8 in 10 judged questions had a relevant hit in the first three.
HIGH, MEDIUM = 0.4, 0.2


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A section the answer rests on. source_state: as in Found."""

    citation: str
    kbid: str
    source: str
    source_state: str
    line: int
    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class Gap:
    """A word of the question that nothing shown in the answer covers.

    looked_for: its index terms; not_found: those that the answer lacks. n_sections: how many sections of the knowledge base
    have one of these (`at_least`: or more); best: citation of the best of them, "" without one.
    """

    word: str
    looked_for: tuple[str, ...]
    not_found: tuple[str, ...]
    n_sections: int
    at_least: bool
    best: str


@dataclass(frozen=True, slots=True)
class CitedAnswer:
    """An answer. confidence: "high", "medium" or "low", or "none" without sentences; reason says why.

    confidence_score: the share of the question's words that the answer covers times the confidence of its best hit, from 0 to 1
    (docs/ranking.md); the word follows from it.
    """

    question: str
    sentences: tuple[Sentence, ...]
    code: tuple[CodeBlock, ...]
    sources: tuple[Excerpt, ...]
    confidence: str
    confidence_score: float
    reason: str
    gaps: tuple[Gap, ...]
    explore: tuple[Suggestion, ...]


def answer(
    place: Place,
    view: View,
    segments: Segments,
    question: str,
    states: States | None = None,
    sources: Mapping[str, bytes] | None = None,
    parameters: Parameters = DEFAULTS,
) -> CitedAnswer:
    """Return the cited answer to a question. Reads at most 20 sections. states, sources: as in `find`."""
    found = find(place, view, segments, question, N_SECTIONS, parameters=parameters, states=states, sources=sources).found
    hits = [f for f in found if f.content is not None]
    rules = view.rules
    asked = content_words(question, rules)
    weights = _weights(segments, view, asked)
    sentences, used = _choose(hits, weights)
    code = _code(used, sentences, weights)
    missing = _missing(
        asked, question, rules, [*(s.text for s in sentences), *(b.text for b in code), *(_heading(f) for f in used)]
    )
    gaps, rows = _gaps(view, segments, asked, missing)
    confidence, reason = _confidence(used, asked, gaps) if sentences else (0.0, "no section has a sentence on it")
    return CitedAnswer(
        question=question,
        sentences=tuple(sentences),
        code=tuple(code),
        sources=tuple(_excerpt(f) for f in used),
        confidence=level(confidence) if sentences else "none",
        confidence_score=round(confidence, 4),
        reason=reason,
        gaps=gaps,
        explore=suggest(place, view, segments, question, hits, used, rows),
    )


def _weights(segments: Segments, view: View, asked: dict[str, list[list[str]]]) -> dict[str, float]:
    """Return term -> idf for the question's terms that occur, in the question's order."""
    n = max(view.n_live, 1)
    weights = {}
    for term in dict.fromkeys(t for readings in asked.values() for ts in readings for t in ts):
        df = sum(p.df for s in segments if (p := s.postings(term)) is not None)
        if df:
            weights[term] = log(1 + max(n - df, 0) / (df + 0.5)) + 0.1
    return weights


def _choose(hits: list[Found], weights: dict[str, float]) -> tuple[list[Sentence], list[Found]]:
    """Return the sentences of the answer, best section first and in reading order within it, and the sections
    they come from.
    """
    if not hits or not weights:
        return [], []
    total = sum(weights.values())
    rated = []
    for rank, found in enumerate(hits[:N_ANSWER_SECTIONS]):
        heading = set(terms(" ".join(found.row.heading[-1:]), found.rules))
        for order, sentence in enumerate(split_sentences(found)):
            held = set(terms(sentence.text, found.rules)) & weights.keys()
            if not held:
                continue
            # The heading says what its sentences are about, so its terms count half; the first sentences of
            # a section define, later ones detail.
            value = sum(weights[t] for t in held) + 0.5 * sum(weights[t] for t in heading & weights.keys() - held)
            value = value / total * (found.hit.score / hits[0].hit.score) * (1.0 if order == 0 else 0.9 if order < 3 else 0.8)
            rated.append((value, -rank, -order, sentence, found))
    rated.sort(key=lambda r: r[:3], reverse=True)
    # Copies of a text (a chapter and its printed form) would say the same twice.
    unlike = list({tuple(terms(r[3].text)): r for r in reversed(rated)}.values())[::-1]
    chosen = [r for r in unlike[:N_SENTENCES] if r[0] >= 0.35 * rated[0][0]]
    chosen.sort(key=lambda r: (-r[1], -r[2]))
    used = list({id(r[4]): r[4] for r in chosen}.values())
    return [r[3] for r in chosen], used


def _code(used: list[Found], sentences: list[Sentence], weights: dict[str, float]) -> list[CodeBlock]:
    """Return up to N_CODE_BLOCKS code blocks that belong to the sentences, one a section at most, best section first."""
    blocks: list[CodeBlock] = []
    for found in used:
        block = code_near(found, [s for s in sentences if s.citation == found.citation], weights)
        if block is not None and len(blocks) < N_CODE_BLOCKS and all(block.text.split() != b.text.split() for b in blocks):
            blocks.append(block)
    return blocks


def _missing(asked: dict[str, list[list[str]]], question: str, rules: Sequence[str], texts: list[str]) -> dict[str, list[str]]:
    """Return word -> its terms that are not shown, for the words of the question that the answer does not cover.

    texts: what is shown, that is sentences, code and the headings they stand under. A word is covered when more than half of
    its terms are in them: of an identifier that is itself or its parts, of a run of Chinese most of its characters and pairs.
    """
    shown = {t for r in rules for t in terms("\n".join(texts), r)}
    for prefix in parse_query(question, rules).prefixes:
        if any(t.startswith(prefix) for t in shown):
            shown.update(t for r in rules for t in terms(prefix, r))
    missing = {}
    for word, readings in asked.items():
        left = [[t for t in ts if t not in shown] for ts in readings]
        if all(2 * len(some) >= len(ts) for some, ts in zip(left, readings, strict=True)):
            missing[word] = list(dict.fromkeys(t for some in left for t in some))
    return missing


def _gaps(
    view: View, segments: Segments, asked: dict[str, list[list[str]]], missing: dict[str, list[str]]
) -> tuple[tuple[Gap, ...], list[tuple[str, ViewRow]]]:
    """Return the gaps, and of those that some section could fill (word, row of the best one)."""
    gaps, rows = [], []
    for word, left in missing.items():
        query = Query(word)
        query.weights = dict.fromkeys(left, 1)
        result = search(segments, view, query, 1)
        row = next((r for hit in result.hits for r in view.rows_of(hit.entry_id)), None)
        best = f"{view.document(row.doc).docid}#{row.chunk}" if row else ""
        looked_for = tuple(dict.fromkeys(t for ts in asked[word] for t in ts))
        gaps.append(Gap(word, looked_for, tuple(left), result.total, not result.total_is_exact, best))
        if row:
            rows.append((word, row))
    return tuple(gaps), rows


def _heading(found: Found) -> str:
    """Return the headings a hit stands under, from the title of its document on."""
    title = found.document.title
    return " > ".join(found.row.heading if found.row.heading[:1] == (title,) else (title, *found.row.heading))


def _excerpt(found: Found) -> Excerpt:
    text = found.snippet.text if found.snippet else ""
    return Excerpt(found.citation, found.kbid, found.document.source, found.source_state, found.row.line, _heading(found), text)


def _confidence(used: list[Found], asked: dict[str, list[list[str]]], gaps: tuple[Gap, ...]) -> tuple[float, str]:
    """Return the confidence, and why: how much of the question the answer covers, and how many documents it comes from."""
    n_documents = len({f.document.docid for f in used})
    n_words = max(len(asked), 1)
    share = (n_words - len(gaps)) / n_words
    strongest = max((f.confidence for f in used), default=0.0)
    sources = f"{n_documents} document{'s' * (n_documents != 1)}"
    return share * strongest, f"based on {sources}; it has {n_words - len(gaps)} of {n_words} words of the question"


def level(confidence: float) -> str:
    """Return the word for an answer's confidence."""
    return "high" if confidence >= HIGH else "medium" if confidence >= MEDIUM else "low"
