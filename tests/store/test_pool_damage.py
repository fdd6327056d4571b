"""A pool whose objects or whose ref are damaged: what is refused, and what is mended from the sources."""

import os
import subprocess
import zlib

import pytest
from kb import Kb, git, needs_reftable
from odd import named_pipe

from git_kb.repo.loose import drop_damaged_loose, read_loose, replace_loose
from git_kb.repo.open import open_repository
from git_kb.repo.protocol import DamagedObject
from git_kb.repo.regular import InTheWay
from git_kb.store import pool as pool_module
from git_kb.store.pool import BadPool, Pool, pool_commit
from git_kb.store.root import POOL_REF

BACKENDS = ["libgit2", "dulwich"]
DAMAGE = {
    "cut": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "junk": lambda data: b"junk",
    "another": lambda data: zlib.compress(b"blob 3\0abc"),
    "flipped": lambda data: data[:20] + bytes([data[20] ^ 255]) + data[21:],
    "gone": None,
}


@pytest.fixture
def kb(tmp_path):
    return Kb.ready(tmp_path / "repo")


def loose(kb, oid):
    return kb.path(f".git/objects/{oid[:2]}/{oid[2:]}").decode()


def damage(kb, name, how):
    """Damage the loose object that `name` stands for, and return where it is."""
    path = loose(kb, kb.git("rev-parse", name))
    with open(path, "rb") as file:
        data = file.read()
    os.unlink(path)
    if DAMAGE[how] is not None:
        with open(path, "wb") as file:
            file.write(DAMAGE[how](data))
    return path


def a_section(kb):
    """Return (kbid, name of its object)."""
    kbid = kb.ok("ls-sections", "--format", "{kbid}").split()[2]
    return kbid, f"{POOL_REF}:{kbid[:2]}/{kbid[2:]}"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("mender", [("index", "--rebuild"), ("ingest", "-f")], ids=" ".join)
@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_section_is_made_again(kb, how, mender, backend):
    kbid, name = a_section(kb)
    whole = kb.ok("show", kbid)
    damage(kb, name, how)
    assert kb.run("cat-section", "-p", kbid).code == 128
    # What is shown comes from the source meanwhile.
    assert kb.ok("show", kbid) == whole
    found = kb.run("fsck")
    assert found.code == 1
    assert found.out.startswith(f"checksum_mismatch {kbid}: ")
    assert "'git kb ingest -f'" in found.err
    before = kb.git("rev-parse", POOL_REF)
    assert kb.run(*mender, GIT_KB_BACKEND=backend).code == 0
    assert kb.ok("cat-section", "-p", kbid) in whole
    assert kb.git("rev-parse", POOL_REF) == before
    kb.check()


@pytest.mark.parametrize("mender", [("index", "--rebuild"), ("ingest", "-f")], ids=" ".join)
def test_many_damaged_sections_are_mended_in_a_pack(kb, monkeypatch, mender):
    monkeypatch.setattr(pool_module, "LOOSE_LIMIT", 0)
    for kbid in kb.ok("ls-sections", "--format", "{kbid}").split():
        damage(kb, f"{POOL_REF}:{kbid[:2]}/{kbid[2:]}", "cut")
    assert kb.run(*mender).code == 0
    kb.check()


def test_other_hits_keep_their_content_beside_a_damaged_one(kb):
    _, name = a_section(kb)
    damage(kb, name, "cut")
    done = kb.run("search", "hive", "syrup", "swarm")
    assert done.code == 0
    assert "level ground" in done.out


def test_a_stored_section_is_mended(kb):
    kbid = kb.ok("hash-section", "-w", "--stdin", stdin=b"only here").strip()
    damage(kb, f"{POOL_REF}:{kbid[:2]}/{kbid[2:]}", "cut")
    kb.ok("hash-section", "-w", "--stdin", stdin=b"only here")
    assert kb.ok("cat-section", "-p", kbid) == "only here"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("how", [how for how in DAMAGE if how != "gone"])
@pytest.mark.parametrize("packed", [False, True])
def test_what_is_written_again_is_whole(kb, how, packed, backend):
    """Whether the damaged file is all there is, or a pack has the object too."""
    oid = kb.git("hash-object", "-w", "--stdin", input=b"some bytes")
    path = loose(kb, oid)
    if packed:
        with open(path, "rb") as file:
            data = file.read()
        kb.git("pack-objects", ".git/objects/pack/pack", input=oid.encode())
        os.unlink(path)
        with open(path, "wb") as file:
            file.write(DAMAGE[how](data))
    else:
        damage(kb, oid, how)
    with kb.repo(backend) as repo:
        assert repo.write_blob(b"some bytes") == oid
        assert repo.read_blob(oid) == b"some bytes"
    assert kb.git("cat-file", "blob", oid) == "some bytes"


def test_what_is_no_file_is_not_replaced(kb):
    oid = kb.git("hash-object", "-w", "--stdin", input=b"some bytes")
    path = loose(kb, oid)
    os.unlink(path)
    os.mkdir(path)
    with pytest.raises(InTheWay, match="not an object but a directory"):
        replace_loose(kb.path(".git/objects").decode(), oid, "blob", b"some bytes")
    assert not [name for name in os.listdir(os.path.dirname(path)) if name.startswith("tmp_obj_")]


def test_a_pipe_in_the_place_of_an_object_is_damage(kb):
    oid = kb.git("hash-object", "-w", "--stdin", input=b"some bytes")
    named_pipe(loose(kb, oid))
    directory = kb.path(".git/objects").decode()
    with pytest.raises(DamagedObject, match="named pipe"):
        read_loose([directory], oid, "sha1")
    drop_damaged_loose(directory, oid, "sha1")
    assert read_loose([directory], oid, "sha1") is None


# The ref.


def point(kb, how):
    """Point the pool's ref at something, and return what the message says of it."""
    main = kb.git("rev-parse", "main")
    if how in ("symref", "dangling symref"):
        target = "refs/heads/main" if how == "symref" else "refs/heads/nothing"
        kb.git("symbolic-ref", POOL_REF, target)
        return f"it is a symbolic ref to '{target}'"
    if how == "missing":
        kb.write(f".git/{POOL_REF}", "1" * 40 + "\n")
        return f"object '{'1' * 40}' is missing"
    if how == "junk":
        kb.write(f".git/{POOL_REF}", "junk\n")
        return "is not a ref"
    if how == "below":
        kb.git("update-ref", "-d", POOL_REF)
        kb.git("update-ref", POOL_REF + "/other", main)
        return "other refs are below"
    if how in ("commit", "tree of it", "subtree"):
        name = {"commit": POOL_REF, "tree of it": POOL_REF + "^{tree}", "subtree": a_section(kb)[1].rpartition("/")[0]}[how]
        damage(kb, name, "cut")
        return "is damaged"
    if how == "tag":
        kb.git("tag", "-a", "-m", "a tag", "v1", POOL_REF)
        name = "v1"
    else:
        name = {"blob": "main:notes.txt", "tree": "main^{tree}"}[how]
    kb.git("update-ref", POOL_REF, kb.git("rev-parse", name))
    return f"it names a {how}, not a commit"


HOW = ["symref", "dangling symref", "missing", "junk", "below", "commit", "tree of it", "subtree", "tag", "blob", "tree"]
COMMANDS = [
    ("ingest", "-f"),
    ("index", "--rebuild"),
    ("search", "syrup"),
    ("query", "syrup spring"),
    ("show", "notes.txt#"),
    ("status",),
    ("log",),
    ("fsck",),
    ("cat-section", "-p", "KBID"),
    ("hash-section", "-w", "--stdin"),
]


@pytest.mark.parametrize("how", HOW)
def test_a_pool_that_is_none_is_refused_and_nothing_is_written(kb, how):
    kbid, _ = a_section(kb)
    cited = kb.ok("ls-sections", "--format", "{citation}").split()[0]
    kb.write("new.md", "# New\n\nThe hornet.\n")
    why = point(kb, how)
    before = kb.git("for-each-ref", check=False)
    for args in COMMANDS:
        if how in ("tree of it", "subtree") and args[0] == "log":
            continue  # it looks at commits alone
        if how == "subtree" and args[0] in ("hash-section", "show"):
            continue
        args = [kbid if a == "KBID" else cited if a == "notes.txt#" else a for a in args]
        done = kb.run(*args, stdin=b"more text")
        assert done.code == 128, (args, done)
        assert f"fatal: the section pool '{POOL_REF}' cannot be used: " in done.err, (args, done)
        assert why in done.err
        assert f"git update-ref --no-deref -d {POOL_REF}" in done.err
    assert kb.git("for-each-ref", check=False) == before


@pytest.mark.parametrize("how", [how for how in HOW if how not in ("junk", "below")])
def test_the_advice_helps(kb, how):
    answers = kb.hits("syrup hive")
    point(kb, how)
    kb.git("update-ref", "--no-deref", "-d", POOL_REF)
    assert kb.run("ingest", "-f").code == 0
    assert kb.hits("syrup hive") == answers
    assert kb.json("fsck")["errors"] == []
    assert kb.git("rev-parse", "main") == kb.git("rev-parse", "HEAD")


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_write_goes_through_a_symbolic_ref(kb, backend):
    """Should the ref become one after it was looked at, the ref itself is replaced."""
    main = kb.git("rev-parse", "main")
    with kb.repo(backend) as repo:
        pool = Pool(repo)
        kb.git("symbolic-ref", POOL_REF, "refs/heads/main")
        with pytest.raises(BadPool):
            pool_commit(repo)
        repo.update_ref(POOL_REF, pool.commit, main, "back")
    assert kb.git("rev-parse", "main") == main
    assert kb.git("rev-parse", POOL_REF) == pool.commit


@needs_reftable
def test_a_pool_in_a_reftable(tmp_path):
    """Refs that are no files."""
    top = str(tmp_path / "repo")
    subprocess.run(["git", "init", "-q", "--ref-format=reftable", top], check=True)
    kb = Kb(top)
    kb.write("a.md", "# A\n\nThe hornet.\n")
    kb.commit()
    kb.ok("init", "-q")
    kb.ok("ingest", "-q")
    git("symbolic-ref", POOL_REF, "refs/heads/main", cwd=top)
    with open_repository(kb.place()) as repo, pytest.raises(BadPool, match="symbolic ref"):
        Pool(repo)
