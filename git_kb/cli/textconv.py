"""git kb textconv: print a manifest as git diff may show it to people, a line a section.

For "git config diff.kb.textconv 'git-kb textconv'" with "kb/documents/*.toml diff=kb" in .git/info/attributes: then git diff
and git log -p show headings and chunk ids in place of TOML. Nothing sets that up by itself, since git diff fails in every
repository where the program of a textconv is missing. What is no manifest, or a damaged one, is printed as it is.
"""

from __future__ import annotations

import argparse

from git_kb.cli.env import Env

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.model.document import Manifest

SUMMARY = "print a manifest as git diff may show it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="the file; git gives the name of a temporary one")


def run(args: argparse.Namespace, env: Env) -> int:
    data = env.read_file(args.file)
    manifest = _manifest(data)
    if manifest is None:
        env.out.write(data.decode("utf-8", "surrogateescape"))
    else:
        env.out.write(_text(manifest))
    return 0


def _manifest(data: bytes) -> Manifest | None:
    """Return the manifest in a file of any name, None for what is none."""
    from git_kb.errors import Damaged, NewerFormat
    from git_kb.store.manifest import SUFFIX, parse_manifest, read_head, tracked_text

    try:
        text = tracked_text(data)
        head = read_head(text)
        return parse_manifest(text, f"{head['docid']}{SUFFIX}") if head and "docid" in head else None
    except (Damaged, NewerFormat, UnicodeDecodeError):
        return None


def _text(manifest: Manifest) -> str:
    from git_kb.output.terminal import visible_line

    lines = [f"{manifest.title}  ({manifest.source}, {manifest.type})"]
    if manifest.moved_from:
        lines.append(f"moved from: {manifest.moved_from}")
    if manifest.tags:
        lines.append(f"tags: {', '.join(manifest.tags)}")
    if manifest.tier:
        lines.append(f"tier: {manifest.tier}")
    lines.append("")
    for row in manifest.sections:
        heading = " > ".join(row.heading) or ("(front matter)" if row.role else manifest.title)
        part = f" (part {row.part})" if row.part > 1 else ""
        # No line numbers: an edit would change those of all that follow.
        lines.append(f"{heading}{part}  {row.chunk}, {row.n_lines} lines")
    return "\n".join(map(visible_line, lines)) + "\n"
