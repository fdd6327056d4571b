"""git kb dump-segment: print what a segment of the index holds.

Without options its areas and counts. --entries lists the entries: ordinal, kbid, hash of the heading text, type, tokens
in heading, body, code. --terms lists terms from PREFIX on: term, code point, number of entries. --postings lists the
entries that hold one term: ordinal, kbid, impact. --tokens prints the terms of one entry, a field a line, in order of
position. The segment is a name from 'git kb ls-segments', the beginning of one, or the path of a file. What the words
mean: docs/format-index.md.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from git_kb.cli.env import Env
from git_kb.errors import KbError, NotFound

if TYPE_CHECKING:
    from git_kb.index.segment import Segment

SUMMARY = "print what a segment of the index holds"


class UnknownSegment(KbError):
    """No segment is called so, or several begin so."""

    exit_code = 1
    hint = "'git kb ls-segments' lists them"


class NotInSegment(NotFound):
    """The segment has no such term or entry."""

    def __init__(self, message: str, hint: str):
        self.hint = hint
        super().__init__(message)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("segment", metavar="SEGMENT", help="name of a segment, the beginning of one, or a path")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--entries", action="store_true", help="list the entries")
    what.add_argument("--terms", metavar="PREFIX", nargs="?", const="", help="list the terms, or those that begin with PREFIX")
    what.add_argument("--postings", metavar="TERM", help="list the entries that hold a term, as the index has it")
    what.add_argument("--tokens", metavar="ORDINAL", type=int, help="print the terms of an entry in order of position")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(args: argparse.Namespace, env: Env) -> int:
    from git_kb.output.jsontext import json_text
    from git_kb.output.terminal import visible_line

    segment = open_segment(env.place.kb_dir, os.path.join(env.cwd, args.segment), args.segment)
    try:
        for record in _records(segment, args):
            if args.json:
                line = json_text(record)
            else:
                line = "\t".join(" ".join(map(str, v)) if isinstance(v, list) else visible_line(str(v)) for v in record.values())
            env.out.write(line + "\n")
    finally:
        segment.close()
    return 0


def open_segment(kb_dir: str, path: str, name: str) -> Segment:
    """Return the open segment that a name, the beginning of a live one's name, or a path means.

    Raises UnknownSegment, DamagedSegment, OtherFeature.
    """
    from git_kb.index.pagefile import DamagedSegment
    from git_kb.index.segment import Segment
    from git_kb.index.segments import DIRECTORY, read_current

    fits = [n for n in read_current(kb_dir) if n.startswith((name, "seg-" + name))]
    if len(fits) > 1:
        raise UnknownSegment(f"'{name}' is ambiguous: {', '.join(fits)}")
    if fits:
        try:
            return Segment(os.path.join(kb_dir, DIRECTORY, fits[0]), fits[0])
        except FileNotFoundError:
            raise UnknownSegment(f"the file of segment '{fits[0]}' is missing") from None
    try:
        return Segment(path, os.path.basename(path))
    except FileNotFoundError:
        raise UnknownSegment(f"no segment '{name}'") from None
    except DamagedSegment as e:
        raise UnknownSegment(f"'{name}' is no segment, or damaged: {e.why}") from None


def _records(segment: Segment, args: argparse.Namespace) -> Iterator[dict[str, object]]:
    if args.entries:
        return _entries(segment)
    if args.terms is not None:
        return _terms(segment, args.terms)
    if args.postings is not None:
        return _postings(segment, args.postings)
    if args.tokens is not None:
        return _tokens(segment, args.tokens)
    return _summary(segment)


def _summary(segment: Segment) -> Iterator[dict[str, object]]:
    yield {"what": "entries", "n": segment.n_entries}
    yield {"what": "terms", "n": segment.n_terms}
    for field, n, longest in zip(("heading", "body", "code"), segment.tokens, segment.longest, strict=True):
        yield {"what": f"{field} tokens", "n": n}
        yield {"what": f"longest {field}", "n": longest}
    for name, (offset, length) in segment.file.areas.items():
        yield {"what": f"area {name}", "n": length, "offset": offset}


def _entries(segment: Segment) -> Iterator[dict[str, object]]:
    for ordinal in range(segment.n_entries):
        id_ = segment.entry_id(ordinal)
        lengths = [segment.lengths[field][ordinal] for field in range(3)]
        yield {"ordinal": ordinal, **_named(id_), "type": segment.mime(ordinal), "lengths": lengths}


def _named(entry_id: bytes) -> dict[str, object]:
    from git_kb.model.section import RAW_SIZE, kbid_of_entry

    return {"kbid": kbid_of_entry(entry_id), "heading": entry_id[RAW_SIZE:].hex()}


def _terms(segment: Segment, prefix: str) -> Iterator[dict[str, object]]:
    for term, code_point, df in segment.all_terms(prefix):
        yield {"term": term, "code": code_point, "entries": df}


def _postings(segment: Segment, term: str) -> Iterator[dict[str, object]]:
    from git_kb.model.section import kbid_of_entry

    postings = segment.postings(term)
    if postings is None:
        raise NotInSegment(
            f"no entry of '{segment.name}' holds the term '{term}'",
            "terms are stems: --terms lists them, 'git kb tokens' makes them",
        )
    for ordinal in postings.ordinals:
        impact = postings.impact(ordinal)
        yield {"ordinal": ordinal, "kbid": kbid_of_entry(segment.entry_id(ordinal)), "impact": impact}


def _tokens(segment: Segment, ordinal: int) -> Iterator[dict[str, object]]:
    if not 0 <= ordinal < segment.n_entries:
        raise NotInSegment(f"'{segment.name}' has no entry {ordinal}: it has {segment.n_entries}", "--entries lists them")
    terms = {code_point: term for term, code_point, _ in segment.all_terms()}
    for field, string in zip(("heading", "body", "code"), segment.token_strings(ordinal), strict=True):
        yield {"field": field, "terms": [terms.get(ord(char), "") for char in string]}
