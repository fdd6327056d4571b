"""git kb query: answer a question with citations.

The answer is made of sentences that stand word for word in the best sections, each with its citation, file
and line, and of the code that belongs to them, at most 12 lines of a block. A word of the question that stands in
nothing of this nor in the headings above it is listed under Gaps. Explore Next has commands that find more.
"""

from __future__ import annotations

import argparse

from git_kb.cli.env import Env

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.index.segments import Segments
    from git_kb.index.view import View, ViewDocument
    from git_kb.search.answer import CitedAnswer

SUMMARY = "answer a question with citations"
# A question is asked in many ways to find what to suggest, so a long one takes seconds.
MAX_QUESTION = 10_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from git_kb.cli.parser import add_view_arguments

    add_view_arguments(parser)
    parser.add_argument("--json", action="store_true", help="the same as one JSON document")
    parser.add_argument("-q", "--quiet", action="store_true", help="no notes on standard error")
    parser.add_argument("question", nargs="+", help=f"the question; at most {MAX_QUESTION} characters of it are read")


def run(args: argparse.Namespace, env: Env) -> int:
    from git_kb.cli.search import agreed_or_default
    from git_kb.index.pagefile import DamagedSegment
    from git_kb.output.answers import ASK, answer_data, render_answer
    from git_kb.search.answer import answer
    from git_kb.store.freshness import with_fresh_view
    from git_kb.store.sourcestate import worktree_states
    from git_kb.store.state import default_state
    from git_kb.store.viewfile import current_view

    env.quiet = args.quiet or args.json
    question = " ".join(args.question)
    if len(question) > MAX_QUESTION:
        env.warn(f"of the question's {len(question)} characters, the first {MAX_QUESTION} are read")
        question = question[:MAX_QUESTION]
    parameters = agreed_or_default(env)
    opened = None if args.at or args.cached or env.place.work_tree is None else current_view(env.place)
    sources: dict[str, bytes] = {}

    def states(documents: list[ViewDocument]) -> dict[str, str]:
        return worktree_states(env.place, documents, sources)

    try:
        result = None if opened is None else answer(env.place, *opened, question, states, sources, parameters)
    except DamagedSegment:
        result = None
    if result is None:
        from git_kb.store.staleness import source_states

        state = default_state(env.place, args.at, args.cached)

        def look(view: View, segments: Segments) -> CitedAnswer:
            return answer(env.place, view, segments, question, lambda d: source_states(env.repo, state, d), None, parameters)

        result = with_fresh_view(env.repo, state, env.hooks("query"), look)
    if args.json:
        from git_kb.output.jsontext import json_text

        env.out.write(json_text(answer_data(result), indent=1) + "\n")
    else:
        env.out.write(render_answer(result, env.place.prefix, _asking(args, ASK)))
    return 0 if result.sentences else 1


def _asking(args: argparse.Namespace, command: str) -> str:
    """Return the command that asks the same state of the knowledge base."""
    from shlex import quote

    return f"{command} --at {quote(args.at)}" if args.at else f"{command} --cached" if args.cached else command
