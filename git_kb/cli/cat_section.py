"""git kb cat-section: print type, size or content of a section, or whether it exists.

With --batch or --batch-check it reads kbids from standard input, one per line, and answers each in order,
as git cat-file does: "<kbid> <type> <size>" and, with --batch, the content and a line end; "<name> missing"
or "<name> ambiguous" where there is no answer.
"""

from __future__ import annotations

import argparse

from git_kb.cli.env import Env, StandardOutput

SUMMARY = "print type, size or content of a section"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("-t", dest="what", action="store_const", const="type", help="print its MIME type")
    group.add_argument("-s", dest="what", action="store_const", const="size", help="print the size of its content in bytes")
    group.add_argument("-e", dest="what", action="store_const", const="exists", help="exit with 0 when it exists, 1 otherwise")
    group.add_argument("-p", dest="what", action="store_const", const="content", help="print its content as stored")
    group.add_argument("--batch", dest="what", action="store_const", const="batch", help="answer each kbid on standard input")
    group.add_argument("--batch-check", dest="what", action="store_const", const="check", help="the same without content")
    parser.add_argument("section", nargs="?", help="a kbid, or its first 4 or more characters")


def run(args: argparse.Namespace, env: Env) -> int:
    from git_kb.cli.parser import BadArguments
    from git_kb.store.pool import AmbiguousSection, Pool, UnknownSection

    batch = args.what in ("batch", "check")
    if batch and args.section is not None:
        raise BadArguments("with --batch and --batch-check, names come from standard input")
    if not batch and args.section is None:
        raise BadArguments("name a section")
    pool = Pool(env.repo)
    if batch:
        return _batch(pool, env, content=args.what == "batch")
    try:
        kbid = _resolve(pool, args.section)
        section = pool.read(kbid)
    except (UnknownSection, AmbiguousSection):
        if args.what == "exists":
            return 1
        raise
    if args.what == "type":
        env.out.write(section.mime + "\n")
    elif args.what == "size":
        env.out.write(f"{len(section.content)}\n")
    elif args.what == "content":
        write_bytes(env, section.content)
    return 0


def _resolve(pool: object, name: str) -> str:
    from git_kb.model.section import is_kbid_prefix
    from git_kb.store.pool import Pool, UnknownSection

    assert isinstance(pool, Pool)
    if not is_kbid_prefix(name.lower()):
        error = UnknownSection(name)
        error.hint = "give a kbid, or its first 4 or more characters; 'git kb show' takes citations and paths"
        raise error
    return pool.find(name.lower())


def _batch(pool: object, env: Env, content: bool) -> int:
    from git_kb.model.section import DamagedSection
    from git_kb.store.pool import AmbiguousSection, Pool, UnknownSection

    assert isinstance(pool, Pool)
    for line in env.stdin:
        name = line.rstrip(b"\r\n").decode("utf-8", "surrogateescape")
        try:
            kbid = _resolve(pool, name)
            section = pool.read(kbid)
        except UnknownSection:
            write_bytes(env, f"{name} missing\n".encode("utf-8", "surrogateescape"))
        except AmbiguousSection:
            write_bytes(env, f"{name} ambiguous\n".encode("utf-8", "surrogateescape"))
        except DamagedSection:
            write_bytes(env, f"{name} damaged\n".encode("utf-8", "surrogateescape"))
        else:
            write_bytes(env, f"{kbid} {section.mime} {len(section.content)}\n".encode())
            if content:
                write_bytes(env, section.content + b"\n")
        env.out.flush()
    return 0


def write_bytes(env: Env, data: bytes) -> None:
    """Write bytes to standard output as they are."""
    if isinstance(env.out, StandardOutput):
        env.out.write_bytes(data)
    else:
        env.out.write(data.decode("utf-8", "surrogateescape"))
