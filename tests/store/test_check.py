"""`git kb fsck`: each kind of damage gives its finding, and no other."""

import json
import os

import pytest
from kb import Kb, forget_source, in_process

from git_kb.store.check import Counts, check
from git_kb.store.state import StateName


@pytest.fixture
def kb(tmp_path):
    return Kb.ready(tmp_path / "repo")


def findings(kb, state=None):
    with kb.repo() as repo:
        return [(f.kind, f.entity) for f in check(repo, state or StateName(), Counts())]


def put(kb, path, data, mode="100644"):
    """Set one entry of the pool behind our back."""
    blob = kb.git("hash-object", "-w", "--stdin", input=data)
    index = kb.path(".git/kb-index").decode()
    kb.git("read-tree", "refs/kb/sections", GIT_INDEX_FILE=index)
    kb.git("update-index", "--add", "--cacheinfo", f"{mode},{blob},{path}", GIT_INDEX_FILE=index)
    kb.git("update-ref", "refs/kb/sections", kb.git("commit-tree", "-m", "put", kb.git("write-tree", GIT_INDEX_FILE=index)))


def drop(kb, path):
    index = kb.path(".git/kb-index").decode()
    kb.git("read-tree", "refs/kb/sections", GIT_INDEX_FILE=index)
    kb.git("update-index", "--force-remove", path, GIT_INDEX_FILE=index)
    kb.git("update-ref", "refs/kb/sections", kb.git("commit-tree", "-m", "drop", kb.git("write-tree", GIT_INDEX_FILE=index)))


def edit(kb, docid, old, new):
    path = f"kb/documents/{docid}.toml"
    data = kb.read(path)
    assert old in data
    kb.write(path, data.replace(old, new, 1))


def kbid_of(kb, docid):
    return kb.ok("ls-sections", "--format", "{kbid}", docid).splitlines()[0]


def test_nothing_is_wrong(kb):
    assert findings(kb) == []
    assert findings(kb, StateName("HEAD")) == []
    assert findings(kb, StateName(cached=True)) == []
    done = kb.run("fsck")
    assert (done.code, done.out, done.err) == (
        0,
        "",
        "checked 6 sections, 3 documents, 1 segment, 2 other index files: 0 findings\n",
    )


@pytest.mark.parametrize("data", [b"section text/plain 5\0Other", b"garbage", b"", b"section text/plain 99\0Short"])
def test_a_section_that_is_not_what_its_name_says(kb, data):
    kbid = kbid_of(kb, "notes.txt")
    put(kb, f"{kbid[:2]}/{kbid[2:]}", data)
    assert findings(kb) == [("checksum_mismatch", kbid)]
    assert kb.run("fsck").code == 1
    done = kb.run("cat-section", "-p", kbid)
    assert done.code == 128
    assert f"section {kbid} is damaged" in done.err
    # A search finds the entry, and shows what its source says.
    for args in (["search", "swarm"], ["show", kbid]):
        done = kb.run(*args)
        assert done.code == 0
        assert "Other" not in done.out
        assert "swarm leaves in May" in done.out


def test_a_section_object_that_is_missing(kb):
    kbid = kbid_of(kb, "notes.txt")
    oid = kb.git("rev-parse", f"refs/kb/sections:{kbid[:2]}/{kbid[2:]}")
    os.unlink(kb.path(f".git/objects/{oid[:2]}/{oid[2:]}"))
    assert findings(kb) == [("checksum_mismatch", kbid)]
    assert kb.run("search", "swarm").code == 0
    assert kb.run("show", kbid).code == 0
    forget_source(kb, "notes.txt")
    for args in (["cat-section", "-p", kbid], ["show", kbid]):
        done = kb.run(*args)
        assert (done.code, f"object '{oid}' is missing" in done.err) == (128, True)
    assert kb.run("search", "swarm").code == 0


def test_an_odd_entry_in_the_pool(kb):
    put(kb, "README", b"hello")
    put(kb, "zz/README", b"hello")
    assert findings(kb) == [("odd_entry", "README"), ("odd_entry", "zz/README")]


def test_a_document_whose_section_is_not_in_the_pool(kb):
    kbid = kbid_of(kb, "notes.txt")
    drop(kb, f"{kbid[:2]}/{kbid[2:]}")
    assert findings(kb) == [("orphan_document", "notes.txt")]
    assert f"1 of 1 sections are not in the pool, first {kbid}" in kb.run("fsck").out
    kb.ok("index", "--rebuild")
    assert findings(kb) == []


def test_a_damaged_manifest(kb):
    kb.write("kb/documents/notes.txt.toml", "nonsense")
    assert findings(kb) == [("damaged_manifest", "notes.txt.toml")]
    assert findings(kb, StateName("HEAD")) == []


def test_a_manifest_of_a_later_format(kb):
    edit(kb, "notes.txt", b"format = 1", b"format = 2")
    assert findings(kb) == [("damaged_manifest", "notes.txt.toml")]
    done = kb.run("search", "swarm")
    assert done.code == 1  # that document is left out, and named; others are found
    assert "notes.txt.toml' has format 2, which this git-kb does not know" in done.err


def test_ranges_that_do_not_tile_the_source(kb):
    rows = json.loads(kb.ok("ls-sections", "--json", "notes.txt"))
    n = rows["end"]
    edit(kb, "notes.txt", f"n_bytes = {n}".encode(), f"n_bytes = {n + 1}".encode())
    assert findings(kb) == [("wrong_tiling", "notes.txt")]
    assert f"its sections cover {n + 1} bytes of a source of {n}" in kb.run("fsck").out


def test_a_wrong_source_key(kb):
    key = json.loads(kb.ok("ls-sections", "--json", "notes.txt"))["source_key"]
    edit(kb, "notes.txt", key.encode(), b"0123456789abcdef")
    assert findings(kb) == [("wrong_key", "notes.txt")]


@pytest.mark.parametrize("harm", ["page", "cut", "gone"])
def test_a_damaged_segment(kb, harm):
    (name,) = kb.segments()
    data = kb.read(f".git/kb/{name}")
    if harm == "gone":
        os.unlink(kb.path(f".git/kb/{name}"))
    else:
        kb.write(f".git/kb/{name}", data[:-1] if harm == "cut" else data[:9000] + b"\x55" + data[9001:])
    assert findings(kb) == [("damaged_segment", os.path.basename(name))]
    kb.ok("search", "swarm") if harm != "page" else kb.ok("index", "--rebuild")
    assert findings(kb) == []


USES = {"views": ["search", "swarm"], "references": ["recall", "docs/guide.md"], "signatures": ["ingest", "--near-duplicates"],
        "dates": ["search", "swarm before:2001"]}  # fmt: skip
CACHES = {"dates": "damaged_dates", "views": "damaged_view", "references": "damaged_references", "signatures": "damaged_signatures"}


@pytest.mark.parametrize("harm", ["header", "each page", "cut", "empty"])
@pytest.mark.parametrize("directory", CACHES)
def test_a_damaged_cache(kb, directory, harm):
    kb.ok("search", "swarm")
    kb.run("recall", "docs/guide.md")
    kb.run("search", "swarm before:2001")
    (path,) = [name for name in kb.kb_files() if name.startswith(directory + "/")]
    name = f".git/kb/{path}"
    data = kb.read(name)
    places = range(4097, len(data) - 4096, 4096) if harm == "each page" else [20]
    assert len(places) > 0
    for at in places:
        flipped = data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]
        kb.write(name, {"cut": data[:-1], "empty": b""}.get(harm, flipped))
        assert findings(kb) == [(CACHES[directory], os.path.basename(path))]
    done = kb.run("fsck")
    assert done.code == 1
    assert done.err.endswith("hint: 'git kb index --rebuild' makes the index again\n")
    kb.ok("index", "--rebuild")
    assert findings(kb) == []
    kb.ok("search", "swarm")
    kb.run("recall", "docs/guide.md")
    kb.ok("ingest", "--near-duplicates")
    assert findings(kb) == []
    assert path in kb.kb_files() or directory in ("views", "dates")


@pytest.mark.parametrize("directory", CACHES)
def test_the_next_use_makes_a_damaged_cache_again(kb, directory):
    kb.run("recall", "docs/guide.md")
    kb.run("search", "swarm before:2001")
    (path,) = [name for name in kb.kb_files() if name.startswith(directory + "/")]
    kb.write(f".git/kb/{path}", kb.read(f".git/kb/{path}")[:-1])
    assert findings(kb) != []
    # What is asked for is beside the point: no section refers to another.
    kb.run(*USES[directory])
    assert findings(kb) == []


def test_leftovers_of_other_segments_and_of_other_names_are_passed_over(kb):
    (path,) = [name for name in kb.kb_files() if name.startswith("signatures/")]
    kb.write(".git/kb/signatures/seg-" + "0" * 32 + ".kbm", kb.read(f".git/kb/{path}"))
    kb.write(".git/kb/signatures/mine", "mine")
    assert findings(kb) == []
    kb.write(".git/kb/signatures/seg-" + "0" * 32 + ".kbm", kb.read(f".git/kb/{path}")[:-1])
    assert findings(kb) == [("damaged_signatures", "seg-" + "0" * 32 + ".kbm")]


def test_findings_add_up(kb):
    kb.write("kb/documents/notes.txt.toml", "nonsense")
    put(kb, "README", b"hello")
    done = kb.run("fsck", "--json")
    data = json.loads(done.out)
    assert (done.code, data["ok"], data["sections_checked"], data["documents_checked"]) == (1, False, 6, 3)
    assert [e["type"] for e in data["errors"]] == ["odd_entry", "damaged_manifest"]
    assert all(set(e) == {"type", "entity", "detail"} for e in data["errors"])


def test_an_empty_repository_and_no_knowledge_base(tmp_path):
    kb = Kb.create(tmp_path / "repo", {})
    assert in_process(kb.top, "fsck").code == 128
    kb.ok("init", "-q")
    assert findings(kb) == []
