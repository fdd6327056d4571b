"""What earlier versions stored is read by this one, and named the same.

fixtures/compat/ keeps, for ever, a source and what the version that released a format made of it.
"""

import os

from kb import ROOT, Kb

from git_kb.model.section import decode_section, section_id
from git_kb.store.manifest import parse_manifest, render_manifest

FIXTURES = os.path.join(ROOT, "fixtures", "compat", "format-1")


def read(name):
    with open(os.path.join(FIXTURES, name), "rb") as file:
        return file.read()


def test_manifests_read_and_write_back():
    text = read("guide.md.toml").decode()
    manifest = parse_manifest(text, "guide.md.toml")
    assert render_manifest(manifest) == text
    assert (manifest.docid, manifest.title, manifest.tags) == ("guide.md", "Guide to bees", ("bees",))
    assert sum(row.n_bytes for row in manifest.sections) == len(read("guide.md"))


def test_sections_keep_their_names():
    for row in parse_manifest(read("guide.md.toml").decode(), "guide.md.toml").sections:
        data = read(f"{row.kbid}.section")
        assert section_id(data) == row.kbid
        assert decode_section(data, row.kbid).content


def test_the_source_is_still_cut_like_this(tmp_path):
    """A clone of an old knowledge base without its pool makes the same sections again."""
    kb = Kb.create(tmp_path / "repo", {"guide.md": read("guide.md")})
    kb.ok("init", "-q")
    kb.write("kb/documents/guide.md.toml", read("guide.md.toml"))
    kb.commit()
    done = kb.run("search", "syrup")
    assert done.code == 0
    assert "made 4 sections again" in done.err
    assert "missing" not in done.err
    kb.ok("ingest", "--force")
    assert kb.read("kb/documents/guide.md.toml") == read("guide.md.toml")
    kb.check()
