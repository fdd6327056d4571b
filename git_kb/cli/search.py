"""git kb search: rank the sections that match.

Words are looked for in any order; "quoted words" must stand together, "with a gap"~3 near each other; -word excludes;
word* matches beginnings; 'a OR b' asks for one of the two; heading:, body: and code: say where a word has to stand; tag:,
type:, path:, doc: and tier: choose documents. Any text is a valid query; docs/query-language.md has it all. Words that
begin with two dashes go behind a '--'. Brings the index up to date first when it has to. A hit whose file is no longer
what was ingested is marked "(changed since ingest)" or "(source gone)"; in JSON, "source_state" is "current", "changed"
or "gone", and null where that was not looked at (URLs, more than 100 files or 32 MB).
"""

from __future__ import annotations

import argparse

from git_kb.cli.env import Env

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.index.segments import Segments
    from git_kb.index.view import View, ViewDocument
    from git_kb.search.find import Answer
    from git_kb.search.score import Parameters

SUMMARY = "rank the sections that match"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from git_kb.cli.parser import add_view_arguments, number

    add_view_arguments(parser)
    parser.add_argument("--limit", type=number, default=10, metavar="N", help="at most N hits (default: 10)")
    parser.add_argument("--offset", type=number, default=0, metavar="N", help="leave out the first N hits")
    parser.add_argument("--tag", action="append", default=[], metavar="TAG", help="only documents with this tag (repeatable)")
    parser.add_argument("--type", default="", metavar="MIME", help="only sections of this type, or of types that begin so")
    parser.add_argument("--path", default="", metavar="PATH", help="only sources at or below this path")
    parser.add_argument("--doc", default="", metavar="DOCID", help="only documents whose docid begins so")
    parser.add_argument(
        "--weights", metavar="FIELD=W,...", help="field weights of BM25F (default: heading=2,body=1,code=1); k1 and b are taken too"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("-q", "--quiet", action="store_true", help="no notes on standard error")
    parser.add_argument("word", nargs="+", help="the query")


def run(args: argparse.Namespace, env: Env) -> int:
    from git_kb.cli.parser import BadArguments
    from git_kb.output.hits import hits_data, more_note, notes, nothing_found, render_hits
    from git_kb.search.find import Filters, find
    from git_kb.store.freshness import with_fresh_view
    from git_kb.store.staleness import source_states
    from git_kb.store.state import default_state

    if args.limit < 1 or args.offset < 0:
        raise BadArguments("--limit must be at least 1 and --offset at least 0")
    env.quiet = args.quiet or args.json
    parameters = parse_weights(args.weights)
    state = default_state(env.place, args.at, args.cached)
    filters = Filters(tuple(args.tag), args.type, source_prefix(args.path, env), args.doc) or None
    text = " ".join(args.word)

    def states(documents: list[ViewDocument]) -> dict[str, str]:
        return source_states(env.repo, state, documents)

    def look(view: View, segments: Segments) -> tuple[Answer, int]:
        return find(env.place, view, segments, text, args.limit, args.offset, parameters, filters, states=states), view.n_live

    answer, n_live = with_fresh_view(env.repo, state, env.hooks("search"), look)
    for note in notes(answer):
        env.warn(note)
    if args.json:
        import json

        from git_kb.store.history import pool_dates

        created = pool_dates(env.place, [f.kbid for f in answer.found])
        env.out.write(json.dumps(hits_data(answer, created), ensure_ascii=False, indent=1) + "\n")
        return 0 if answer.found else 1
    env.out.write(render_hits(answer, env.place.prefix, env.colour(), args.offset))
    if answer.found:
        if note := more_note(answer, args.offset):
            env.note(note)
        return 0
    env.note(nothing_found(str(state), answer.query, n_live, answer.total))
    return 1


def source_prefix(typed: str, env: Env) -> str:
    """Return how the sources begin that a path as typed stands for: it counts from here, as git takes paths."""
    from git_kb.ingest.select import inside_path
    from git_kb.model.source import source_of_path

    if not typed or "://" in typed or env.place.work_tree is None:
        return typed
    inside = inside_path(env.place, typed)
    if inside is None:
        from git_kb.cli.parser import BadArguments

        raise BadArguments(f"'{typed}' is outside of this repository")
    return source_of_path(inside) if inside else ""


# Options of search that take a value, so that what follows them is no word.
VALUED = ("--at", "--limit", "--offset", "--tag", "--type", "--path", "--doc", "--weights")
SHORT = ("-h", "-q")


def prepare(arguments: list[str]) -> list[str]:
    """Return the command line with the query behind a `--`, since a `-word` of the query must not pass for an option."""
    options: list[str] = []
    words: list[str] = []
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            words += rest
            break
        if argument.startswith("--") or argument in SHORT:
            options.append(argument)
            if argument in VALUED and rest:
                options.append(rest.pop(0))
        else:
            words.append(argument)
    return [*options, "--", *words] if words else options


def parse_weights(text: str | None) -> Parameters:
    """Return the ranking parameters that `heading=2,body=1,code=1,k1=1.2,b=0.75` means. Raises BadArguments."""
    from git_kb.cli.parser import BadArguments
    from git_kb.index.segment import FIELD_NAMES
    from git_kb.search.score import DEFAULTS, Parameters

    if not text:
        return DEFAULTS
    weights = dict(zip(FIELD_NAMES, DEFAULTS.weights, strict=True))
    b, k1 = list(DEFAULTS.b), DEFAULTS.k1
    for item in text.split(","):
        name, _, value = item.partition("=")
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if not 0 <= number < 1e6 or (name == "b" and number > 1) or name not in (*weights, "b", "k1"):
            raise BadArguments(f"'{item}' is no weight", "such are: heading=2,body=1,code=1,k1=1.2,b=0.75")
        if name == "k1":
            k1 = number
        elif name == "b":
            b = [number] * len(b)
        else:
            weights[name] = number
    return Parameters((weights["heading"], weights["body"], weights["code"]), (b[0], b[1], b[2]), k1)
