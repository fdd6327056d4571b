"""Cited answers as Markdown and as data."""

from __future__ import annotations

from dataclasses import asdict

from git_kb.output.hits import shown_source
from git_kb.output.terminal import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.search.answer import CitedAnswer


def render_answer(answer: CitedAnswer, prefix: bytes = b"") -> str:
    """Return an answer in the format of the wiki: Answer, Sources, Confidence, Gaps, Explore Next."""
    lines = [f"## Answer: {visible(' '.join(answer.question.split()))}", ""]
    if not answer.sentences:
        lines += ["The knowledge base has no sentence that answers this.", ""]
    for sentence in answer.sentences:
        text = visible(" ".join(sentence.text.split()))
        lines += [text, f"— {visible(sentence.citation)} ({shown_source(sentence.source, prefix)}:{sentence.line})", ""]
    lines += ["### Sources", ""]
    for source in answer.sources:
        lines.append(
            f"- {visible(source.citation)} ({shown_source(source.source, prefix)}:{source.line}) — {visible(source.heading)}"
        )
        lines.append(f"  > {visible(source.text)}")
    if not answer.sources:
        lines.append("none")
    lines += ["", "### Confidence", "", f"{answer.confidence} — {answer.reason}", "", "### Gaps", ""]
    lines.append(f"nothing cited covers: {visible(', '.join(answer.gaps))}" if answer.gaps else "none seen")
    lines += ["", "### Explore Next", ""]
    lines += [f"- {visible(question)} — {visible(reason)}" for question, reason in answer.explore] or ["- nothing near it"]
    return "\n".join(lines) + "\n"


def answer_data(answer: CitedAnswer) -> dict[str, object]:
    """Return an answer as plain data."""
    data = asdict(answer)
    data["explore"] = [{"question": q, "reason": r} for q, r in answer.explore]
    return data
