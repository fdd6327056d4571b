"""The short way through `git kb search`: plain words, a current view, no argparse and no git library.

Anything out of the ordinary returns None, and the long way (`cli/search.py`) does the same work.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.cli.env import Env
    from git_kb.index.view import ViewDocument


def quick_search(arguments: list[str], env: Env) -> int | None:
    """Run `git kb search WORDS...

    [--limit N]`, or return None when this is not such a command or the view has to be made.
    """
    parsed = parse_quickly(arguments)
    if parsed is None:
        return None
    words, limit = parsed
    place = env.place
    if place.work_tree is None:
        return None
    from git_kb.index.pagefile import DamagedSegment
    from git_kb.output.hits import more_note, notes, nothing_found, render_hits
    from git_kb.search.find import find
    from git_kb.store.sourcestate import worktree_states
    from git_kb.store.viewfile import current_view

    opened = current_view(place)
    if opened is None:
        return None
    sources: dict[str, bytes] = {}

    def states(documents: list[ViewDocument]) -> dict[str, str]:
        return worktree_states(place, documents, sources)

    try:
        answer = find(place, *opened, " ".join(words), limit, states=states, sources=sources)
    except DamagedSegment:
        return None
    for note in notes(answer):
        env.warn(note)
    if not answer.found:
        env.note(nothing_found("the work tree", answer.query, opened[0].n_live))
        return 1
    env.out.write(render_hits(answer, place.prefix, env.colour()))
    if note := more_note(answer):
        env.note(note)
    return 0


def parse_quickly(arguments: list[str]) -> tuple[list[str], int] | None:
    """Return (words, limit) of a plain command line, None for any other."""
    words: list[str] = []
    limit = 10
    at = 0
    while at < len(arguments):
        word = arguments[at]
        if word == "--limit" and at + 1 < len(arguments) and _is_number(arguments[at + 1]):
            limit = int(arguments[at + 1])
            at += 2
        elif word.startswith("-") or not word:
            return None
        else:
            words.append(word)
            at += 1
    return (words, limit) if words and limit else None


def _is_number(text: str) -> bool:
    return text.isdecimal() and text.isascii() and len(text) < 10
