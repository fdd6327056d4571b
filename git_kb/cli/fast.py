"""The short way through `git kb search`: plain words, a current view, no argparse and no git library.

Anything out of the ordinary returns None, and the long way (`cli/search.py`) does the same work.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.cli.env import Env
    from git_kb.index.view import ViewDocument


def quick_search(arguments: list[str], env: Env) -> int | None:
    """Run `git kb search WORDS... [--limit N] [--at REV]`; None when this is no such command or the view has to be made."""
    parsed = parse_quickly(arguments)
    if parsed is None:
        return None
    words, limit, rev = parsed
    place = env.place
    if place.work_tree is None:
        # Where there is no work tree, HEAD stands in for it.
        rev = rev or "HEAD"
    from git_kb.errors import KbError
    from git_kb.index.pagefile import DamagedSegment
    from git_kb.output.hits import LISTED, more_note, notes, nothing_found, render_hits
    from git_kb.search.agreed import agreed_parameters
    from git_kb.search.find import Scope, find
    from git_kb.store.viewfile import current_view

    try:
        parameters = agreed_parameters(place)
    except KbError:
        return None
    trees = None
    if rev:
        from git_kb.store.treestate import resolve_trees

        trees = resolve_trees(place, rev)
        if trees is None:
            return None
    opened = current_view(place, trees[0] if trees else None)
    if opened is None:
        return None
    sources: dict[str, bytes] = {}

    def states(documents: list[ViewDocument]) -> dict[str, str]:
        if trees:
            from git_kb.store.treestate import tree_states

            return tree_states(place, trees[1], documents, sources)
        from git_kb.store.sourcestate import worktree_states

        return worktree_states(place, documents, sources)

    try:
        scope = Scope(rev or "HEAD", corrects=True, lists=True)
        answer = find(place, *opened, " ".join(words), limit, parameters=parameters, states=states, sources=sources, scope=scope)
    except DamagedSegment:
        return None
    for note in notes(answer):
        env.warn(note)
    if answer.listed and answer.total:
        env.note(LISTED)
    if not answer.found:
        env.note(nothing_found(f"'{rev}'" if rev else "the work tree", answer.query, opened[0].n_live))
        return 1
    env.out.write(render_hits(answer, place.prefix, env.colour(), link=None if rev else env.links()))
    if note := more_note(answer):
        env.note(note)
    return 0


def parse_quickly(arguments: list[str]) -> tuple[list[str], int, str] | None:
    """Return (words, limit, revision or "") of a plain command line, None for any other."""
    words: list[str] = []
    limit, rev = 10, ""
    at = 0
    while at < len(arguments):
        word = arguments[at]
        if word == "--limit" and at + 1 < len(arguments) and _is_number(arguments[at + 1]):
            limit = int(arguments[at + 1])
            at += 2
        elif word == "--at" and at + 1 < len(arguments) and arguments[at + 1][:1] not in ("", "-") and not rev:
            rev = arguments[at + 1]
            at += 2
        elif word.startswith("-") or not word:
            return None
        else:
            words.append(word)
            at += 1
    return (words, limit, rev) if words and limit else None


def _is_number(text: str) -> bool:
    return text.isdecimal() and text.isascii() and len(text) < 10
