"""Cited answers as Markdown and as data."""

from __future__ import annotations

import re
from dataclasses import asdict

from git_kb.output.hits import shown_source, source_mark
from git_kb.output.terminal import visible, visible_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.search.answer import CitedAnswer, Gap
    from git_kb.search.passages import CodeBlock, Passage

ASK = "git kb query"


def render_answer(answer: CitedAnswer, prefix: bytes = b"", ask: str = ASK) -> str:
    """Return an answer in the format of the wiki: Answer, Sources, Confidence, Gaps, Explore Next.

    ask: the command that asks the same knowledge base.
    """
    lines = [f"## Answer: {_line(answer.question)}", ""]
    if not answer.sentences:
        lines += ["The knowledge base has no sentence that answers this.", ""]
    code = {b.citation: b for b in answer.code}
    last = {s.citation: s for s in answer.sentences}
    marks = {s.citation: source_mark(s.source_state) for s in answer.sources}
    for sentence in answer.sentences:
        lines += [_line(sentence.text), _source_line(sentence, prefix) + marks[sentence.citation], ""]
        if sentence.citation in code and sentence is last[sentence.citation]:
            lines += _code_lines(code[sentence.citation], prefix, marks[sentence.citation])
    lines += ["### Sources", ""]
    for source in answer.sources:
        place = f"({shown_source(source.source, prefix)}:{source.line}){marks[source.citation]}"
        lines.append(f"- {visible(source.citation)} {place} — {visible(source.heading)}")
        lines.append(f"  > {visible(source.text)}")
    if not answer.sources:
        lines.append("none")
    lines += ["", "### Confidence", "", f"{answer.confidence} — {answer.reason}", "", "### Gaps", ""]
    lines += [_gap_line(gap) for gap in answer.gaps] or ["none seen"]
    lines += ["", "### Explore Next", ""]
    lines += [f"- {_command(s.question, ask)} — {visible(s.reason)} ({visible(s.citation)})" for s in answer.explore] or [
        "- nothing near it"
    ]
    return "\n".join(lines) + "\n"


def _source_line(passage: Passage, prefix: bytes) -> str:
    return f"— {visible(passage.citation)} ({shown_source(passage.source, prefix)}:{passage.line})"


def _code_lines(block: CodeBlock, prefix: bytes, mark: str) -> list[str]:
    longest = max((len(run) for run in re.findall("`+", block.text)), default=0)
    fence = "`" * max(3, longest + 1)
    n_shown = block.text.count("\n") + 1
    part = f", {n_shown} of {block.n_lines} lines" if n_shown < block.n_lines else ""
    return [f"{fence}{visible_line(block.info)}", visible(block.text), fence, _source_line(block, prefix) + part + mark, ""]


def _gap_line(gap: Gap) -> str:
    """Say what was looked for, what of it is missing, and where it could be found."""
    looked = ", ".join(f"'{t}'" for t in gap.looked_for)
    lost = ", ".join(f"'{t}'" for t in gap.not_found)
    missing = "not found" if gap.looked_for == gap.not_found else f"{lost} not found"
    if gap.best:
        one = gap.n_sections == 1 and not gap.at_least
        many = f"{gap.n_sections}{' or more' * gap.at_least} section{'s' * (not one)}"
        where = f"{missing} in what is quoted above; {many} of the knowledge base {'has' if one else 'have'} it"
        where += f", first {gap.best}"
    else:
        where = f"{missing} in any section of the knowledge base"
    return f"- {visible(f'{gap.word}: looked for {looked}; {where}')}"


def _line(text: str) -> str:
    return visible(" ".join(text.split()))


def _command(question: str, ask: str) -> str:
    """Return a command for a shell. Where double quotes would not keep the question as it is, single ones do."""
    from shlex import quote

    question = visible_line(question)
    return f"`{ask} " + (quote(question) if re.search(r'["$`\\!]', question) else f'"{question}"') + "`"


def answer_data(answer: CitedAnswer) -> dict[str, object]:
    """Return an answer as plain data."""
    data = asdict(answer)
    for source in data["sources"]:
        source["source_state"] = source["source_state"] or None
    return data
