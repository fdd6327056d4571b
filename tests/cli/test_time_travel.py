"""The knowledge base at other commits, in the index, on other branches; and caches that are gone or damaged."""

import json
import os
import shutil

import pytest
from kb import CORPUS, GUIDE, Kb, files_below, git, process

from git_kb.index.pagefile import FORMAT

NEWER = GUIDE.replace("syrup", "fondant")


@pytest.fixture
def kb(tmp_path):
    return Kb.ready(tmp_path / "repo")


def found(kb, word, *more):
    """Return whether a search finds the word."""
    done = kb.run("search", word, *more)
    assert done.code in (0, 1), done
    return done.code == 0


def change(kb):
    """Change the guide, ingest, commit."""
    kb.write("docs/guide.md", NEWER)
    kb.ok("ingest", "-q")
    return kb.commit("fondant")


def test_search_at_an_earlier_commit(kb):
    change(kb)
    assert (found(kb, "fondant"), found(kb, "syrup")) == (True, False)
    assert (found(kb, "fondant", "--at", "HEAD~1"), found(kb, "syrup", "--at", "HEAD~1")) == (False, True)
    assert (found(kb, "fondant", "--at", "main"), found(kb, "fondant", "--at", "HEAD^{tree}")) == (True, True)
    kb.git("tag", "-a", "-m", "release", "v1", "HEAD~1")
    assert found(kb, "syrup", "--at", "v1")
    assert "Feed syrup in spring." in kb.ok("query", "--at", "v1", "feed colony")
    assert "fondant" in kb.ok("show", kb.hits("fondant")[0])
    assert "syrup" in kb.ok("show", "--at", "v1", kb.hits("syrup", "--at", "v1")[0])
    assert kb.run("show", kb.hits("syrup", "--at", "v1")[0]).code == 1
    assert kb.json("status", "--at", "HEAD~1")["stale"] == []
    kb.check()


@pytest.mark.parametrize("rev", ["HEAD", "HEAD~1", "v1", "main", ":/fondant", "nope", "HEAD~9", "HEAD:docs", "@"])
def test_the_short_way_to_a_revision_says_what_the_long_one_says(kb, rev, tmp_path):
    """Also in a bare repository, where HEAD is meant when nothing is; an offset keeps a search off the short way."""
    kb.git("tag", "v1")
    change(kb)
    kb.git("clone", "-q", "--bare", ".", str(tmp_path / "bare"))
    bare = Kb(tmp_path / "bare")
    bare.git("fetch", "-q", kb.top, "refs/kb/sections:refs/kb/sections")
    for there in (kb, bare):
        for words in (["hive"], ["syrup"], ["nowhere"]):
            for more in (["--at", rev], []):
                there.run("search", *more, *words)  # whatever is made for the first time is made now
                long = there.run("search", "--offset", "0", *more, *words)
                assert there.run("search", *more, *words) == long, (there.top, words, more)
    assert kb.run("search", "--at", "HEAD~1", "syrup").code == 0


def test_sections_that_were_replaced_stay_readable(kb):
    """The pool keeps what older commits cite."""
    kbid = kb.json("search", "syrup")["results"][0]["kbid"]
    change(kb)
    assert b"syrup" in kb.ok("cat-section", "-p", kbid).encode()
    newer = next(r for r in kb.ok("ls-sections", "--format", "{kbid} {supersedes}", "docs--guide.md").splitlines() if kbid in r)
    assert newer.split()[1] == kbid


def test_staged_and_unstaged_differ(kb):
    kb.write("docs/guide.md", NEWER)
    kb.ok("ingest", "-q")
    assert (found(kb, "fondant"), found(kb, "fondant", "--cached"), found(kb, "fondant", "--at", "HEAD")) == (True, False, False)
    kb.git("add", "-A")
    assert (found(kb, "fondant"), found(kb, "fondant", "--cached"), found(kb, "fondant", "--at", "HEAD")) == (True, True, False)
    kb.git("commit", "-q", "-m", "fondant")
    assert found(kb, "fondant", "--at", "HEAD")
    assert kb.json("status", "--cached")["documents"] == 3


def test_switching_branches_indexes_nothing(kb):
    kb.git("switch", "-q", "-c", "other")
    change(kb)
    segments = kb.segments()
    for branch, word in (("main", "syrup"), ("other", "fondant"), ("main", "syrup"), ("other", "fondant")):
        kb.git("switch", "-q", branch)
        done = kb.run("search", word)
        assert (done.code, done.err) == (0, "")
    assert kb.segments() == segments


def test_a_section_that_moves_between_documents_is_indexed_once(kb):
    kb.write("docs/copy.md", GUIDE)
    done = kb.run("ingest")
    assert "0 new" in done.err.rpartition("sections:")[2]
    assert "indexing" not in done.err
    hit = kb.json("search", "syrup")["results"]
    assert len(hit) == 1
    assert hit[0]["docids"] == ["docs--copy.md", "docs--guide.md"]


def test_a_manifest_edited_in_place_is_seen(kb):
    assert kb.hits("syrup", "--tag", "food") == []
    path = "kb/documents/docs--guide.md.toml"
    data = kb.read(path)
    with open(kb.path(path), "r+b") as file:
        file.write(data.replace(b'type = "text/markdown"\n', b'type = "text/markdown"\ntags = ["food"]\n', 1))
    assert [c.split("#")[0] for c in kb.hits("syrup", "--tag", "food")] == ["docs--guide.md"]
    assert kb.hits("swarm", "--tag", "food") == []
    # The tag is the user's, so the next ingest keeps it.
    kb.write("docs/guide.md", NEWER)
    kb.ok("ingest", "-q")
    assert kb.json("show", "docs--guide.md")["tags"] == ["food"]


def test_a_manifest_with_a_changed_title_is_seen(kb):
    path = "kb/documents/notes.txt.toml"
    kb.write(path, kb.read(path).replace(b'title = "notes.txt"', b'title = "Apiary diary"'))
    assert [c.split("#")[0] for c in kb.hits("diary")] == ["notes.txt"]


def test_a_deleted_manifest_is_seen(kb):
    os.unlink(kb.path("kb/documents/notes.txt.toml"))
    assert not found(kb, "swarm")
    assert found(kb, "syrup")


DAMAGES = {
    "not UTF-8": b'format = 1\ndocid = "notes.txt"\ntitle = "\xff"\n',
    "not TOML": b"<<<<<<< HEAD\nformat = 1\n=======\n",
    "empty": b"",
    "another docid": b'format = 1\ndocid = "other"\ntitle = "x"\nsource = "notes.txt"\nblob = "00"\ntype = "text/plain"\n',
    "source leaves the repository": b'format = 1\ndocid = "notes.txt"\ntitle = "x"\nsource = "../x"\nblob = "00"\ntype = "text/plain"\n',
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_manifest_is_named_and_skipped(kb, damage):
    kb.write("kb/documents/notes.txt.toml", DAMAGES[damage])
    for args in (
        ["search", "-q", "syrup"],
        ["search", "--at", "HEAD", "syrup"],
        ["query", "feed colony"],
        ["status"],
        ["ls-documents"],
    ):
        done = kb.run(*args)
        assert done.code == 0
        assert "docs" in done.out or args == ["status"]
    kb.git("add", "-A")
    for args in (["ls-documents"], ["search", "--cached", "syrup"]):
        assert "warning: manifest 'notes.txt.toml' is damaged: " in kb.run(*args).err
    assert not found(kb, "swarm")
    errors = kb.run("fsck", "--json")
    assert errors.code == 1
    assert '"damaged_manifest"' in errors.out
    done = kb.run("ingest")
    assert done.code == 0
    assert found(kb, "swarm")
    kb.check()


def view_files(kb):
    return [f".git/kb/{name}" for name in kb.kb_files() if name.startswith("views/")]


def segment_files(kb):
    return [f".git/kb/{name}" for name in kb.kb_files() if name.startswith("segments/")]


def flip(data, at):
    return data[:at] + bytes([data[at] ^ 0x5A]) + data[at + 1 :]


HARM = {
    "deleted": lambda data: None,
    "empty": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "cut by a byte": lambda data: data[:-1],
    "zeros": lambda data: bytes(len(data)),
    "first byte": lambda data: flip(data, 0),
    "format 0": lambda data: data[:8] + bytes(4) + data[12:],
    "feature": lambda data: flip(data, 12),
    "directory": lambda data: flip(data, 70),
    "first area": lambda data: flip(data, 4096),
    "middle": lambda data: flip(data, len(data) // 2),
    "checksums": lambda data: flip(data, len(data) - 4),
    "text": lambda data: b"no such format\n" * 1000,
}


@pytest.mark.parametrize("which", [view_files, segment_files], ids=["view", "segment"])
@pytest.mark.parametrize("harm", HARM)
def test_damaged_caches_are_made_again(kb, which, harm):
    before = kb.ok("search", "hive")
    names = which(kb)
    assert names
    for name in names:
        data = HARM[harm](kb.read(name))
        os.unlink(kb.path(name))
        if data is not None:
            kb.write(name, data)
    done = kb.run("search", "hive")
    assert (done.code, done.out) == (0, before), done.err
    assert "Traceback" not in done.err
    done = kb.run("search", "hive")
    assert (done.code, done.out, done.err) == (0, before, "")
    assert kb.run("query", "hive").code == 0
    kb.ok("index", "--rebuild", "-q")
    kb.check()


@pytest.mark.parametrize("which", [view_files, segment_files], ids=["view", "segment"])
@pytest.mark.parametrize("args", [["search", "hive"], ["query", "hive"], ["show", "docs--guide.md"]], ids=lambda args: args[0])
def test_a_page_that_rots(kb, which, args):
    """Any single page may go bad after the file was written: the answer is right, and the file is made again when it was read."""
    before = kb.ok(*args)
    (name,) = which(kb)
    clean = kb.read(name)
    for pgno in range(len(clean) // 4096):
        kb.write(name, flip(clean, pgno * 4096 + 7 * pgno % 4096))
        done = kb.run(*args)
        assert (done.code, done.out) == (0, before), (pgno, done)
        kb.write(name, clean)
    kb.check()


@pytest.mark.parametrize("which", [view_files, segment_files], ids=["view", "segment"])
def test_files_of_a_later_format_are_refused(kb, which):
    (name,) = which(kb)
    data = kb.read(name)
    kb.write(name, data[:8] + bytes([FORMAT + 1]) + data[9:])
    done = kb.run("search", "hive")
    assert done.code == 128
    assert f"has format {FORMAT + 1}, which this git-kb does not know" in done.err
    assert "hint: upgrade git-kb to read it" in done.err


def test_no_cache_at_all(kb):
    before = kb.ok("search", "hive")
    segments = kb.segments()
    shutil.rmtree(kb.path(".git/kb"))
    done = kb.run("search", "hive")
    assert (done.code, done.out, done.err) == (0, before, "indexing 6 sections\n")
    assert kb.segments() == segments


@pytest.mark.parametrize("data", [b"", b"nonsense", b"git-kb index 1\nfeature 0\nxxh3 0000000000000000\n"])
def test_a_damaged_list_of_segments(kb, data):
    before = kb.ok("search", "hive")
    kb.write(".git/kb/current", data)
    done = kb.run("search", "hive")
    assert (done.code, done.out) == (0, before)
    kb.check()


def test_rebuild_gives_the_same_bytes(kb):
    change(kb)
    kb.ok("index", "--rebuild")
    first = kb.segments()
    answers = [kb.ok("search", w) for w in ("hive", "fondant", "swarm")]
    kb.ok("index", "--rebuild")
    assert kb.segments() == first
    assert [kb.ok("search", w) for w in ("hive", "fondant", "swarm")] == answers
    assert len(first) == 1


def test_a_clone_without_the_pool(kb, tmp_path):
    """Sections are made again from their sources, and are the same."""
    before = kb.ok("search", "hive")
    kb.git("clone", "-q", ".", str(tmp_path / "clone"))
    clone = Kb(tmp_path / "clone")
    assert clone.pool_tree() == ""
    done = clone.run("search", "hive")
    assert (done.code, done.out) == (0, before)
    assert "made 6 sections again from their sources" in done.err
    assert clone.pool_tree() == kb.pool_tree()
    assert clone.segments() == kb.segments()
    assert "3 unchanged" in clone.run("ingest").err
    clone.check()


def test_a_clone_whose_sources_are_gone_too(kb, tmp_path):
    """What can neither be fetched nor made again is counted, and the rest is searched."""
    kb.git("clone", "-q", "--depth=1", f"file://{kb.top}", str(tmp_path / "clone"))
    kb.write("docs/guide.md", "# Guide\n\nReplaced.\n")
    kb.git("rm", "-q", "--cached", "notes.txt")
    os.unlink(kb.path("notes.txt"))
    kb.commit("sources change, manifests stay")
    kb.git("clone", "-q", "--depth=1", f"file://{kb.top}", str(tmp_path / "shallow"))
    shallow = Kb(tmp_path / "shallow")
    done = shallow.run("search", "mass")
    assert done.code == 0
    assert "4 sections are missing from the pool; 'git kb ingest -f', or fetch refs/kb/sections" in done.err
    assert not found(shallow, "swarm")
    status = shallow.json("status")
    assert (status["not_indexed"], status["stale"], status["gone"]) == (4, ["docs/guide.md"], ["notes.txt"])
    git("fetch", "-q", "origin", "+refs/kb/sections:refs/kb/sections", cwd=shallow.top)
    assert found(shallow, "swarm")
    assert shallow.json("status")["not_indexed"] == 0


def test_a_clone_with_the_pool_makes_nothing(kb, tmp_path):
    kb.git("clone", "-q", ".", str(tmp_path / "clone"))
    clone = Kb(tmp_path / "clone")
    clone.git("fetch", "-q", "origin", "refs/kb/sections:refs/kb/sections")
    done = clone.run("search", "hive")
    assert (done.code, done.err) == (0, "indexing 6 sections\n")


def test_status_writes_nothing(kb, tmp_path):
    kb.git("clone", "-q", ".", str(tmp_path / "clone"))
    clone = Kb(tmp_path / "clone")
    before = files_below(clone.path(".git"))
    status = clone.json("status")
    assert (status["documents"], status["not_indexed"]) == (3, 6)
    assert files_below(clone.path(".git")) == before


def test_views_of_many_commits_do_not_pile_up(kb):
    for n in range(25):
        kb.write("notes.txt", f"Note number {n}.\n")
        kb.ok("ingest", "-q", "--no-index")
        kb.commit(f"note {n}")
    for n in range(25):
        assert found(kb, "note", "--at", f"HEAD~{n}")
    views = [name for name in kb.kb_files() if name.startswith("views/")]
    assert len(views) <= 20
    assert found(kb, "number")
    kb.check()


def test_an_empty_knowledge_base(tmp_path):
    kb = Kb.create(tmp_path / "repo", files={})
    kb.ok("init", "-q")
    kb.commit("empty")
    for args in ([], ["--at", "HEAD"], ["--cached"]):
        assert kb.run("search", *args, "x").code == 1
    assert kb.json("status")["documents"] == 0
    assert kb.ok("ls-documents") == ""
    assert kb.run("ingest").code == 0
    kb.check()
    for name, text in CORPUS.items():
        kb.write(name, text)
    kb.ok("ingest", "-q")
    assert found(kb, "hive")


def test_a_revision_without_a_name_is_none(kb):
    """`--since "$UNSET"` must not mean everything."""
    for option in ("--at", "--since"):
        done = kb.run("search", option, "", "hive")
        assert (done.code, done.out) == (128, "")
        assert "unknown revision ''" in done.err


def test_bytes_that_are_no_text_keep_json_whole(kb):
    done = process(kb.top, "search", "--json", b"\xff hive")
    assert json.loads(done.out.encode())["query"].endswith(" hive")


REPLACED = ["HEAD:notes.txt", "HEAD:kb/documents/notes.txt.toml", "HEAD~1", "HEAD~1^{tree}", "section"]


@pytest.mark.parametrize("backend", ["pygit2", "dulwich"])
@pytest.mark.parametrize("name", REPLACED)
def test_an_id_means_the_object_that_has_it_whatever_git_replace_says(kb, name, backend):
    kb.write("notes.txt", "The queen is marked.\n")
    kb.ok("ingest", "-q")
    kb.commit("a queen")
    if name == "section":
        name = kb.git("ls-tree", "-r", "--format=%(objectname)", "refs/kb/sections").split("\n")[0]
    commands = [
        *(
            ["search", "queen swarm hive"],
            ["search", "--at", "HEAD~1", "queen swarm hive"],
            ["search", "--since", "HEAD~1", "queen"],
        ),
        *(["ls-sections", "--at", "HEAD"], ["ls-sections", "--at", "HEAD~1"], ["log"], ["log", "notes.txt"], ["show", "notes.txt"]),
        *(["recall", "docs/guide.md"], ["search", "after:2001-01-01 queen"], ["query", "queen"], ["search", "swarm."], ["fsck"]),
    ]

    def answers():
        kb.ok("ingest", "-q", "-f", GIT_KB_BACKEND=backend)
        return kb.manifests(), [kb.run(*command, GIT_KB_BACKEND=backend).out for command in commands]

    before = answers()
    kind = kb.git("cat-file", "-t", name)
    other = {"blob": "notes.txt", "tree": "HEAD^{tree}", "commit": "HEAD"}[kind]
    if kind == "blob":
        kb.write("other", "Something else.\n")
        other = kb.git("hash-object", "-w", "other")
        os.unlink(kb.path("other"))
    kb.git("replace", name, other)
    shutil.rmtree(kb.path(".git/kb"))
    assert answers() == before


@pytest.mark.parametrize(
    "command",
    [
        ["search", "--since", "HEAD~1", "ants"],
        ["search", "--at", "HEAD~1", "bees"],
        ["ls-documents", "--at", "HEAD~1"],
        ["ls-sections", "--at", "HEAD~1"],
        ["show", "--at", "HEAD~1", "a.md"],
        ["query", "--at", "HEAD~1", "bees"],
    ],
)
def test_a_partial_clone_without_its_remote_says_so_in_one_line(tmp_path, command):
    far = Kb.create(tmp_path / "far", {"a.md": "# A\n\nBees.\n"})
    far.ok("init", "-q")
    for text in ("Bees.", "Ants."):
        far.write("a.md", f"# A\n\n{text}\n")
        far.ok("ingest", "-q")
        far.commit(text)
    far.git("config", "uploadpack.allowFilter", "true")
    far.git("clone", "-q", "--filter=blob:none", f"file://{far.top}", str(tmp_path / "near"))
    os.rename(far.top, tmp_path / "gone")
    done = Kb(tmp_path / "near").run(*command)
    assert (done.code, done.out) == (128, "")
    *notes, said, hint = done.err.splitlines()
    assert not any("fatal" in note for note in notes)
    assert said.startswith("fatal: object '")
    assert "this partial clone left out what is needed, and git cannot fetch it: " in said
    assert hint == "hint: check the remote ('git remote -v') and the connection, then try again"
