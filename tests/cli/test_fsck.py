"""`git kb fsck`: each kind of finding is made on a real repository, and mended where it can be."""

import json
import os
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kb import CORPUS, Kb

from git_kb.model.document import Manifest, SectionRow
from git_kb.model.reference import Reference
from git_kb.store.markers import Marked, check_markers

HIVE = "# Hive\n\nSet the hive on level ground.\n"
FILES = {
    **CORPUS,
    "hive.md": HIVE,
    "picture.svg": "<svg xmlns='http://www.w3.org/2000/svg'><title>A hive</title></svg>\n",
}


@pytest.fixture
def kb(tmp_path):
    return Kb.ready(tmp_path / "repo", FILES)


def kbid_of(kb, docid):
    return kb.ok("ls-sections", "--format", "{kbid}", docid).splitlines()[0]


def add(kb, name, text):
    """Write a source and ingest it."""
    kb.write(name, text)
    kb.ok("ingest", "-q", name)


def fsck(kb, *args):
    done = kb.run("fsck", "--json", *args)
    data = json.loads(done.out)
    assert done.code == (0 if data["ok"] else 1)
    assert data["ok"] == (data["errors"] == [])
    return data


def kinds(kb, *args, of="errors"):
    return [(e["type"], e["entity"]) for e in fsck(kb, *args)[of]]


def pool_entry(kb, path, blob):
    """Set (or with None drop) one entry of the pool behind our back."""
    index = kb.path(".git/kb-index").decode()
    kb.git("read-tree", "refs/kb/sections", GIT_INDEX_FILE=index)
    change = ["--force-remove", path] if blob is None else ["--add", "--cacheinfo", f"100644,{blob},{path}"]
    kb.git("update-index", *change, GIT_INDEX_FILE=index)
    kb.git("update-ref", "refs/kb/sections", kb.git("commit-tree", "-m", "put", kb.git("write-tree", GIT_INDEX_FILE=index)))


def edit(kb, docid, old, new):
    path = f"kb/documents/{docid}.toml"
    assert old in kb.read(path)
    kb.write(path, kb.read(path).replace(old, new, 1))


# Markers


@pytest.mark.parametrize("kind", ["image", "code", "text", "link", "document", "doc-link"])
def test_a_marker_that_names_nothing(kb, kind):
    for target in ("abcdefghijklmnopqrstuvwxyz", "docs--nothing.md", "abcd", "x", "hive.md#c-00000000", "no.md#c-00000000"):
        add(kb, "ref.md", f"# Ref\n\nSee\n$({kind}: {target}).\n")
        (error,) = fsck(kb)["errors"]
        assert (error["type"], error["entity"]) == ("broken_reference", kbid_of(kb, "ref.md"))
        assert error["detail"].startswith(f"ref.md:4: $({kind}: {target}) names no ")
    assert fsck(kb)["references_checked"] == 1
    assert kb.run("fsck").code == 1


def test_a_marker_of_a_section_that_another_commit_has(kb):
    old = kbid_of(kb, "hive.md")
    add(kb, "ref.md", f"# Ref\n\n$(link: {old})\n")
    kb.commit("both")
    assert kinds(kb, "--at", "HEAD") == kinds(kb) == []
    add(kb, "hive.md", "# Hive\n\nAnother hive.\n")
    (error,) = fsck(kb)["errors"]
    assert error["detail"].endswith("names no section in any document of this state; the pool has the section")
    assert kinds(kb, "--at", "HEAD") == kinds(kb, "--cached") == []
    kb.git("add", ".")
    assert kinds(kb, "--cached") == [("broken_reference", error["entity"])]
    kb.commit("the hive has changed")
    assert kinds(kb, "--at", "HEAD") == [("broken_reference", error["entity"])]
    assert kinds(kb, "--at", "HEAD~1") == []


def test_an_ambiguous_marker(kb):
    for n in range(60):
        kb.write(f"many/{n}.txt", f"number {n}\n")
    kb.ok("ingest", "-q", "many")
    rows = sorted(kb.ok("ls-sections", "--format", "{kbid}").split())
    # Four characters are the least that may be typed, and sixty sections hardly share as many: the rows are made up.
    marked = Marked()
    row = {"chunk": "c-00000000", "source_key": "0" * 16, "n_lines": 1, "n_bytes": 1}
    kbids = [rows[0][:5] + "a" * 21, rows[0][:5] + "b" * 21]
    marked.add(Manifest("d", "D", "d", "0" * 40, "text/markdown", tuple(SectionRow(kbid=k, **row) for k in kbids)))
    marked.markers[kbids[0]] = [Reference("link", 0, 1, 0, rows[0][:5])]
    assert [found[:2] for found in check_markers(marked, [])] == [("broken_reference", kbids[0])]
    assert "is ambiguous" in next(check_markers(marked, []))[2]


@pytest.mark.parametrize(
    ("marker", "docid", "why"),
    [
        ("image", "hive.md", "names a section of type text/markdown"),
        ("image", "src--weigh.py", "names a section of type text/x-python"),
        ("text", "src--weigh.py", "names a section of type text/x-python"),
        ("text", "picture.svg", "names a section of type image/svg+xml"),
        ("code", "picture.svg", "names a section of type image/svg+xml"),
        ("code", "hive.md", "names a section of type text/markdown"),
        ("document", "hive.md", "names a section, not a document"),
        ("doc-link", "hive.md", "names a section, not a document"),
    ],
)
def test_a_marker_that_names_the_wrong_type(kb, marker, docid, why):
    if docid == "picture.svg":
        kb.ok("ingest", "-q", "picture.svg")
    for target in (kbid_of(kb, docid), kbid_of(kb, docid).upper()):
        add(kb, "ref.md", f"# Ref\n\n$({marker}: {target})\n")
        (error,) = fsck(kb)["errors"]
        assert (error["type"], error["entity"]) == ("type_mismatch", kbid_of(kb, "ref.md"))
        assert error["detail"] == f"ref.md:3: $({marker}: {target}) {why}"


@pytest.mark.parametrize("marker", ["image", "code", "text", "link"])
def test_a_marker_of_a_section_that_names_a_document(kb, marker):
    add(kb, "ref.md", f"# Ref\n\n$({marker}: docs--guide.md)\n")
    assert kinds(kb) == [("type_mismatch", kbid_of(kb, "ref.md"))]


def test_markers_that_are_right(kb):
    kb.ok("ingest", "-q", "picture.svg")
    hive, code, picture = (kbid_of(kb, docid) for docid in ("hive.md", "src--weigh.py", "picture.svg"))
    citation = kb.ok("ls-sections", "--format", "{docid}#{chunk}", "hive.md").strip()
    lines = [
        f"$(text: {hive})", f"$(code: {code})", f"$(image: {picture})", f"$(link: {code})", f"$(link: {hive[:8]})",
        "$(document: docs--guide.md)", "$(doc-link: notes.txt)", f"$(text: {citation})", f"$(doc-link: {citation})",
        "`$(text: nothing)`",
    ]  # fmt: skip
    add(kb, "ref.md", "# Ref\n\n" + "\n".join(lines) + "\n")
    data = fsck(kb)
    assert (data["errors"], data["references_checked"]) == ([], 9)
    assert "9 content markers" in kb.run("fsck").err


# Circles


def test_a_document_that_holds_itself(kb):
    add(kb, "a.md", "# A\n\n$(document: a.md)\n")
    (error,) = fsck(kb)["errors"]
    kbid = kbid_of(kb, "a.md")
    assert (error["type"], error["entity"]) == ("circular_reference", kbid)
    assert error["detail"] == f"a.md:1: $(text: …) and $(document: …) lead back: {kbid} -> a.md -> {kbid}"


def test_documents_in_a_circle(kb):
    add(kb, "a.md", "# A\n\n$(document: b.md)\n")
    add(kb, "b.md", "# B\n\nNothing.\n\n## More\n\n$(document: c.md)\n")
    hive = kbid_of(kb, "hive.md")
    add(kb, "c.md", f"# C\n\n$(text: {hive}) $(document: a.md)\n")
    add(kb, "beside.md", "# Beside\n\n$(document: a.md)\n")
    (error,) = fsck(kb)["errors"]
    assert error["type"] == "circular_reference"
    assert error["entity"] == min(
        kbid_of(kb, "a.md"), *kb.ok("ls-sections", "--format", "{kbid}", "b.md").split()[1:], kbid_of(kb, "c.md")
    )
    assert all(name in error["detail"] for name in ("a.md", "b.md", "c.md"))
    # A link is not put in its own place.
    add(kb, "c.md", "# C\n\n$(doc-link: a.md)\n")
    assert kinds(kb) == []


def test_a_section_by_its_citation_in_a_circle(kb):
    """A kbid cannot name itself, being a hash; but a citation's digits can be found by trying, and a document may be quoted."""
    add(kb, "a.md", "# A\n\n$(text: b.md#c-00000000)\n")
    chunk = kb.ok("ls-sections", "--format", "{chunk}", "a.md").strip()
    add(kb, "b.md", f"# B\n\n$(text: a.md#{chunk})\n")
    real = kb.ok("ls-sections", "--format", "{chunk}", "b.md").strip()
    edit(kb, "b.md", real.encode(), b"c-00000000")
    assert [e["type"] for e in fsck(kb)["errors"]] == ["circular_reference"]


@given(st.integers(1, 12), st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=30))
def test_circles_are_those_that_a_walk_finds(n, edges):
    """Against a search from each section that looks whether it comes back."""
    marked = Marked()
    kbids = [chr(97 + i) * 26 for i in range(n)]
    row = {"chunk": "c-00000000", "source_key": "0" * 16, "n_lines": 1, "n_bytes": 1}
    for i, kbid in enumerate(kbids):
        marked.add(Manifest(f"d{i}", "D", f"d{i}", "0" * 40, "text/markdown", (SectionRow(kbid=kbid, **row),)))
    after = {i: set() for i in range(n)}
    for a, b in edges:
        if a < n and b < n:
            after[a].add(b)
            target = kbids[b] if (a + b) % 2 else f"d{b}"
            marked.markers.setdefault(kbids[a], []).append(Reference("text" if (a + b) % 2 else "document", 0, 1, 0, target))

    def reach(i):
        seen, queue = set(), [i]
        while queue:
            for j in after[queue.pop()] - seen:
                seen.add(j)
                queue.append(j)
        return seen

    on_circle = {i for i in range(n) if i in reach(i)}
    parts = {min(j for j in on_circle if j == i or (j in reach(i) and i in reach(j))) for i in on_circle}
    found = list(check_markers(marked, []))
    assert [(kind, kbid) for kind, kbid, _ in found] == [("circular_reference", kbids[i]) for i in sorted(parts)]


def test_a_long_chain_of_markers_is_no_circle():
    marked = Marked()
    row = {"chunk": "c-00000000", "source_key": "0" * 16, "n_lines": 1, "n_bytes": 1}
    for i in range(5000):
        kbid = f"{i:05}".translate(str.maketrans("0123456789", "abcdefghij")) * 5 + "a"
        marked.add(Manifest(f"d{i}", "D", f"d{i}", "0" * 40, "text/markdown", (SectionRow(kbid=kbid, **row),)))
        marked.markers[kbid] = [Reference("document", 0, 1, 0, f"d{min(i + 1, 4999)}" if i < 4999 else "d0")]
    ((kind, _, detail),) = check_markers(marked, [])
    assert kind == "circular_reference"
    assert len(detail) < 5000
    del marked.markers[next(reversed(marked.markers))]
    assert list(check_markers(marked, [])) == []


# Sections of one origin


def test_sections_of_one_origin_that_say_different_things(kb):
    path = "kb/documents/hive.md.toml"
    other = kbid_of(kb, "notes.txt")
    kb.write(
        "kb/documents/copy.toml",
        kb.read(path).replace(b'"hive.md"\n', b'"copy"\n', 1).replace(kbid_of(kb, "hive.md").encode(), other.encode()),
    )
    key = json.loads(kb.ok("ls-sections", "--json", "hive.md"))["source_key"]
    assert kinds(kb, of="warnings") == [("divergent_content", key)]
    assert kinds(kb) == [("wrong_range", "copy")]
    assert kinds(kb, "--strict") == [("wrong_range", "copy"), ("divergent_content", key)]
    assert kinds(kb, "--at", "HEAD", of="warnings") == []


def test_one_document_with_two_rows_of_one_origin(kb):
    """As a merge that keeps both sides leaves it. Ingest says what the source says, so that is what --repair does."""
    first, second = kb.ok("ls-sections", "--format", "{source_key}", "docs--guide.md").split()[:2]
    before = kb.read("kb/documents/docs--guide.md.toml")
    edit(kb, "docs--guide.md", second.encode(), first.encode())
    assert kinds(kb) == [("wrong_key", "docs--guide.md")]
    assert kinds(kb, of="warnings") == [("divergent_content", first)]
    assert kinds(kb, "--repair", of="repaired") == [("wrong_key", "docs--guide.md")]
    assert kb.read("kb/documents/docs--guide.md.toml") == before
    assert fsck(kb, "--strict")["errors"] == []


# What nothing names


def test_a_section_that_nothing_names(kb):
    kbid = kb.ok("hash-section", "-w", "--stdin", "-t", "text/plain", stdin=b"alone").strip()
    data = fsck(kb)
    assert (data["ok"], data["errors"]) == (True, [])
    assert [(e["type"], e["entity"]) for e in data["warnings"]] == [("orphan_section", kbid)]
    assert kinds(kb, "--no-dangling", of="warnings") == []
    assert kinds(kb, "--strict") == [("orphan_section", kbid)]
    done = kb.run("fsck")
    assert (done.code, done.out.startswith(f"warning: orphan_section {kbid}: ")) == (0, True)
    assert done.err.endswith(": 0 findings, 1 warning\n")
    before = kb.pool_tree()
    assert fsck(kb, "--repair")["repaired"] == []
    assert kb.pool_tree() == before


STATES = {
    "committed": lambda kb: kb.commit("the second"),
    "on a branch": lambda kb: (kb.git("checkout", "-q", "-b", "side"), kb.commit("side"), kb.git("checkout", "-q", "main")),
    "staged": lambda kb: kb.git("add", "."),
    "stashed": lambda kb: (kb.git("add", "."), kb.git("stash", "-q")),
    "in a reflog": lambda kb: (kb.commit("gone"), kb.git("reset", "-q", "--hard", "HEAD~1")),
    "in a tag": lambda kb: (kb.commit("t"), kb.git("tag", "t"), kb.git("reset", "-q", "--hard", "HEAD~1"), kb.git("reflog", "expire", "--expire=now", "--all")),
}  # fmt: skip


@pytest.mark.parametrize("state", STATES)
def test_a_section_that_something_names(kb, state):
    add(kb, "new.md", "# New\n\nOnly here.\n")
    kbid = kbid_of(kb, "new.md")
    STATES[state](kb)
    shutil.rmtree(kb.path("kb/documents"))
    kb.git("checkout", "-q", "HEAD~0", "--", "kb/documents") if state != "staged" else None
    assert kinds(kb, of="warnings") == []
    assert kb.git("cat-file", "-t", kb.git("rev-parse", f"refs/kb/sections:{kbid[:2]}/{kbid[2:]}")) == "blob"


def test_a_section_that_was_dropped_before_it_was_committed(kb):
    add(kb, "new.md", "# New\n\nOnly here.\n")
    kbid = kbid_of(kb, "new.md")
    os.unlink(kb.path("new.md"))
    kb.ok("ingest", "-q", "--prune")
    assert kinds(kb, of="warnings") == [("orphan_section", kbid)]


def test_sections_of_another_work_tree(kb, tmp_path):
    kb.git("worktree", "add", "-q", str(tmp_path / "second"))
    second = Kb(str(tmp_path / "second"))
    add(second, "new.md", "# New\n\nOnly here.\n")
    assert kinds(kb, of="warnings") == kinds(second, of="warnings") == []
    shutil.rmtree(tmp_path / "second")
    assert [k for k, _ in kinds(kb, of="warnings")] == ["orphan_section"]


def test_history_that_cannot_be_walked(kb):
    kb.ok("hash-section", "-w", "--stdin", "-t", "text/plain", stdin=b"alone")
    add(kb, "new.md", "# New\n")
    kb.commit("second")
    oid = kb.git("rev-parse", "HEAD~1")
    os.unlink(kb.path(f".git/objects/{oid[:2]}/{oid[2:]}"))
    done = kb.run("fsck", "--json")
    assert (done.code, json.loads(done.out)["warnings"]) == (0, [])
    assert done.err.startswith("warning: history cannot be walked")


# What can be mended


def harm_object(kb, kbid):
    """Make the loose object of a section other than its name says."""
    oid = kb.git("rev-parse", f"refs/kb/sections:{kbid[:2]}/{kbid[2:]}")
    path = kb.path(f".git/objects/{oid[:2]}/{oid[2:]}")
    os.chmod(path, 0o644)
    with open(path, "wb") as file:
        file.write(b"garbage")


DAMAGE = {
    "another blob in the pool": lambda kb, kbid: pool_entry(kb, f"{kbid[:2]}/{kbid[2:]}", kb.git("hash-object", "-w", "--stdin", input=b"x")),
    "a damaged object": harm_object,
    "no entry in the pool": lambda kb, kbid: pool_entry(kb, f"{kbid[:2]}/{kbid[2:]}", None),
}  # fmt: skip
KINDS = {"no entry in the pool": "orphan_document"}


@pytest.mark.parametrize("harm", DAMAGE)
@pytest.mark.parametrize("at", [[], ["--at", "HEAD"], ["--cached"]], ids=["work tree", "HEAD", "index"])
def test_a_section_is_made_again_from_its_source(kb, harm, at):
    kbid, kind = kbid_of(kb, "hive.md"), KINDS.get(harm, "checksum_mismatch")
    before = kb.pool_tree()
    DAMAGE[harm](kb, kbid)
    harmed = kb.pool_tree()
    assert kinds(kb, *at) == [(kind, "hive.md" if kind == "orphan_document" else kbid)]
    assert kinds(kb, "--repair", "-n", *at, of="would_repair") == [(kind, kbid)]
    assert kb.pool_tree() == harmed
    assert kinds(kb, *at) != []
    done = kb.run("fsck", "--repair", *at)
    assert done.code == 0
    assert done.out == f"repaired {kind} {kbid}: made again from 'hive.md'\n"
    assert ": 0 findings left" in done.err
    assert kb.pool_tree() == before
    kb.check()


def test_many_sections_are_made_again(tmp_path):
    files = {f"{n}.md": "".join(f"# {n} {m}\n\nThe hive number {n} {m}.\n\n" for m in range(10)) for n in range(15)}
    kb = Kb.ready(tmp_path / "repo", files)
    before = kb.pool_tree()
    kb.git("update-ref", "-d", "refs/kb/sections")
    assert len(fsck(kb)["errors"]) == 15
    assert len(fsck(kb, "--repair")["repaired"]) == 150
    assert kb.pool_tree() == before
    kb.check()


def test_an_older_section_is_made_again_from_history(kb):
    kbid = kbid_of(kb, "hive.md")
    add(kb, "hive.md", "# Hive\n\nAnother hive.\n")
    kb.commit("the hive has changed")
    edit(kb, "hive.md", b'supersedes = "', b'supersedes_ = "')
    harm_object(kb, kbid)
    assert kinds(kb) == [("checksum_mismatch", kbid)]
    assert kinds(kb, "--repair", of="repaired") == [("checksum_mismatch", kbid)]
    assert kinds(kb) == []


def test_a_section_without_a_source_is_left(kb):
    kbid = kb.ok("hash-section", "-w", "--stdin", "-t", "text/plain", stdin=b"alone").strip()
    harm_object(kb, kbid)
    before = kb.pool_tree()
    data = fsck(kb, "--repair")
    assert (data["repaired"], [e["type"] for e in data["errors"]]) == ([], ["checksum_mismatch"])
    assert kb.pool_tree() == before


MANIFESTS = {
    "nonsense": ("damaged_manifest", lambda data: b"nonsense"),
    "empty": ("damaged_manifest", lambda data: b""),
    "bytes": ("damaged_manifest", lambda data: b"\xff\xfe\x00"),
    "conflict": ("damaged_manifest", lambda data: b"<<<<<<< ours\n" + data + b"=======\n" + data + b">>>>>>> theirs\n"),
    "outside": ("damaged_manifest", lambda data: data.replace(b'source = "hive.md"', b'source = "../hive.md"')),
    "tiling": ("wrong_tiling", lambda data: data.replace(b"n_bytes = ", b"n_bytes = 1")),
    "key": ("wrong_key", lambda data: data[: data.index(b"source_key")] + b'source_key = "0123456789abcdef"\n' + data[data.index(b"heading =") :]),
    "range": ("wrong_range", lambda data: data.replace(b"kbid = ", b"kbid = ", 1)),
}  # fmt: skip


@pytest.mark.parametrize("harm", MANIFESTS)
def test_a_manifest_is_written_again_from_its_source(kb, harm):
    path = "kb/documents/hive.md.toml"
    good = kb.read(path)
    kind, damage = MANIFESTS[harm]
    bad = good.replace(kbid_of(kb, "hive.md").encode(), kbid_of(kb, "notes.txt").encode()) if harm == "range" else damage(good)
    assert bad != good
    kb.write(path, bad)
    entity = "hive.md.toml" if kind == "damaged_manifest" else "hive.md"
    assert kinds(kb) == [(kind, entity)]
    assert kinds(kb, "--repair", "--dry-run", of="would_repair") == [(kind, entity)]
    assert kb.read(path) == bad
    (done,) = fsck(kb, "--repair")["repaired"]
    assert (done["type"], done["entity"]) == (kind, entity)
    rows = [line for line in kb.read(path).splitlines() if not line.startswith(b"supersedes")]
    assert rows == good.splitlines()
    if kind == "damaged_manifest" and bad:
        blob = done["detail"].rpartition(" ")[2]
        assert kb.git("cat-file", "blob", blob, check=False).encode("utf-8", "surrogateescape") == bad.removesuffix(b"\n")
    kb.check()


def test_tags_and_tier_outlive_the_mending(kb):
    kb.ok("ingest", "-q", "--tag", "bees", "--tier", "S", "hive.md")
    good = kb.read("kb/documents/hive.md.toml")
    edit(kb, "hive.md", b"n_bytes = ", b"n_bytes = 1")
    assert kinds(kb, "--repair", of="repaired") == [("wrong_tiling", "hive.md")]
    assert kb.read("kb/documents/hive.md.toml") == good


@pytest.mark.parametrize("name", ["gone.md", "hive.md"])
def test_a_manifest_without_a_source_is_left(kb, name):
    kb.write(f"kb/documents/{name}.toml", "nonsense")
    if os.path.exists(kb.path(name)):
        os.unlink(kb.path(name))
    data = json.loads((done := kb.run("fsck", "--repair", "--json")).out)
    assert (data["repaired"], [e["type"] for e in data["errors"]]) == ([], ["damaged_manifest"])
    assert f"manifest '{name}.toml' is left" in done.err
    assert kb.read(f"kb/documents/{name}.toml") == b"nonsense"


def test_one_without_a_source_keeps_no_other_from_being_mended(kb):
    for name in ("hive.md", "notes.txt"):
        edit(kb, name, b"n_bytes = ", b"n_bytes = 1")
    os.unlink(kb.path("notes.txt"))
    data = fsck(kb, "--repair")
    assert [e["entity"] for e in data["repaired"]] == ["hive.md"]
    assert [e["entity"] for e in data["errors"]] == ["notes.txt"]


def test_a_manifest_of_a_later_format_is_left(kb):
    edit(kb, "hive.md", b"format = 1", b"format = 2")
    before = kb.read("kb/documents/hive.md.toml")
    data = fsck(kb, "--repair")
    assert (data["repaired"], [e["type"] for e in data["errors"]]) == ([], ["damaged_manifest"])
    assert kb.read("kb/documents/hive.md.toml") == before


def test_manifests_of_a_commit_are_left(kb):
    edit(kb, "hive.md", b"n_bytes = ", b"n_bytes = 1")
    kb.commit("wrong")
    for at in (["--at", "HEAD"], ["--cached"]):
        data = fsck(kb, "--repair", *at)
        assert (data["repaired"], [e["type"] for e in data["errors"]]) == ([], ["wrong_tiling"])
    assert kb.git("status", "--porcelain") == ""


def test_the_index_is_made_again(kb):
    (name,) = kb.segments()
    data = kb.read(f".git/kb/{name}")
    kb.write(f".git/kb/{name}", data[:9000] + b"\x55" + data[9001:])
    assert kinds(kb) == [("damaged_segment", os.path.basename(name))]
    assert kinds(kb, "--repair", "--dry-run", of="would_repair") == kinds(kb)
    assert kinds(kb, "--repair", of="repaired") == [("damaged_segment", os.path.basename(name))]
    kb.check()
    assert kb.hits("swarm")


@pytest.mark.parametrize("name", ["views", "current", "segments"])
def test_what_is_in_the_way_of_the_index(kb, name):
    path = kb.path(f".git/kb/{name}").decode()
    shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    os.mkfifo(path)
    assert ("odd_file", path) in kinds(kb)
    assert kinds(kb, "--repair", of="repaired")[0][0] == "odd_file"
    assert kinds(kb) == []


@pytest.mark.parametrize("harm", ["catalog", "config", "marker", "pool"])
def test_what_nothing_says_is_left(kb, harm):
    if harm == "marker":
        add(kb, "ref.md", "# Ref\n\n$(text: nothing)\n")
    elif harm == "pool":
        pool_entry(kb, "README", kb.git("hash-object", "-w", "--stdin", input=b"x"))
    else:
        kb.write({"catalog": "kb/catalog.toml", "config": "kb.config.json"}[harm], "nonsense")
    kind = {"catalog": "damaged_catalog", "config": "damaged_config", "marker": "broken_reference", "pool": "odd_entry"}[harm]
    files = {name: kb.read(name) for name in ("kb/catalog.toml", "kb.config.json")}
    pool = kb.pool_tree()
    data = fsck(kb, "--repair")
    assert (data["repaired"], [e["type"] for e in data["errors"]]) == ([], [kind])
    assert ({name: kb.read(name) for name in files}, kb.pool_tree()) == (files, pool)


def test_the_configuration_of_a_commit(kb):
    kb.write("kb.config.json", "nonsense")
    assert [k for k, _ in kinds(kb)] == ["damaged_config"]
    assert kinds(kb, "--at", "HEAD") == kinds(kb, "--cached") == []
    kb.git("add", ".")
    assert [k for k, _ in kinds(kb, "--cached")] == ["damaged_config"]
    kb.commit("nonsense")
    assert [k for k, _ in kinds(kb, "--at", "HEAD")] == ["damaged_config"]
    kb.git("rm", "-q", "kb.config.json")
    kb.commit("none")
    assert kinds(kb, "--at", "HEAD") == kinds(kb, "--cached") == kinds(kb) == []


def test_a_source_that_cannot_be_read(kb):
    oid = kb.git("rev-parse", "HEAD:hive.md")
    path = kb.path(f".git/objects/{oid[:2]}/{oid[2:]}")
    os.chmod(path, 0o644)
    with open(path, "wb") as file:
        file.write(b"garbage")
    assert kinds(kb) == [("damaged_source", "hive.md")]


@pytest.mark.parametrize("text", ["caf\xe9 d\xe9j\xe0 vu", "Ünïcödé"])
@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8-sig", "utf-8"])
def test_sources_of_other_encodings_fit(kb, text, encoding):
    kb.write("odd.md", f"# {text}\r\n\r\n{text} ({text})\r\n\r\n## {text}\r\n\r\nmore {text}\r\n".encode(encoding))
    kb.ok("ingest", "-q", "odd.md")
    kb.commit("odd")
    assert fsck(kb)["errors"] == fsck(kb, "--at", "HEAD")["errors"] == []


def test_sha256(tmp_path):
    kb = Kb.ready(tmp_path / "repo", FILES, "sha256")
    kbid = kbid_of(kb, "hive.md")
    pool_entry(kb, f"{kbid[:2]}/{kbid[2:]}", None)
    kb.write("kb/documents/notes.txt.toml", "nonsense")
    assert kinds(kb) == [("orphan_document", "hive.md"), ("damaged_manifest", "notes.txt.toml")]
    assert len(fsck(kb, "--repair")["repaired"]) == 2
    kb.check()


def test_a_bare_repository(kb, tmp_path):
    kb.git("clone", "-q", "--bare", kb.top, str(tmp_path / "bare"))
    bare = Kb(str(tmp_path / "bare"))
    assert {k for k, _ in kinds(bare)} == {"orphan_document"}
    assert len(fsck(bare, "--repair")["repaired"]) == 7
    assert kinds(bare) == []


def test_dry_run_alone_is_refused(kb):
    assert kb.run("fsck", "--dry-run").code == 129


def test_the_json_is_that_of_the_seed(kb):
    """Three keys an error; with --strict all findings are errors."""
    kb.ok("hash-section", "-w", "--stdin", "-t", "text/plain", stdin=b"alone")
    data = fsck(kb, "--strict")
    assert [set(e) for e in data["errors"]] == [{"type", "entity", "detail"}]
    assert {"ok", "errors", "sections_checked", "documents_checked", "references_checked", "elapsed_ms"} <= set(data)
    assert data["ok"] is False
