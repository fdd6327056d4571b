"""Cited answers: the sentences of the best sections that say most about the question, word for word.

Nothing is composed that does not stand in a section. Confidence, gaps and what to ask next come from the
ranking alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from git_kb.index.segments import Segments
from git_kb.index.view import View
from git_kb.repo.discover import Place
from git_kb.search.find import Found, find
from git_kb.text.fields import FENCE_LINE
from git_kb.text.words import terms, words

N_SECTIONS = 10
N_ANSWER_SECTIONS = 4
N_SENTENCES = 4
MAX_SENTENCE = 600
# English words that ask or join but name nothing. They are searched for like others; only gaps and coverage
# leave them out.
QUESTION_WORDS = frozenset({
    "a", "about", "an", "and", "any", "are", "as", "at", "be", "been", "between", "but", "by", "can", "could", "did",
    "do", "does", "for", "from", "had", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "many", "me",
    "much", "my", "of", "on", "or", "our", "shall", "should", "so", "some", "than", "that", "the", "their", "them",
    "then", "there", "these", "they", "this", "to", "us", "was", "we", "were", "what", "when", "where", "which", "who",
    "whom", "whose", "why", "will", "with", "would", "you", "your",
})  # fmt: skip
_BREAK = re.compile(r"(?:(?<=[.!?])|(?<=[.!?][\"')\]])|(?<=[.!?][\"')\]]{2}))\s+(?=[\"'(\[`*_]?[^\Wa-z_])|(?<=[。！？])")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")
_MARKUP = re.compile(r"[ \t]*(?:#{1,6}(?:[ \t]|$)|\||>|<[a-zA-Z/!]|\[[^\]]+\]:|[-=*_]{3,}[ \t]*$|:::|\{\{)")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a section, verbatim.

    start, end: characters in the section's content; line: 1-based in the source.
    """

    text: str
    start: int
    end: int
    line: int
    citation: str
    source: str


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A section the answer rests on."""

    citation: str
    kbid: str
    source: str
    line: int
    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class CitedAnswer:
    """An answer. confidence: "high", "medium" or "low", or "none" without sentences; reason says why.

    gaps: words of the question that nothing covers. explore: (question, reason).
    """

    question: str
    sentences: tuple[Sentence, ...]
    sources: tuple[Excerpt, ...]
    confidence: str
    reason: str
    gaps: tuple[str, ...]
    explore: tuple[tuple[str, str], ...]


def answer(place: Place, view: View, segments: Segments, question: str) -> CitedAnswer:
    """Return the cited answer to a question."""
    hits = [f for f in find(place, view, segments, question, N_SECTIONS).found if f.content is not None]
    asked = content_words(question)
    weights = _weights(segments, view, asked)
    sentences, used = _choose(hits, weights)
    covered = {t for f in used for t in f.hit.terms}
    gaps = tuple(w for w, ts in asked.items() if not covered & set(ts))
    confidence, reason = _confidence(used, asked, gaps)
    return CitedAnswer(
        question=question,
        sentences=tuple(sentences),
        sources=tuple(_excerpt(f) for f in used),
        confidence=confidence if sentences else "none",
        reason=reason if sentences else "no section has a sentence on it",
        gaps=gaps,
        explore=_explore(hits, used, gaps, view),
    )


def content_words(question: str) -> dict[str, list[str]]:
    """Return the words of a question that name something, each with its terms."""
    return {w: terms(w) for w in words(question) if w.lower() not in QUESTION_WORDS and terms(w)}


def _weights(segments: Segments, view: View, asked: dict[str, list[str]]) -> dict[str, float]:
    """Return term -> idf for the question's terms that occur."""
    from math import log

    n = max(view.n_live, 1)
    weights = {}
    for term in {t for ts in asked.values() for t in ts}:
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
        heading = set(terms(" ".join(found.row.heading[-1:])))
        for order, sentence in enumerate(split_sentences(found)):
            held = set(terms(sentence.text)) & weights.keys()
            if not held:
                continue
            # The heading says what its sentences are about, so its terms count half; the first sentences of
            # a section define, later ones detail.
            value = sum(weights[t] for t in held) + 0.5 * sum(weights[t] for t in heading & weights.keys() - held)
            value = value / total * (found.hit.score / hits[0].hit.score) * (1.0 if order == 0 else 0.9 if order < 3 else 0.8)
            rated.append((value, -rank, -order, sentence, found))
    rated.sort(key=lambda r: r[:3], reverse=True)
    chosen = [r for r in rated[:N_SENTENCES] if r[0] >= 0.35 * rated[0][0]]
    chosen.sort(key=lambda r: (-r[1], -r[2]))
    used = list({id(r[4]): r[4] for r in chosen}.values())
    return [r[3] for r in chosen], used


def split_sentences(found: Found) -> list[Sentence]:
    """Return the sentences of a section's prose.

    no headings, code, tables, quotes or raw HTML. Each is a verbatim span.
    """
    content = found.content or ""
    sentences = []
    for start, end in _prose_spans(content):
        at = start
        for piece in _BREAK.split(content[start:end]):
            begin = content.index(piece, at) if piece else at
            at = begin + len(piece)
            text = piece.strip()
            if not 0 < len(text) <= MAX_SENTENCE or not any(c.isalnum() for c in text):
                continue
            begin += piece.index(text)
            line = found.row.line + content.count("\n", 0, begin)
            sentences.append(Sentence(text, begin, begin + len(text), line, found.citation, found.document.source))
    return sentences


def _prose_spans(content: str) -> list[tuple[int, int]]:
    """Return (start, end) of paragraphs and list items."""
    spans: list[tuple[int, int]] = []
    fence = ""
    start = -1
    at = 0
    for line in content.split("\n"):
        end = at + len(line)
        marks = FENCE_LINE.match(line)
        item = _ITEM.match(line)
        breaks = not line.strip() or marks or fence or item or _MARKUP.match(line) or line.startswith(("    ", "\t"))
        if breaks and start >= 0:
            spans.append((start, at - 1))
            start = -1
        if marks and (not fence or (marks[1][0] == fence[0] and len(marks[1]) >= len(fence))):
            fence = "" if fence else marks[1]
        elif item and not fence:
            start = at + item.end()
        elif not breaks and start < 0:
            start = at
        at = end + 1
    if start >= 0:
        spans.append((start, len(content)))
    return spans


def _excerpt(found: Found) -> Excerpt:
    heading = " > ".join(found.row.heading) or found.document.title
    text = found.snippet.text if found.snippet else ""
    return Excerpt(found.citation, found.kbid, found.document.source, found.row.line, heading, text)


def _confidence(used: list[Found], asked: dict[str, list[str]], gaps: tuple[str, ...]) -> tuple[str, str]:
    """Return the level and why.

    how much of the question the cited sections cover, and how many documents they come from.
    """
    n_documents = len({f.document.docid for f in used})
    n_words = max(len(asked), 1)
    share = (n_words - len(gaps)) / n_words
    strongest = max((f.confidence for f in used), default=0.0)
    sources = f"{n_documents} document{'s' * (n_documents != 1)}"
    reason = f"based on {sources}; the cited sections hold {n_words - len(gaps)} of {n_words} words of the question"
    if share >= 0.75 and strongest >= 0.5 and (n_documents > 1 or strongest >= 0.7):
        return "high", reason
    return ("medium" if share >= 0.5 and strongest >= 0.3 else "low"), reason


def _explore(hits: list[Found], used: list[Found], gaps: tuple[str, ...], view: View) -> tuple[tuple[str, str], ...]:
    """Return up to five follow-up queries: gaps first, then what stands near the answer but was not used."""
    found: list[tuple[str, str]] = []
    if gaps and used:
        found.append((f"{' '.join(gaps)} {used[0].document.title}", f"nothing cited covers {', '.join(gaps)}"))
    shown = {f.row.heading[-1:] for f in used}
    for hit in hits:
        if hit in used or hit.row.heading[-1:] in shown or len(found) >= 5:
            continue
        shown.add(hit.row.heading[-1:])
        heading = hit.row.heading[-1] if hit.row.heading else hit.document.title
        about = f"{heading} in {hit.document.title}" if heading != hit.document.title else heading
        found.append((f"What about {about}?", f"{hit.citation} matches too"))
    return tuple(found)
