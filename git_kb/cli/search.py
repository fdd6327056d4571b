"""git kb search: rank the sections that match.

Words are looked for in any order; "quoted words" must stand together, "with a gap"~3 near each other; -word excludes;
word* matches beginnings; 'a OR b' asks for one of the two; heading:, body: and code: say where a word has to stand; tag:,
type:, path:, doc: and tier: choose documents, before: and after: by when they last changed in git's history. Any text is a
valid query; docs/query-language.md has it all. Words that begin with two dashes go behind a '--'. Brings the index up to date
first when it has to. A query of filters alone ('tag:howto', 'path:docs', or only the options) lists the sections they choose,
by source and line, with the score 0. When nothing is found, what is nearest is shown, and standard error says so. A hit whose
file is no longer what was ingested is marked "(changed since ingest)" or "(source gone)"; in JSON, "source_state" is "current",
"changed" or "gone", and null where that was not looked at (URLs, more than 100 files or 32 MB).
"""

from __future__ import annotations

import argparse

from git_kb.cli.env import Env

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.index.segments import Segments
    from git_kb.index.view import View, ViewDocument
    from git_kb.output.show import Place
    from git_kb.search.find import Answer, Scope
    from git_kb.search.modes import FoundDocument, TermStats
    from git_kb.search.score import Parameters
    from git_kb.store.state import StateName

SUMMARY = "rank the sections that match"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from git_kb.cli.parser import add_colour_arguments, add_view_arguments, number

    add_view_arguments(parser)
    parser.add_argument(
        "--mode",
        choices=("sections", "documents", "stats"),
        default="sections",
        help="hits as sections (default), grouped by document, or only in numbers",
    )
    parser.add_argument("--limit", type=number, default=10, metavar="N", help="at most N hits (default: 10)")
    parser.add_argument("--offset", type=number, default=0, metavar="N", help="leave out the first N hits")
    parser.add_argument("--tag", action="append", default=[], metavar="TAG", help="only documents with this tag (repeatable)")
    parser.add_argument("--type", default="", metavar="MIME", help="only sections of this type, or of types that begin so")
    parser.add_argument("--path", default="", metavar="PATH", help="only sources at or below this path, which counts from here")
    parser.add_argument("--doc", default="", metavar="DOCID", help="only documents whose docid begins so")
    parser.add_argument(
        "--near",
        default="",
        metavar="ID",
        help="sections similar to this one (a kbid, citation, path#heading or path:line), instead of words",
    )
    parser.add_argument("--since", metavar="REV", help="only sections that the knowledge base did not have at REV")
    parser.add_argument(
        "--weights",
        metavar="NAME=W,...",
        help="numbers of the ranking for this search: heading=3,body=1,code=1,k1=1.2,b=0.5,b.code=0.7,proximity=0.3,zone=0.1",
    )
    parser.add_argument("--explain", action="store_true", help="show what each score is made of, to the term and field")
    parser.add_argument("--json", action="store_true", help="one JSON document (docs/search-json.md)")
    add_colour_arguments(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="no notes on standard error")
    parser.add_argument("word", nargs="*", help="the query; without one, what the options choose is listed")


def run(args: argparse.Namespace, env: Env) -> int:
    from git_kb.cli.parser import BadArguments
    from git_kb.output.hits import LISTED, hits_data, more_note, notes, nothing_found, render_hits
    from git_kb.search.find import Filters, find
    from git_kb.store.freshness import with_fresh_view
    from git_kb.store.staleness import source_states
    from git_kb.store.state import default_state

    if args.limit < 1 or args.offset < 0:
        raise BadArguments("--limit must be at least 1 and --offset at least 0")
    if args.word and args.near:
        raise BadArguments("words and --near exclude each other")
    if not (args.word or args.near or args.tag or args.type or args.path or args.doc or args.since is not None):
        raise BadArguments("the following arguments are required: word")
    if args.explain and args.mode != "sections":
        raise BadArguments("--explain goes with --mode sections: documents and numbers have no score of their own")
    env.quiet = args.quiet or args.json
    parameters = parse_weights(args.weights, agreed_or_default(env))
    state = default_state(env.place, args.at, args.cached)
    filters = Filters(tuple(args.tag), args.type, source_prefix(args.path, env), args.doc) or None
    text = " ".join(args.word)

    def states(documents: list[ViewDocument]) -> dict[str, str]:
        return source_states(env.repo, state, documents)

    def look(view: View, segments: Segments) -> tuple[Answer, int, list[FoundDocument], list[TermStats]]:
        older: frozenset[bytes] | None = None
        if args.since is not None:
            from git_kb.store.earlier import sections_at

            older = sections_at(env.repo, args.since, view, state, env.warn, env.note)
        scope = make_scope(view, segments, args.near, state, older, parameters, env)
        if args.mode == "sections":
            answer = find(
                env.place, view, segments, text, args.limit, args.offset, parameters, filters,
                states=states, scope=scope, explain=args.explain,
            )  # fmt: skip
            return answer, view.n_live, [], []
        from git_kb.search.modes import find_documents, find_stats

        if args.mode == "stats":
            answer, stats = find_stats(env.place, view, segments, text, parameters, filters, scope)
            return answer, view.n_live, [], stats
        answer, found = find_documents(env.place, view, segments, text, args.limit, args.offset, parameters, filters, states, scope)
        return answer, view.n_live, found, []

    answer, n_live, documents, stats = with_fresh_view(env.repo, state, env.hooks("search"), look)
    for note in notes(answer):
        env.warn(note)
    if answer.listed and answer.total:
        env.note(LISTED)
    shown = bool(answer.total) if args.mode == "stats" else bool(answer.found)
    if args.json:
        from git_kb.output.jsontext import json_text
        from git_kb.output.modes import documents_data, stats_data
        from git_kb.store.history import pool_dates

        if args.mode == "sections":
            data = hits_data(answer, pool_dates(env.place, [f.kbid for f in answer.found]))
        else:
            data = documents_data(answer, documents) if args.mode == "documents" else stats_data(answer, stats)
        more = {"near": args.near} if args.near else {}
        env.out.write(json_text({**data, **more}, indent=1) + "\n")
        return 0 if shown else 1
    colour = env.colour(args.color)
    link = None if state.rev or state.cached else env.links()
    if args.mode == "sections":
        env.out.write(render_hits(answer, env.place.prefix, colour, args.offset, link))
    else:
        from git_kb.output.modes import render_documents, render_stats

        if args.mode == "documents":
            env.out.write(render_documents(documents, env.place.prefix, colour, args.offset, link))
        else:
            env.out.write(render_stats(answer, stats))
    if shown:
        n_shown = answer.total if args.mode == "stats" else len(documents) if args.mode == "documents" else None
        if note := more_note(answer, args.offset if args.mode != "stats" else 0, n_shown):
            env.note(note)
        return 0
    env.note(nothing_found(str(state), f"--near {args.near}" if args.near else text if args.word else None, n_live, answer.total))
    return 1


def make_scope(
    view: View, segments: Segments, near: str, state: StateName, older: frozenset[bytes] | None, parameters: Parameters, env: Env
) -> Scope:
    """Return what restricts a search. near: a section to start from. Raises UnknownId, AmbiguousId, BadArguments."""
    from git_kb.search.find import Scope

    rev = state.rev or "HEAD"
    if not near:
        return Scope(rev, older, corrects=True, lists=True)
    from git_kb.model.section import RAW_SIZE
    from git_kb.search.near import near_query

    entry_ids = list(dict.fromkeys(place.row.entry_id for place in near_places(view, near, state, env)))
    query = near_query(view, segments, entry_ids, parameters)
    return Scope(rev, (older or frozenset()) | {entry_id[:RAW_SIZE] for entry_id in entry_ids}, query)


def near_places(view: View, name: str, state: StateName, env: Env) -> list[Place]:
    """Return the places of the section that --near names. Raises UnknownId, AmbiguousId, BadArguments."""
    from git_kb.cli.names import find_named, front_matter
    from git_kb.cli.parser import BadArguments
    from git_kb.errors import NotFound
    from git_kb.output.show import AmbiguousId

    try:
        places = find_named(view, name, env)
    except (NotFound, AmbiguousId):
        if not front_matter(name, state, env):
            raise
        raise BadArguments(
            f"'{name}' is front matter, which is stored and shown but not searched, so nothing is near it",
            "'git kb show' lists the sections of a document that are searched",
        ) from None
    if not isinstance(places, list):
        raise BadArguments(f"'{name}' is a document; --near takes a section", "'git kb show' lists the sections of a document")
    return places


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
VALUED = ("--at", "--mode", "--limit", "--offset", "--tag", "--type", "--path", "--doc", "--near", "--since", "--weights")
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


def agreed_or_default(env: Env) -> Parameters:
    """Return the ranking parameters of the knowledge base; warns, and takes the defaults, when its configuration cannot be used."""
    from git_kb.search.agreed import agreed_parameters
    from git_kb.search.score import DEFAULTS
    from git_kb.store.config import BadConfig

    try:
        return agreed_parameters(env.place)
    except BadConfig as e:
        env.warn(f"{e}; ranking with the defaults")
        return DEFAULTS


def parse_weights(text: str | None, parameters: Parameters) -> Parameters:
    """Return ranking parameters changed as `heading=3,k1=1.2,b=0.75,b.code=0.5` says. Raises BadArguments.

    A field's name means its weight, `b` that of all fields.
    """
    from git_kb.cli.parser import BadArguments
    from git_kb.index.segment import FIELD_NAMES
    from git_kb.store.config import RANKING

    values: dict[str, float] = {}
    for item in text.split(",") if text else ():
        name, _, value = item.partition("=")
        names = [f"b.{field}" for field in FIELD_NAMES] if name == "b" else [f"weights.{name}" if name in FIELD_NAMES else name]
        examples = "such are: heading=3,body=1,code=1,k1=1.2,b=0.5,proximity=0.3,zone=0.1"
        if not all(n in RANKING for n in names):
            raise BadArguments(f"'{item}' is no weight: nothing is called '{name}'", examples)
        largest = RANKING[names[0]]
        try:
            number = float(value)
        except ValueError:
            raise BadArguments(f"'{item}' is no weight: '{value}' is not a number", examples) from None
        if not 0 <= number <= largest:
            raise BadArguments(f"'{item}' is out of range: '{name}' goes from 0 to {largest:.0f}", examples)
        values.update(dict.fromkeys(names, number))
    return parameters.changed(values) if values else parameters
