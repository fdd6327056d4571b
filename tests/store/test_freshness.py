"""Bringing view and segments up to date: from parts, in memory, behind another's lock."""

import json
import os
import shutil
import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kb import GUIDE, Kb, forget_source

from git_kb.index.segments import Segments
from git_kb.index.view import ViewDocument, ViewRow
from git_kb.repo.lockfile import WriterLock
from git_kb.store import documents as documents_module
from git_kb.store import freshness
from git_kb.store.documents import worktree_documents
from git_kb.store.freshness import Hooks, drop_damaged, fresh_view, read_view, slices, with_fresh_view
from git_kb.store.state import StateName


@pytest.fixture
def kb(tmp_path):
    return Kb.ready(tmp_path / "repo")


class Said:
    """Hooks that remember what was said."""

    def __init__(self, kb, wait_s=0.05):
        self.warnings, self.notes = [], []
        lock = lambda: WriterLock(kb.place().kb_dir + "/lock", "test", wait_s=wait_s)  # noqa: E731
        self.hooks = Hooks(self.warnings.append, self.notes.append, lock)


def opened(kb, said, state=None):
    with kb.repo() as repo:
        return fresh_view(repo, state or StateName(), said.hooks)


def test_a_current_view_is_taken_as_it_is(kb):
    said = Said(kb)
    before = kb.kb_files()
    view, segments = opened(kb, said)
    assert (view.n_documents, view.n_rows, view.n_live, view.n_missing) == (3, 6, 6, 0)
    assert view.fits(segments)
    assert said.warnings == said.notes == []
    assert kb.kb_files() == before


def test_only_what_is_missing_is_indexed(kb):
    kb.write("docs/guide.md", GUIDE.replace("syrup", "fondant"))
    kb.ok("ingest", "-q", "--no-index")
    said = Said(kb)
    view, _ = opened(kb, said)
    assert said.notes == ["indexing 1 section"]
    assert (view.n_live, view.n_missing) == (6, 0)


def test_a_view_gives_the_same_whatever_it_is_made_from(kb):
    """From an old view and a changed manifest, or from nothing: the bytes are the same."""
    kb.write("docs/guide.md", GUIDE.replace("syrup", "fondant"))
    os.unlink(kb.path("notes.txt"))
    kb.write("more.md", "# More\n\nWasps.\n")
    kb.ok("ingest", "-q", "--prune")
    kb.run("search", "fondant")
    grown = kb.kb_files()["views/worktree.kbv"]
    os.unlink(kb.path(".git/kb/views/worktree.kbv"))
    kb.run("search", "fondant")
    assert kb.kb_files()["views/worktree.kbv"] == grown


def test_when_another_writes_the_answer_comes_from_what_is_there(kb):
    kb.write("docs/guide.md", GUIDE.replace("syrup", "fondant"))
    kb.ok("ingest", "-q", "--no-index")
    said = Said(kb)
    with WriterLock(kb.place().kb_dir + "/lock", "somebody"):
        view, _ = opened(kb, said)
        assert (view.n_live, view.n_missing) == (5, 1)
    assert len(said.warnings) == 1
    assert "is held by process" in said.warnings[0]
    assert said.warnings[0].endswith("; 1 section is not searched yet")
    view, _ = opened(kb, Said(kb))
    assert (view.n_live, view.n_missing) == (6, 0)


@pytest.fixture
def no_place(kb, monkeypatch):
    """There is no `.git/kb`, and none can be made."""
    makedirs = os.makedirs

    def refused(path, *args, **named):
        if "/.git/kb" in os.fsdecode(path):
            raise PermissionError(13, "Permission denied", path)
        makedirs(path, *args, **named)

    shutil.rmtree(kb.path(".git/kb"))
    monkeypatch.setattr(os, "makedirs", refused)


def test_without_a_place_to_write_the_index_is_in_memory(kb, request):
    before = kb.ok("search", "hive")
    request.getfixturevalue("no_place")
    done = kb.run("search", "hive")
    assert (done.code, done.out) == (0, before)
    assert "the index cannot be stored" in done.err
    assert kb.run("query", "hive").code == 0
    assert kb.run("search", "--at", "HEAD", "hive").code == 0
    assert kb.run("status").code == 0


def test_in_memory_what_cannot_be_had_is_counted(kb, no_place):
    kb.git("update-ref", "-d", "refs/kb/sections")
    forget_source(kb, "docs/guide.md")
    done = kb.run("search", "hive")
    assert done.code == 0
    assert "3 sections are missing from the pool" in done.err
    for name in ("src/weigh.py", "notes.txt"):
        forget_source(kb, name)
    done = kb.run("search", "hive")
    assert done.code == 1
    assert "6 sections are missing from the pool" in done.err


def test_read_view_stores_nothing(kb):
    kb.write("docs/guide.md", GUIDE.replace("syrup", "fondant"))
    kb.ok("ingest", "-q", "--no-index")
    before = kb.kb_files()
    with kb.repo() as repo:
        view, _ = read_view(repo, StateName(), Said(kb).hooks)
    assert (view.n_documents, view.n_missing) == (3, 1)
    assert kb.kb_files() == before


def test_a_use_that_meets_damage_is_done_again(kb):
    """Once: when the second time fails too, that is the user's to know."""
    from git_kb.index.pagefile import DamagedSegment

    calls = []

    def use(view, segments):
        calls.append(view.n_live)
        if len(calls) == 1:
            raise DamagedSegment("x", 3, "it fails its check")
        return "done"

    said = Said(kb)
    with kb.repo() as repo:
        assert with_fresh_view(repo, StateName(), said.hooks, use) == "done"
        assert said.warnings == ["page 3 of 'x' is damaged: it fails its check; it is made again"]
        assert calls == [6, 6]

        def always(view, segments):
            raise DamagedSegment("x", 3, "it fails its check")

        with pytest.raises(DamagedSegment):
            with_fresh_view(repo, StateName(), said.hooks, always)


def test_only_damaged_files_are_dropped(kb):
    kb.run("search", "--at", "HEAD", "hive")
    before = kb.kb_files()
    drop_damaged(kb.place().kb_dir, Said(kb).hooks)
    assert kb.kb_files() == before
    views = [n for n in before if n.startswith("views/")]
    assert len(views) == 2
    data = before[views[0]]
    kb.write(f".git/kb/{views[0]}", data[:5000] + b"\x77" + data[5001:])
    drop_damaged(kb.place().kb_dir, Said(kb).hooks)
    assert set(before) - set(kb.kb_files()) == {views[0]}


def test_headings_are_part_of_what_is_indexed(kb):
    """The same section under another heading is another entry; the pool has it once."""
    n = Segments.open(kb.place().kb_dir).n_entries
    kb.write("docs/guide.md", GUIDE.replace("# Guide", "# Manual", 1))
    kb.ok("ingest", "-q")
    assert [kb.json("show", c)["places"][0]["heading"][0] for c in kb.hits("syrup")] == ["Manual"]
    assert Segments.open(kb.place().kb_dir).n_entries == n + 3


def test_front_matter_is_stored_and_not_searched(kb):
    kb.write("fm.md", "---\ntitle: Hornets\nsecretkey: xylophone\n---\n\n# Body\n\nText on hornets.\n")
    kb.ok("ingest", "-q")
    assert kb.run("search", "xylophone").code == 1
    assert kb.run("search", "hornets").code == 0
    assert "xylophone" in "".join(
        kb.ok("cat-section", "-p", k) for k in kb.ok("ls-sections", "--format", "{kbid} ", "fm.md").split()
    )
    with kb.repo() as repo:
        assert "fm.md.toml" in worktree_documents(repo.place).stamps
    kb.check()


@pytest.mark.parametrize("n", [0, 1, freshness.MIN_SLICED - 1, freshness.MIN_SLICED, 65_535, 65_536, 131_071, 1_000_000])
def test_slices_cover_all_once(n):
    pieces = slices(n)
    ends = [0]
    for piece in pieces:
        assert piece.start == ends[-1]
        assert 0 < len(piece) <= 65_535
        ends.append(piece.stop)
    assert ends[-1] == n
    assert len(pieces) == 1 or len(pieces) % 2 == 0 or n == 0


def test_worker_processes_write_the_same_segments(kb, monkeypatch):
    """Cut into two slices, in one process or two."""
    for i in range(12):
        kb.write(f"f{i}.md", f"# F{i}\n\nText number {i}.\n")
    kb.ok("ingest", "-q")
    monkeypatch.setattr(freshness, "MIN_SLICED", 4)
    made = []
    for jobs in ("1", "2"):
        kb.ok("index", "--rebuild", "-q", "-j", jobs)
        made.append(kb.segments())
    assert made[0] == made[1]
    kb.check()


@pytest.mark.parametrize("state", [StateName(), StateName("HEAD"), StateName("", True)], ids=["work tree", "HEAD", "index"])
def test_worker_processes_make_the_same_view(kb, monkeypatch, state):
    """Also of a state with a manifest that cannot be used."""
    for i in range(12):
        kb.write(f"f{i}.md", f"# F{i}\n\nText number {i}.\n")
    kb.ok("ingest", "-q")
    kb.write("kb/documents/f5.md.toml", "nonsense\n")
    kb.commit("more")
    monkeypatch.setattr(freshness, "LOT_DOCUMENTS", 4)
    made = []
    for least in (1, 1000):
        monkeypatch.setattr(freshness, "MIN_PARALLEL", least)
        shutil.rmtree(kb.path(".git/kb/views"))
        said = Said(kb)
        said.hooks.jobs = 2
        view, _ = opened(kb, said, state)
        made.append((bytes(view.file.view), said.warnings))
    assert made[0] == made[1]
    assert "manifest 'f5.md.toml' is damaged" in made[0][1][0]


def view_content(kb, state):
    """All a view says but for stamps: a document taken from another state's view keeps its stamp there."""
    view, _ = opened(kb, Said(kb), state)
    fields = [f for f in ViewDocument.__slots__ if f != "stamp"]
    documents = [[getattr(d, f) for f in fields] for d in view.documents()]
    areas = [bytes(view.file.read_area(a)) for a in ("key", "stats", "order", "skipped", "masknames", "masks")]
    rows = [[getattr(view.row(n), f) for f in ViewRow.__slots__] for n in range(view.n_rows)]
    return documents, rows, areas


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["", "bees", "ants", "!"])), max_size=3), min_size=1, max_size=4)
)
@settings(max_examples=15, deadline=None)
def test_a_view_made_from_another_is_the_one_made_from_manifests(history):
    """Over commits that add, change, delete and damage documents; of the work tree, the index and each commit."""
    with tempfile.TemporaryDirectory() as top:
        kb = Kb.ready(top)
        for changes in history:
            for n, word in changes:
                path = f"kb/documents/f{n}.md.toml"
                if word == "!":
                    kb.write(path, "nonsense\n")
                elif word:
                    kb.write(f"f{n}.md", f"# F{n}\n\nText on {word}.\n\n## More\n\n{word * 2}\n")
                elif os.path.exists(kb.path(path)):
                    for gone in (path, f"f{n}.md"):
                        if os.path.exists(kb.path(gone)):
                            os.unlink(kb.path(gone))
            kb.run("ingest", "-q", "-f")
            kb.commit("step")
            for state in (StateName(), StateName("HEAD"), StateName("HEAD~1"), StateName("", True)):
                made = view_content(kb, state)
                os.rename(kb.path(".git/kb/views"), kb.path(".git/kb/aside"))
                assert view_content(kb, state) == made, state
                shutil.rmtree(kb.path(".git/kb/views"))
                os.rename(kb.path(".git/kb/aside"), kb.path(".git/kb/views"))


def test_a_view_of_a_commit_reads_only_the_manifests_that_differ(kb, monkeypatch):
    kb.commit("one")
    opened(kb, Said(kb))
    kb.write("docs/guide.md", GUIDE + "\n## Winter\n\nFeed them.\n")
    kb.ok("ingest", "-q")
    kb.commit("two")
    read = []
    parse = documents_module.parse_manifest
    monkeypatch.setattr(documents_module, "parse_manifest", lambda text, name: read.append(name) or parse(text, name))
    for state in (StateName("HEAD"), StateName("HEAD~1"), StateName("", True)):
        read.clear()
        opened(kb, Said(kb), state)
        assert read == (["docs--guide.md.toml"] if state.rev == "HEAD~1" else [])


def test_sections_made_again_are_those_asked_for_or_none(kb, tmp_path):
    """A manifest that lies about its source cannot put other content under a kbid."""
    kb.git("clone", "-q", ".", str(tmp_path / "clone"))
    clone = Kb(tmp_path / "clone")
    path = "kb/documents/notes.txt.toml"
    kbid = clone.ok("ls-sections", "--format", "{kbid}", "notes.txt").strip()
    clone.write(path, clone.read(path).replace(kbid.encode(), b"a" * 26))
    done = clone.run("search", "hive")
    assert done.code == 0
    assert "made 5 sections again" in done.err
    assert "1 section is missing from the pool" in done.err
    assert clone.run("cat-section", "-e", "a" * 26).code == 1


def test_sections_cut_with_other_sizes_are_made_again(tmp_path):
    """The configuration that a clone brings along says how its sources were cut."""
    long = "# Long\n\n" + "".join(f"Paragraph {i} of some words on bees.\n\n" for i in range(60))
    kb = Kb.create(tmp_path / "repo", {"long.md": long})
    kb.ok("init", "-q")
    kb.write(
        "kb.config.json",
        kb.read("kb.config.json").replace(b'"target": 4000', b'"target": 300').replace(b'"ceiling": 8000', b'"ceiling": 600'),
    )
    kb.ok("ingest", "-q")
    kb.commit()
    assert kb.json("status")["sections"] > 4
    kb.git("clone", "-q", ".", str(tmp_path / "clone"))
    clone = Kb(tmp_path / "clone")
    assert clone.run("search", "bees").code == 0
    assert clone.json("status")["not_indexed"] == 0
    assert clone.pool_tree() == kb.pool_tree()


def test_a_section_object_that_is_gone_or_another_is_made_again(tmp_path):
    """The pool's tree names it all the same; only reading and hashing it shows."""
    kb = Kb.ready(tmp_path / "r")
    row = json.loads(kb.ok("ls-sections", "--json").splitlines()[0])
    kbid = row["kbid"]
    for damage in ("gone", "swapped"):
        oid = kb.git("rev-parse", f"refs/kb/sections:{kbid[:2]}/{kbid[2:]}")
        if damage == "gone":
            os.unlink(os.path.join(kb.top, ".git/objects", oid[:2], oid[2:]))
        else:
            evil = kb.git("hash-object", "-w", "--stdin", input=b"section text/markdown 4\0evil")
            tree = kb.git("ls-tree", "-r", "refs/kb/sections").replace(oid, evil)
            index = {"GIT_INDEX_FILE": str(tmp_path / "index")}
            kb.git("update-index", "--add", "--index-info", input=tree.encode() + b"\n", **index)
            commit = kb.git("commit-tree", "-m", "evil", kb.git("write-tree", **index))
            kb.git("update-ref", "refs/kb/sections", commit)
        shutil.rmtree(os.path.join(kb.top, ".git/kb"))
        assert kb.hits("evil") == []
        assert row["citation"] in kb.hits(row["heading"][-1])
        assert kb.json("fsck")["errors"] == []


def test_manifests_that_are_no_files_are_named(tmp_path):
    kb = Kb.ready(tmp_path / "r")
    path = os.path.join(kb.top, "kb/documents/notes.txt.toml")
    os.unlink(path)
    os.symlink("/etc/passwd", path)
    done = kb.run("search", "swarm")
    assert "notes.txt.toml" in done.err
    assert [e["type"] for e in json.loads(kb.run("fsck", "--json").out)["errors"]] == ["damaged_manifest"]
