"""What an ingest writes, and what it leaves as it is."""

import json
import os
import shutil
import subprocess
import time

import pytest
from kb import CORPUS, GUIDE, Kb, command, process, process_environ

from git_kb.ingest import ingest as ingest_module
from git_kb.store.manifest import parse_manifest


@pytest.fixture
def kb(tmp_path):
    return Kb.ready(tmp_path / "repo")


def manifest(kb, name):
    return parse_manifest(kb.read(f"kb/documents/{name}.toml").decode(), f"{name}.toml")


def stats(kb):
    """Return path -> what tells whether a file was written again."""
    found = {}
    for top in ("kb", ".git/kb"):
        for directory, _, names in os.walk(os.path.join(kb.top, top)):
            for name in names:
                status = os.lstat(os.path.join(directory, name))
                found[os.path.join(directory, name)] = (status.st_mtime_ns, status.st_ino, status.st_size)
    return {path: stat for path, stat in found.items() if not path.endswith("lock.guard")}


def test_a_second_ingest_rewrites_nothing(kb):
    before, pool = stats(kb), kb.git("rev-parse", "refs/kb/sections")
    data = kb.json("ingest")
    assert (data["new"], data["changed"], data["unchanged"], data["sections"], data["sections_new"]) == ([], [], 3, 0, 0)
    assert stats(kb) == before
    assert kb.git("rev-parse", "refs/kb/sections") == pool
    assert kb.git("status", "--porcelain") == ""


def test_a_forced_ingest_cuts_all_and_still_rewrites_nothing(kb):
    before, pool = stats(kb), kb.git("rev-parse", "refs/kb/sections")
    data = kb.json("ingest", "--force")
    assert (data["new"], data["changed"], data["unchanged"], data["sections"], data["sections_new"]) == ([], [], 3, 6, 0)
    assert stats(kb) == before
    assert kb.git("rev-parse", "refs/kb/sections") == pool


def test_a_touched_source_is_unchanged(kb):
    os.utime(kb.path("notes.txt"), (1, 1))
    assert kb.json("ingest")["unchanged"] == 3


def test_manifests_say_nothing_of_time_or_place(kb, tmp_path):
    """The same sources give the same bytes in another repository, at another time."""
    other = Kb.create(tmp_path / "elsewhere" / "deep", CORPUS)
    other.ok("init", "-q")
    other.ok("ingest", "-q", SOURCE_DATE_EPOCH="1")
    assert other.manifests() == kb.manifests()
    assert other.pool_tree() == kb.pool_tree()
    assert other.segments() == kb.segments()


def test_a_changed_source_keeps_the_sections_that_did_not_change(kb):
    before = manifest(kb, "docs--guide.md")
    kb.write("docs/guide.md", GUIDE.replace("syrup", "fondant"))
    data = kb.json("ingest")
    assert (data["new"], data["changed"], data["unchanged"], data["sections_new"]) == ([], ["docs/guide.md"], 2, 1)
    after = manifest(kb, "docs--guide.md")
    assert after.blob == kb.git("hash-object", "docs/guide.md") != before.blob
    assert [r.kbid for r in after.sections[:2]] == [r.kbid for r in before.sections[:2]]
    assert [r.supersedes for r in after.sections] == ["", "", before.sections[2].kbid]
    assert kb.json("ingest")["unchanged"] == 3
    kb.commit()
    assert kb.json("ingest")["unchanged"] == 3
    kb.check()


@pytest.mark.parametrize("staged", ["no", "old", "yes"])
def test_the_blob_is_that_of_what_was_cut(kb, staged):
    """Not that of the index, when the work tree has something else."""
    kb.write("notes.txt", "Staged words.\n")
    if staged != "no":
        kb.git("add", "notes.txt")
    if staged != "yes":
        kb.write("notes.txt", "Words on disk.\n")
    kb.ok("ingest")
    assert manifest(kb, "notes.txt").blob == kb.git("hash-object", "notes.txt")
    assert kb.json("status")["stale"] == []
    assert kb.json("ingest")["unchanged"] == 3
    kb.check()


def test_supersedes_follows_the_heading(kb):
    """source_key finds the section again when it moved within the document; a renamed heading supersedes nothing."""
    before = {r.heading[-1]: r for r in manifest(kb, "docs--guide.md").sections}
    kb.write(
        "docs/guide.md", "# Guide\n\nHow to keep bees.\n\n## Feed the colony\n\nFeed fondant.\n\n## Mount the hive\n\nOn a stand.\n"
    )
    kb.ok("ingest")
    after = {r.heading[-1]: r for r in manifest(kb, "docs--guide.md").sections}
    assert after["Feed the colony"].supersedes == before["Feed the colony"].kbid
    assert after["Mount the hive"].supersedes == ""
    kb.write("docs/guide.md", kb.read("docs/guide.md").replace(b"On a stand", b"On two stands"))
    kb.ok("ingest")
    # A section that stays as it is keeps what it says of its past.
    assert {r.heading[-1]: r for r in manifest(kb, "docs--guide.md").sections}["Feed the colony"] == after["Feed the colony"]


def test_a_renamed_source_moves_its_document(kb):
    before = manifest(kb, "docs--guide.md")
    kb.ok("ingest", "docs/guide.md", "--tag", "bees", "--tier", "S")
    kb.commit()
    kb.git("mv", "docs/guide.md", "docs/manual.md")
    done = kb.run("ingest")
    assert "moved docs/guide.md -> docs/manual.md" in done.err
    assert kb.documents() == ["docs--manual.md", "notes.txt", "src--weigh.py"]
    after = manifest(kb, "docs--manual.md")
    assert (after.moved_from, after.tags, after.tier) == ("docs/guide.md", ("bees",), "S")
    assert [r.kbid for r in after.sections] == [r.kbid for r in before.sections]
    assert kb.json("ingest")["gone"] == []
    assert "manual.md:9" in kb.ok("search", "syrup")
    kb.commit()
    kb.check()


def test_a_renamed_and_edited_source(kb):
    kb.git("mv", "docs/guide.md", "manual.md")
    kb.write("manual.md", GUIDE.replace("syrup", "fondant"))
    data = kb.json("ingest")
    assert data["moved"] == [{"from": "docs/guide.md", "to": "manual.md"}]
    assert (data["new"], data["gone"], data["sections_new"]) == ([], [], 1)
    assert "docs--guide.md" not in kb.documents()


def test_a_copy_is_no_move(kb):
    kb.write("copy.md", GUIDE)
    data = kb.json("ingest")
    assert (data["new"], data["moved"], data["sections_new"]) == (["copy.md"], [], 0)
    assert manifest(kb, "copy.md").moved_from == ""


def test_a_new_source_unlike_the_vanished_one_is_no_move(kb):
    os.unlink(kb.path("notes.txt"))
    kb.write("fresh.txt", "Something else entirely.\n")
    data = kb.json("ingest")
    assert (data["new"], data["moved"], data["gone"]) == (["fresh.txt"], [], ["notes.txt"])


def test_a_vanished_source_is_reported_and_dropped_on_demand(kb):
    os.unlink(kb.path("notes.txt"))
    done = kb.run("ingest")
    assert done.code == 0
    assert "warning: source 'notes.txt' is gone; 'git kb ingest --prune' drops its document\n" in done.err
    assert "notes.txt" in kb.documents()
    assert kb.run("search", "swarm").code == 0
    assert kb.json("status")["gone"] == ["notes.txt"]
    assert kb.json("ingest", "docs")["gone"] == []
    assert kb.json("ingest", "-n", "--prune")["pruned"] == ["notes.txt"]
    assert "notes.txt" in kb.documents()
    assert "dropped notes.txt" in kb.run("ingest", "--prune").err
    assert "notes.txt" not in kb.documents()
    assert kb.run("search", "swarm").code == 1
    assert kb.run("search", "--at", "HEAD", "swarm").code == 0
    kb.check()


def test_a_file_that_no_longer_can_be_used_keeps_its_document(kb):
    kb.write("notes.txt", b"\x00\x01\x02\xff" * 50)
    data = kb.json("ingest")
    assert [s["path"] for s in data["skipped"]] == ["notes.txt"]
    assert "notes.txt" in kb.documents()
    assert kb.json("status")["stale"] == ["notes.txt"]


@pytest.mark.parametrize("also", [[], ["--prune"], ["--force"], ["-j2"]])
def test_dry_run_writes_nothing(kb, also):
    kb.write("docs/guide.md", GUIDE.replace("syrup", "fondant"))
    kb.write("new.md", "# New\n\nRoyal jelly.\n")
    os.unlink(kb.path("notes.txt"))
    before, refs = stats(kb), kb.git("for-each-ref")
    objects = kb.git("count-objects", "-v")
    done = kb.run("ingest", "--dry-run", *also)
    assert done.code == 0
    assert "1 new, 1 changed" in done.err
    assert "would be new" in done.err
    assert (stats(kb), kb.git("for-each-ref")) == (before, refs)
    assert kb.git("count-objects", "-v") == objects
    assert kb.json("ingest", "-n")["sections_new"] == 2
    assert kb.json("ingest")["sections_new"] == 2


def test_tags_tier_and_title(kb):
    kb.ok("ingest", "docs", "--tag", "bees", "--tag", "a tag")
    assert manifest(kb, "docs--guide.md").tags == ("a tag", "bees")
    assert manifest(kb, "notes.txt").tags == ()
    kb.ok("ingest", "notes.txt", "--tier", "B", "--title", "Swarm diary")
    document = manifest(kb, "notes.txt")
    assert (document.tier, document.title) == ("B", "Swarm diary")
    assert kb.hits("diary") != []
    kb.write("notes.txt", "A swarm leaves in June.\n")
    kb.ok("ingest")
    document = manifest(kb, "notes.txt")
    assert (document.tier, document.title) == ("B", "Swarm diary")
    kb.check()


def test_what_only_the_manifest_knows_survives(kb):
    """Unknown keys of documents and rows stay when the source changes."""
    path = "kb/documents/docs--guide.md.toml"
    text = kb.read(path).decode()
    text = text.replace('type = "text/markdown"\n', 'type = "text/markdown"\nreviewed_by = "Ann"\n', 1)
    text = text.replace("n_bytes = 32\n", "n_bytes = 32\nnote = 7\n", 1) if "n_bytes = 32\n" in text else text
    kb.write(path, text)
    kb.write("docs/guide.md", GUIDE.replace("syrup", "fondant"))
    kb.ok("ingest")
    assert 'reviewed_by = "Ann"\n' in kb.read(path).decode()
    kb.check()


def many(n=60):
    files = {f"d{i % 5}/f{i:03}.md": f"# File {i}\n\nWords of number {i}.\n\n## Shared\n\nThe same everywhere.\n" for i in range(n)}
    files["bad.md"] = "\0\0\0"
    files["empty.md"] = ""
    return files


def test_workers_make_what_one_process_makes(tmp_path, monkeypatch):
    monkeypatch.setattr(ingest_module, "MIN_PARALLEL", 10)
    monkeypatch.setattr(ingest_module, "LOT_SOURCES", 7)
    made = []
    for jobs in ("1", "2"):
        kb = Kb.create(tmp_path / jobs, many())
        kb.ok("init", "-q", "--name", "same")
        data = kb.json("ingest", "-j", jobs)
        kb.check()
        made.append((data, kb.manifests(), kb.pool_tree(), kb.segments()))
    assert made[0] == made[1]
    assert len(made[0][0]["new"]) == 60
    assert [s["path"] for s in made[0][0]["skipped"]] == ["bad.md", "empty.md"]


def test_batches_make_what_one_batch_makes(tmp_path, monkeypatch):
    made = []
    for size in (1 << 30, 500):
        monkeypatch.setattr(ingest_module, "BATCH_BYTES", size)
        kb = Kb.create(tmp_path / str(size), many(30))
        kb.ok("init", "-q", "--name", "same")
        kb.ok("ingest")
        made.append((kb.manifests(), kb.pool_tree(), kb.segments()))
        n_commits = int(kb.git("rev-list", "--count", "refs/kb/sections"))
        assert n_commits == 1 if size > 500 else n_commits > 3
        kb.check()
    assert made[0] == made[1]


def test_more_sections_than_are_kept_loose(tmp_path, monkeypatch):
    """Many sections come in one pack, few as loose objects; nobody sees a difference."""
    kb = Kb.create(tmp_path / "repo", many(150))
    kb.ok("init", "-q")
    kb.ok("ingest", "-q")
    assert any(name.endswith(".pack") for name in os.listdir(kb.path(".git/objects/pack").decode()))
    kb.check()


CRLF = GUIDE.replace("\n", "\r\n").encode()


def test_sources_are_read_as_git_would_store_them(tmp_path):
    """With core.autocrlf a checkout with CRLF line ends gives the manifests of the LF blobs."""
    plain = Kb.ready(tmp_path / "plain", {"docs/guide.md": GUIDE})
    kb = Kb.create(tmp_path / "repo", {})
    kb.git("config", "core.autocrlf", "true")
    kb.write("docs/guide.md", CRLF)
    kb.ok("init", "-q")
    kb.ok("ingest")
    assert kb.manifests() == plain.manifests()
    kb.commit()
    kb.git("rm", "-q", "-r", "--cached", ".")
    kb.git("reset", "-q", "--hard")
    assert kb.read("docs/guide.md") == CRLF
    assert kb.json("ingest")["unchanged"] == 1
    assert kb.json("status")["stale"] == []
    kb.check()


def test_manifests_checked_out_with_crlf_are_read(tmp_path):
    kb = Kb.ready(tmp_path / "repo")
    for name, data in kb.manifests().items():
        kb.write(f"kb/documents/{name}", b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n"))
    assert kb.run("search", "syrup").code == 0
    assert kb.json("ingest")["unchanged"] == 3


def test_crlf_sources_without_conversion(tmp_path):
    """Ranges count the bytes that git stores, sections are canonical all the same."""
    plain = Kb.ready(tmp_path / "plain", {"docs/guide.md": GUIDE})
    kb = Kb.ready(tmp_path / "repo", {"docs/guide.md": CRLF})
    assert kb.pool_tree() == plain.pool_tree()
    rows = manifest(kb, "docs--guide.md").sections
    assert sum(r.n_bytes for r in rows) == len(CRLF)
    kb.check()


def test_branches_that_ingest_different_sources_merge(kb):
    for branch, word in (("left", "hornet"), ("right", "wasp")):
        kb.git("switch", "-q", "-c", branch, "main")
        kb.write(f"{branch}.md", f"# {branch}\n\nAbout the {word}.\n")
        kb.ok("ingest", "-q")
        kb.commit(branch)
    kb.git("merge", "-q", "-m", "both", "left")
    for word in ("hornet", "wasp", "syrup"):
        done = kb.run("search", word)
        assert (done.code, done.err) == (0, "")
    assert kb.json("ingest")["unchanged"] == 5
    assert kb.git("status", "--porcelain") == ""
    kb.check()


def test_edits_of_different_sections_on_two_branches_merge(kb):
    kb.git("switch", "-q", "-c", "left")
    kb.write("docs/guide.md", GUIDE.replace("level ground", "a stone"))
    kb.ok("ingest", "-q")
    kb.commit("left")
    kb.git("switch", "-q", "-c", "right", "main")
    kb.write("docs/guide.md", GUIDE.replace("syrup", "fondant"))
    kb.ok("ingest", "-q")
    kb.commit("right")
    done = kb.git("merge", "-q", "-m", "both", "left", check=False)
    # The blob's line differs on both sides; everything else merges, and an ingest settles it.
    assert "UU docs/guide.md" not in kb.git("status", "--porcelain"), done
    kb.ok("ingest")
    kb.commit("settled")
    assert kb.run("search", "fondant").code == kb.run("search", "stone").code == 0
    kb.check()


SLOW = """
import sys, time
from git_kb.repo import lockfile
from git_kb.ingest import ingest as module
write = module.write_manifest
def slow(*args):
    open(sys.argv[1], "w").close()
    time.sleep(float(sys.argv[2]))
    write(*args)
module.write_manifest = slow
from git_kb.cli.main import main
sys.exit(main(sys.argv[3:]))
"""


def start_slow(kb, sign, seconds, *args):
    """Start an ingest that takes its time over each manifest; return when it holds the lock."""
    import sys

    started = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(sign), str(seconds), *args], cwd=kb.top, env=process_environ(), stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 30
    while not os.path.exists(sign):
        assert started.poll() is None, started.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return started


def test_two_ingests_at_once(tmp_path):
    """The second waits for the first; both end well and nothing is lost."""
    kb = Kb.create(tmp_path / "repo", {})
    kb.ok("init", "-q")
    kb.write("a.md", "# A\n\nAnt.\n")
    kb.write("b/b.md", "# B\n\nBee.\n")
    first = start_slow(kb, tmp_path / "sign", 1, "ingest", "a.md")
    second = process(kb.top, "ingest", "b")
    _, err = first.communicate(timeout=60)
    assert (first.returncode, second.code) == (0, 0), (err, second)
    assert kb.documents() == ["a.md", "b--b.md"]
    assert kb.run("search", "ant").code == kb.run("search", "bee").code == 0
    kb.check()


def test_a_writer_that_waited_in_vain_names_the_holder(kb, tmp_path, monkeypatch):
    from git_kb.cli.env import Env

    kb.write("new.md", "# New\n\nHornet.\n")
    first = start_slow(kb, tmp_path / "sign", 3, "ingest", "new.md")
    lock = Env.lock
    monkeypatch.setattr(Env, "lock", lambda self, operation, wait_s=0.1: lock(self, operation, wait_s))
    done = kb.run("ingest")
    assert done.code == 128
    assert f"lock' is held by process {first.pid} ('ingest', for " in done.err
    assert "hint: wait for it to end" in done.err
    # Readers do not wait.
    assert kb.run("search", "syrup").code == 0
    first.communicate(timeout=60)
    assert first.returncode == 0
    assert kb.json("ingest")["unchanged"] == 4
    kb.check()


def test_the_lock_of_a_dead_process_is_taken_over(kb):
    dead = subprocess.Popen(command("--version"), stdout=subprocess.DEVNULL, env=process_environ())
    dead.wait()
    kb.write("new.md", "# New\n\nHornet.\n")
    holder = {
        "pid": dead.pid,
        "host": os.uname().nodename,
        "namespace": os.readlink("/proc/self/ns/pid"),
        "start": "",
        "operation": "ingest",
        "ts": int(time.time()),
        "token": "x",
    }
    kb.write(".git/kb/lock", json.dumps(holder))
    done = kb.run("ingest")
    assert done.code == 0
    assert f"lock' of process {dead.pid} ('ingest'): that process is gone\n" in done.err
    assert done.err.startswith("warning: took over the lock '")
    assert not os.path.exists(kb.path(".git/kb/lock"))


def test_many_ingests_and_searches_at_once(tmp_path):
    kb = Kb.create(
        tmp_path / "repo", {f"d{i}/f{j}.md": f"# F {i} {j}\n\nCommon text {i} {j}.\n" for i in range(4) for j in range(5)}
    )
    kb.ok("init", "-q")
    started = [
        subprocess.Popen(command("ingest", f"d{i}"), cwd=kb.top, env=process_environ(), stderr=subprocess.PIPE) for i in range(4)
    ]
    started.append(
        subprocess.Popen(
            command("search", "common"), cwd=kb.top, env=process_environ(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
    )
    errors = [p.communicate(timeout=90)[1].decode() for p in started]
    assert [p.returncode for p in started[:4]] == [0] * 4, errors
    assert started[4].returncode in (0, 1)
    assert not any("Traceback" in e for e in errors)
    assert len(kb.documents()) == 20
    assert kb.json("search", "common", "--limit", "100")["total"] == 20
    kb.check()


def _conflict(data, at):
    """Put the markers of a conflict around one line of a manifest, as git merge leaves them."""
    lines = data.split(b"\n")
    lines[at : at + 1] = [b"<<<<<<< ours", lines[at], b"=======", b"other", b">>>>>>> theirs"]
    return b"\n".join(lines)


DAMAGE = {
    "truncated in the head": lambda data: data[: data.index(b"source") + 4],
    "truncated in the first row": lambda data: data[: data.index(b"chunk = ") + 9],
    "truncated in the last row": lambda data: data[:-4],
    "conflict in the head": lambda data: _conflict(data, 4),
    "conflict in a row": lambda data: _conflict(data, 9),
    "junk": lambda data: b"not a manifest\n",
    "zeros": lambda data: bytes(len(data)),
    "empty": lambda data: b"",
    "not UTF-8": lambda data: data.replace(b"title", b"t\xfftle"),
    "cut off after the head": lambda data: data[: data.index(b"\n[[sections]]")],
    "cut off before the last row": lambda data: data[: data.rindex(b"\n[[sections]]")],
    "a row lost in the middle": lambda data: (
        data[: (at := data.index(b"\n[[sections]]"))] + data[data.index(b"\n[[sections]]", at + 1) :]
    ),
    "a row twice": lambda data: data + data[data.rindex(b"\n[[sections]]") :],
    "a wrong kbid": lambda data: data.replace(b'kbid = "', b'kbid = "0'),
    "another docid": lambda data: data.replace(b'docid = "', b'docid = "other-'),
    "a count too large": lambda data: data.replace(b"n_bytes = ", b"n_bytes = 99999999"),
}


@pytest.mark.parametrize("seen", [False, True], ids=["not seen before", "seen by a search"])
@pytest.mark.parametrize("harm", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_manifest_is_written_anew(kb, harm, seen):
    name = "kb/documents/docs--guide.md.toml"
    before = kb.read(name)
    assert harm(before) != before
    kb.write(name, harm(before))
    if seen:
        kb.run("search", "bees")
    done = kb.run("ingest", "-v", "docs")
    assert done.code == 0
    assert "sources: 0 new, 1 changed, 0 unchanged, 0 skipped" in done.err
    assert done.err.count("manifest 'docs--guide.md.toml' is damaged: ") == 1
    assert kb.read(name) == before
    again = kb.run("ingest")
    assert again.err.startswith("sources: 0 new, 0 changed, 3 unchanged")
    kb.check()


def test_what_only_the_head_of_a_damaged_manifest_knows_is_kept(kb):
    kb.ok("ingest", "--tag", "honey", "--tier", "A", "docs")
    before = kb.read("kb/documents/docs--guide.md.toml")
    kb.write("kb/documents/docs--guide.md.toml", before[:-4])
    assert kb.json("ingest")["changed"] == ["docs/guide.md"]
    assert kb.read("kb/documents/docs--guide.md.toml") == before


def test_a_dry_run_tells_that_a_damaged_manifest_would_be_written_anew(kb):
    kb.write("kb/documents/docs--guide.md.toml", "junk")
    assert kb.json("ingest", "-n")["changed"] == ["docs/guide.md"]
    assert kb.read("kb/documents/docs--guide.md.toml") == b"junk"


def test_a_damaged_manifest_keeps_its_source_among_the_documents(kb):
    """The patterns leave the source out, but it is a document."""
    config = json.loads(kb.read("kb.config.json"))
    config["sources"]["exclude"].append("docs/**")
    kb.write("kb.config.json", json.dumps(config))
    before = kb.read("kb/documents/docs--guide.md.toml")
    kb.write("kb/documents/docs--guide.md.toml", "junk")
    assert kb.json("ingest")["changed"] == ["docs/guide.md"]
    assert kb.read("kb/documents/docs--guide.md.toml") == before


def test_a_damaged_manifest_whose_source_is_gone_is_told_and_pruned(kb):
    kb.write("kb/documents/docs--guide.md.toml", kb.read("kb/documents/docs--guide.md.toml")[:-4])
    os.unlink(kb.path("docs/guide.md"))
    assert kb.json("ingest")["gone"] == ["docs/guide.md"]
    assert kb.json("ingest", "--prune")["pruned"] == ["docs/guide.md"]
    assert "docs--guide.md" not in kb.documents()


@pytest.mark.parametrize("args", [[], ["-f"]])
def test_a_manifest_of_a_later_format_is_left_alone(kb, args):
    name = "kb/documents/docs--guide.md.toml"
    later = kb.read(name).replace(b"format = 1", b"format = 2")
    kb.write(name, later)
    data = kb.json("ingest", *args)
    assert data["skipped"] == [{"path": "docs/guide.md", "reason": "its manifest has format 2; upgrade git-kb to read it"}]
    assert (data["new"], data["changed"]) == ([], [])
    assert kb.read(name) == later


@pytest.mark.parametrize("indexed", [False, True], ids=["without an index", "indexed"])
def test_sources_in_another_form_on_disk_are_no_damage(tmp_path, indexed):
    """What the rows cover is the blob, which a checkout with other line ends does not have the size of."""
    kb = Kb.create(tmp_path / "repo", {".gitattributes": "*.md text eol=crlf\n", "a.md": "# A\r\n\r\nText.\r\n"})
    kb.ok("init", "-q")
    kb.ok("ingest", "-q")
    if not indexed:
        shutil.rmtree(kb.path(".git/kb/views"))
    done = kb.run("ingest")
    assert done.err.startswith("sources: 0 new, 0 changed, 1 unchanged")
    assert "warning" not in done.err
    rows = "kb/documents/a.md.toml"
    before = kb.read(rows)
    kb.write(rows, before.replace(b"n_bytes = ", b"n_bytes = 1"))
    done = kb.run("ingest")
    assert "manifest 'a.md.toml' is damaged: its rows cover 1" in done.err
    assert kb.read(rows) == before


@pytest.mark.parametrize("indexed", [False, True], ids=["without an index", "indexed"])
def test_a_manifest_that_another_process_wrote_is_seen(kb, indexed):
    """Between two ingests, by its time alone or by its content."""
    if not indexed:
        shutil.rmtree(kb.path(".git/kb/views"))
    name = "kb/documents/docs--guide.md.toml"
    before = kb.read(name)
    kb.write(name, before.replace(before[before.index(b"blob = ") + 8 :][:40], 40 * b"1"))
    assert kb.json("ingest", "docs/guide.md")["changed"] == ["docs/guide.md"]
    assert kb.read(name) == before


def test_a_named_source_takes_one_look_at_the_manifests(kb, monkeypatch):
    """With many manifests, looking at each of them is most of what a small ingest costs."""
    from git_kb.store import documents, viewfile

    calls = []
    look = documents.stamp_directory
    monkeypatch.setattr(documents, "stamp_directory", lambda directory: calls.append(directory) or look(directory))
    monkeypatch.setattr(viewfile.View, "stamps", lambda self: calls.append("stamps"))
    kb.write("docs/guide.md", "# Other\n\nText.\n")
    assert kb.json("ingest", "docs/guide.md")["changed"] == ["docs/guide.md"]
    assert len(calls) == 1
    assert kb.json("search", "other")["total"] == 1


def test_only_facts_of_sound_manifests_are_kept(tmp_path):
    """Whole manifests of a fresh clone, which has no index, would take memory by the hundred MB."""
    from git_kb.ingest.select import _Known

    kb = Kb.ready(tmp_path / "repo")
    shutil.rmtree(kb.path(".git/kb/views"))
    kb.write("kb/documents/notes.txt.toml", "junk")
    said = []
    known = _Known(kb.place(), said.append)
    blob = kb.git("hash-object", "docs/guide.md").strip()
    for _ in range(2):
        assert known.covered("docs--guide.md", blob) == len(kb.read("docs/guide.md"))
        assert known.covered("docs--guide.md", 40 * "0") is None
        assert known.covered("notes.txt", blob) is None
    assert len(said) == 1
    assert known._facts == {"docs--guide.md.toml": ("docs/guide.md", blob, len(kb.read("docs/guide.md")))}
    assert known._unusable == {"notes.txt.toml": (None, True)}


@pytest.mark.parametrize("value", ["", " ", "\t\n", "\x01"])
@pytest.mark.parametrize("option", ["--title", "--tier", "--tag"])
def test_an_empty_value_is_refused_and_changes_nothing(kb, option, value):
    """Taken for no option at all, it would say that it had done something."""
    before = stats(kb)
    done = kb.run("ingest", option, value, "docs/guide.md")
    assert done.code == 129
    assert option in done.err.splitlines()[0]
    assert stats(kb) == before
