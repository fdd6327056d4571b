"""The parts of a score as text and as data."""

from __future__ import annotations

from dataclasses import asdict

from git_kb.output.terminal import visible_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from git_kb.search.explain import Explanation, FieldPart

WIDTH = 100
MAX_NAME = 18


def render_explanation(explanation: Explanation) -> str:
    """Return lines of at most WIDTH columns, with four decimals: the sum, then a line a term and a line a pair."""
    e = explanation
    parts = f"words {e.words:.4f} + headings {e.zones:.4f} + nearness {e.proximity:.4f}"
    if e.bonus:
        parts += f" + as written {e.bonus:.4f}"
    lines = [f"   {e.score:.4f} = {parts}; at most {e.best_possible:.4f}"]
    for term in e.terms:
        times = f" x {term.qtf:.3g}" if term.qtf != 1 else ""
        zone = f" + {term.zone:.4f}" if term.zone else ""
        where = f"in {term.df} of {e.n_live}, idf {term.idf:.2f}{times}; {_where(term.fields)}"
        lines.append(f"     {_name(term.term):{MAX_NAME}} {term.contribution:.4f}{zone:9}  {where}")
    for pair in e.pairs:
        name = " ~ ".join([_name(term, MAX_NAME // 2 - 2) for term in pair.terms])
        lines.append(f"     {name:{MAX_NAME}} {pair.contribution:.4f}           at most {pair.most:.4f}; {_where(pair.fields)}")
    if e.bonus:
        names = ", ".join([_name(literal) for literal in e.literals])
        lines.append(f"     {'as written':{MAX_NAME}} {e.bonus:.4f}           {names}")
    return "".join([line[:WIDTH] + "\n" for line in lines])


def explanation_data(explanation: Explanation) -> dict[str, object]:
    """Return the explanation as data; its numbers are not rounded, so that the parts add up to the score."""
    e = explanation
    return {**asdict(e), "words": e.words, "zones": e.zones, "proximity": e.proximity}


def _where(parts: Sequence[FieldPart]) -> str:
    return ", ".join([f"{part.field} {part.tf:.4g}/{part.length}" for part in parts])


def _name(term: str, width: int = MAX_NAME) -> str:
    shown = visible_line(term)
    return shown if len(shown) <= width else shown[: width - 1] + "…"
