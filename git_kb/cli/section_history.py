"""`git kb show --history`: the supersession chain of sections, as text and as data."""

from __future__ import annotations

from git_kb.cli.env import Env
from git_kb.errors import NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from git_kb.model.document import Manifest
    from git_kb.store.chain import Link
    from git_kb.store.state import StateName

# What the letters of %G? mean, by git's manual.
SIGNATURES = {
    "G": "good", "B": "bad", "U": "good, of unknown validity", "X": "good, expired", "Y": "good, by an expired key",
    "R": "good, by a revoked key", "E": "cannot be checked", "N": "none",
}  # fmt: skip


class WholeDocument(NotFound):
    """A document has many sections, and a history for each."""

    hint = "name one of its sections: 'git kb show <document>' lists them; 'git kb log <document>' has the document's history"

    def __init__(self, name: str):
        self.name = name
        super().__init__(f"'{name}' is a document, not a section")


def show_history(names: list[str], state: StateName, env: Env, as_json: bool, signatures: bool | None) -> int:
    """Print the chain of each section that is named. signatures: None for what log.showSignature says. Raises NotFound."""
    from git_kb.output.jsontext import json_text
    from git_kb.repo.pager import paged
    from git_kb.store.chain import supersession_chain

    signed = _wants_signatures(env) if signatures is None else signatures
    chains = []
    for name in names:
        links: list[Link] = []
        for manifest, key in _meant(name, state, env):
            links += supersession_chain(env.repo, state, manifest, key, env.warn, signed)
        chains.append((name, links))
    if as_json:
        data = [{"id": name, "chain": [_data(link) for link in links]} for name, links in chains]
        env.out.write(json_text(data if len(names) > 1 else data[0], indent=1) + "\n")
        return 0
    with paged(env.place, env.out) as out:
        for _, links in chains:
            for link in links:
                out.write(_text(link))
    return 0


def _wants_signatures(env: Env) -> bool:
    from git_kb.repo.process import git_at

    _, out = git_at(env.place, ["config", "--type=bool", "--default", "false", "--get", "log.showSignature"])
    return out.strip() == b"true"


def _meant(name: str, state: StateName, env: Env) -> list[tuple[Manifest, str]]:
    """Return (manifest, source_key) of the section that a name means, in the state or, for a kbid, in what was before it.

    A section that stands at several places has a chain for each. Raises NotFound, AmbiguousId, WholeDocument.
    """
    from git_kb.cli.names import find_named, front_matter
    from git_kb.index.view import ViewDocument
    from git_kb.model.section import is_kbid_prefix
    from git_kb.store.chain import latest_holder, newest_name, state_manifest
    from git_kb.store.freshness import with_fresh_view

    try:
        found = with_fresh_view(env.repo, state, env.hooks("show"), lambda view, _: find_named(view, name, env))
    except NotFound:
        if not (found := front_matter(name, state, env)):
            if not is_kbid_prefix(name.lower()):
                raise
            held = latest_holder(env.repo, state.rev or "HEAD", name.lower(), env.warn)
            if held is None:
                raise
            return [newest_name(env.repo, state, held[0], key, env.warn) for key in held[1]]
    if isinstance(found, ViewDocument):
        raise WholeDocument(name)
    meant = []
    for place in found:
        manifest = state_manifest(env.repo, state, place.document.docid, env.warn)
        for row in manifest.sections if manifest is not None else ():
            if manifest is not None and row.chunk == place.row.chunk:
                meant.append((manifest, row.source_key))
    return meant


def _text(link: Link) -> str:
    from git_kb.cli.log import _when
    from git_kb.output.terminal import visible_line

    lines = [f"section {link.kbid}" + (" (gone)" if link.is_gone else "")]
    if link.oid:
        lines.append(f"Commit: {link.oid}")
        if link.signature is not None:
            letter, signer = link.signature
            by = f" by {visible_line(signer)}" if signer else ""
            lines.append(f"Signed: {letter} ({SIGNATURES.get(letter, 'unknown')}){by}")
        lines.append(f"Author: {visible_line(link.author)} <{visible_line(link.email)}>")
        lines.append(f"Date:   {_when(link.when_s)}")
    else:
        lines.append("Commit: none, " + ("not committed" if link.row is not None else "superseded before it was committed"))
    if link.row is not None:
        lines.append(f"Cite:   {link.docid}#{link.row.chunk}")
        heading = " > ".join(link.row.heading)
        lines.append(f"At:     {visible_line(link.source)}:{link.line}" + (f"  {visible_line(heading)}" if heading else ""))
    if link.oid:
        lines += ["", f"    {visible_line(link.subject)}"]
    return "\n".join(lines) + "\n\n"


def _data(link: Link) -> dict[str, object]:
    from git_kb.cli.log import _when

    row = link.row
    data: dict[str, object] = {
        "kbid": link.kbid,
        "status": "gone" if link.is_gone else "superseded" if row is None else "present",
        "docid": link.docid,
        "source": link.source,
        "citation": f"{link.docid}#{row.chunk}" if row else None,
        "line": link.line if row else None,
        "heading": list(row.heading) if row else None,
        "supersedes": (row.supersedes or None) if row else None,
        "oid": link.oid or None,
        "when": _when(link.when_s) if link.oid else None,
        "author": link.author if link.oid else None,
        "email": link.email if link.oid else None,
        "subject": link.subject if link.oid else None,
    }
    if link.signature is not None:
        data["signature"] = {"status": link.signature[0], "signer": link.signature[1]}
    return data
