"""What `protocol.Repository` promises, for both bodies, each answer held against git's own."""

import contextlib
import os
import random
import subprocess
import sys
import zlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kb import needs_reftable

import git_kb
from git_kb.repo.discover import discover
from git_kb.repo.ident import Ident
from git_kb.repo.objects import BadCommit, BadPath, object_id
from git_kb.repo.open import open_repository
from git_kb.repo.pack import write_blobs
from git_kb.repo.protocol import (
    DIRECTORY,
    EXECUTABLE,
    FILE,
    GITLINK,
    SYMLINK,
    DamagedObject,
    MissingObject,
    RefLocked,
    RefMoved,
    RefRefused,
    TreeEntry,
    UnknownRevision,
    WrongType,
)

from .gitrepo import ODD_NAMES, commit_all, git, init, line, write

ROOT = os.path.dirname(os.path.dirname(git_kb.__file__))
in_one_repo = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
SOMEONE = Ident("Jörg \udcff", "j@example.com", 1_600_000_000, "-0330")


def a_commit(repo, *parents, message="x", when=1_600_000_000, tree=None):
    tree = tree or repo.write_tree([])
    ident = Ident("A", "a@example.com", when)
    return repo.write_commit(tree, parents, message, ident, ident)


@in_one_repo
@given(st.binary(max_size=5000))
def test_blob_round_trip(repo, top, data):
    oid = repo.write_blob(data)
    assert oid == repo.write_blob(data) == object_id("blob", data, repo.place.object_format)
    assert repo.read_blob(oid) == data
    assert repo.read_object(oid) == ("blob", data)
    assert repo.has_object(oid)


def test_git_reads_what_we_write_and_the_other_way_round(repo, top):
    oid = repo.write_blob(b"ours")
    assert git("cat-file", "blob", oid, cwd=top) == b"ours"
    theirs = line("hash-object", "-w", "--stdin", cwd=top, input=b"theirs")
    assert repo.read_blob(theirs) == b"theirs"


def test_packs_of_other_processes_are_found(repo, top):
    """Loose objects and refs read before move into packs; new objects arrive in packs."""
    first = repo.write_blob(b"first")
    repo.update_ref("refs/kb/x", a_commit(repo, tree=repo.write_tree([TreeEntry(b"a", FILE, first)])), None, "kb: test")
    assert repo.read_blob(first) == b"first"
    at = repo.read_ref("refs/kb/x")
    for n in range(3):
        oid = line("hash-object", "-w", "--stdin", cwd=top, input=b"new %d" % n)
        tree = line("mktree", cwd=top, input=b"100644 blob %s\tf\n" % oid.encode())
        git("update-ref", f"refs/keep/{n}", tree, cwd=top)
        git("repack", "-adq", cwd=top)
        git("prune-packed", "-q", cwd=top)
        git("pack-refs", "--all", cwd=top)
        assert repo.read_blob(oid) == b"new %d" % n
        assert repo.read_blob(first) == b"first"
        assert repo.read_ref("refs/kb/x") == at
        assert repo.read_ref(f"refs/keep/{n}") == tree


def test_missing_and_wrong_objects_are_errors(repo):
    absent = "1" * repo.place.oid_hex_length
    assert not repo.has_object(absent)
    assert not repo.has_object("zz")
    for bad in (absent, "", "zz", absent[:-1], absent.upper() + "0", "../../x"):
        with pytest.raises(MissingObject):
            repo.read_object(bad)
    blob = repo.write_blob(b"x")
    with pytest.raises(WrongType, match="is a blob, not a tree"):
        repo.read_tree(blob)
    with pytest.raises(WrongType):
        repo.read_commit(blob)
    with pytest.raises(WrongType):
        repo.read_blob(repo.write_tree([]))


@pytest.mark.parametrize("n", [0, 1, 99, 100, 1000])
def test_write_blobs_goes_loose_for_few_and_packed_for_many(repo, top, n):
    oids = write_blobs(repo, (b"%d" % (i // 2) for i in range(n)))
    assert oids == [object_id("blob", b"%d" % (i // 2), repo.place.object_format) for i in range(n)]
    assert all(repo.read_blob(oid) == b"%d" % (i // 2) for i, oid in enumerate(oids))
    n_packs = len([name for name in os.listdir(f"{top}/.git/objects/pack") if name.endswith(".pack")])
    assert n_packs == (1 if n >= 100 else 0)


def damages(good, other):
    """Yield what may stand in a loose object's file after a crash, a bad disk, or malice."""
    yield from (b"", b"garbage", b"x\x9c", good[:10], good[: len(good) // 2], good[:-8], other)
    for header in (b"blob 4\0", b"blob 999999999\0", b"blob -1\0", b"blub 5\0", b"5\0", b"blob 5"):
        yield zlib.compress(header + b"hello")


def put(path, data):
    with open(path, "wb") as file:
        file.write(data)


def test_a_damaged_loose_object_is_an_error_not_its_bytes(tmp_path, body):
    top = init(tmp_path / "broken", body[1])
    oid, other = (line("hash-object", "-w", "--stdin", cwd=top, input=word * 100) for word in (b"hello", b"other"))
    path, other_path = (f"{top}/.git/objects/{name[:2]}/{name[2:]}" for name in (oid, other))
    os.chmod(path, 0o644)
    with open(path, "rb") as one, open(other_path, "rb") as two:
        good = one.read()
        files = list(damages(good, two.read()))
    for damage in files:
        put(path, damage)
        with open_repository(discover(top), body[0]) as repo:
            assert repo.has_object(oid)
            with pytest.raises(DamagedObject, match=oid):
                repo.read_blob(oid)
    for harmless in (good + b"more", good[:-1], good[:-4]):
        # All data is there, zlib's own checksum is not: what is read has the right hash, or is an error.
        put(path, harmless)
        with open_repository(discover(top), body[0]) as repo, contextlib.suppress(DamagedObject):
            assert repo.read_blob(oid) == b"hello" * 100


def test_a_damaged_loose_object_with_a_good_packed_copy_is_read(repo, top):
    write(top, "a", b"hello" * 100)
    commit_all(top)
    git("repack", "-adq", cwd=top)
    oid = line("rev-parse", "HEAD:a", cwd=top)
    os.makedirs(f"{top}/.git/objects/{oid[:2]}", exist_ok=True)
    path = write(top, f".git/objects/{oid[:2]}/{oid[2:]}", b"x\x9c")
    assert repo.read_blob(oid) == b"hello" * 100
    os.unlink(path)


@pytest.mark.parametrize("where", [0.3, 0.5, 0.9])
def test_a_damaged_pack_is_an_error(tmp_path, body, where):
    top = init(tmp_path / "broken", body[1])
    for n in range(20):
        write(top, f"f{n}", random.Random(n).randbytes(500))
    commit_all(top)
    git("repack", "-adq", cwd=top)
    (pack,) = [f"{top}/.git/objects/pack/{name}" for name in os.listdir(f"{top}/.git/objects/pack") if name.endswith(".pack")]
    os.chmod(pack, 0o644)
    with open(pack, "r+b") as file:
        file.seek(int(os.path.getsize(pack) * where))
        file.write(b"\0" * 600)
    n_damaged = 0
    with open_repository(discover(top), body[0]) as repo:
        for n in range(20):
            data = random.Random(n).randbytes(500)
            try:
                assert repo.read_blob(object_id("blob", data, body[1])) == data
            except DamagedObject:
                n_damaged += 1
    assert 0 < n_damaged < 20


def test_trees_are_sorted_as_git_sorts_them(repo, top):
    blob, empty = repo.write_blob(b"x"), repo.write_tree([])
    sub = repo.write_tree([TreeEntry(b"f", FILE, blob)])
    entries = [
        TreeEntry(b"a", DIRECTORY, sub),
        TreeEntry(b"a.b", FILE, blob),
        TreeEntry(b"a-b", EXECUTABLE, blob),
        TreeEntry(b"a0", SYMLINK, blob),
        TreeEntry(b"\xff\n", FILE, blob),
        TreeEntry(b"mod", GITLINK, "2" * repo.place.oid_hex_length),
    ]
    random.Random(1).shuffle(entries)
    oid = repo.write_tree(entries)
    listing = b"".join(b"%06o %s %s\t%s\0" % (m, t, o.encode(), n) for n, m, o in entries for t in [_type_name(m)])
    assert git("mktree", "-z", "--missing", cwd=top, input=listing).strip().decode() == oid
    assert [e.name for e in repo.read_tree(oid)] == [b"a-b", b"a.b", b"a", b"a0", b"mod", b"\xff\n"]
    assert sorted(repo.read_tree(oid)) == sorted(entries)
    assert repo.read_tree(empty) == []


def _type_name(mode):
    return {DIRECTORY: b"tree", GITLINK: b"commit"}.get(mode, b"blob")


BAD_NAMES = [b"", b".", b"..", b".git", b".GIT", b"a/b", b"a\0", b".git ", b"GIT~1", ".g\u200cit".encode(), b".git:x", b"x\\.git"]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_names_git_refuses_are_refused(repo, name):
    with pytest.raises(BadPath):
        repo.write_tree([TreeEntry(name, FILE, repo.write_blob(b"x"))])


def test_a_name_twice_and_odd_modes_are_refused(repo):
    blob = repo.write_blob(b"x")
    with pytest.raises(BadPath, match="twice"):
        repo.write_tree([TreeEntry(b"a", FILE, blob), TreeEntry(b"a", DIRECTORY, blob)])
    with pytest.raises(BadPath, match="mode"):
        repo.write_tree([TreeEntry(b"a", 0o100600, blob)])


def test_commits_say_what_git_reads(repo, top):
    tree = repo.write_tree([])
    first = repo.write_commit(tree, [], "subject\n\nbody ✓\n\n", SOMEONE, SOMEONE)
    second = repo.write_commit(tree, [first], "second")
    third = repo.write_commit(tree, [second, first], "merge", SOMEONE)
    assert git("log", "-1", "--format=%an|%ae|%ad|%B|%P", "--date=raw", first, cwd=top) == (
        b"J\xc3\xb6rg \xff|j@example.com|1600000000 -0330|subject\n\nbody \xe2\x9c\x93\n|\n"
    )
    assert line("log", "-1", "--format=%an %ad %cn %cd", "--date=raw", second, cwd=top) == (
        "A U Thor 1700000000 +0100 C O Mitter 1700000100 +0100"
    )
    commit = repo.read_commit(third)
    assert commit.parents == (second, first)
    assert (commit.tree, commit.author, commit.message) == (tree, SOMEONE, "merge\n")
    assert repo.read_commit(first).message == "subject\n\nbody ✓\n"
    with pytest.raises(BadCommit):
        repo.write_commit(tree, [], "a\0b")


def test_an_unknown_user_gets_a_stand_in(top, body, monkeypatch):
    for name in list(os.environ):
        if name.startswith(("GIT_AUTHOR", "GIT_COMMITTER")):
            monkeypatch.delenv(name)
    git("config", "user.useConfigOnly", "true", cwd=top)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1234567890")
    with open_repository(discover(top), body[0]) as repo:
        commit = repo.read_commit(repo.write_commit(repo.write_tree([]), [], "x"))
    assert commit.author == commit.committer == Ident("git-kb", "git-kb@localhost", 1234567890, "+0000")


def history(top):
    """A history with a merge, tags, a branch that moved, and files. Returns nothing: git knows all of it."""
    write(top, "docs/a.md", b"one\n")
    commit_all(top, "first commit")
    git("tag", "-a", "-m", "annotated", "v1", cwd=top)
    git("tag", "-a", "-m", "tag of a tag", "v1-again", "v1", cwd=top)
    git("tag", "blob-tag", "HEAD:docs/a.md", cwd=top)
    git("switch", "-q", "-c", "side", cwd=top)
    write(top, "docs/b.md", b"side\n")
    commit_all(top, "fix nasty bug")
    git("switch", "-q", "main", cwd=top)
    write(top, "docs/a.md", b"two\n")
    commit_all(top, "second commit", GIT_COMMITTER_DATE="1700000200 +0100")
    git("merge", "-q", "-m", "the merge", "side", cwd=top)


REVS = [
    "HEAD",
    "main",
    "side",
    "refs/heads/side",
    "v1",
    "v1-again",
    "HEAD~2",
    "HEAD^2",
    "HEAD^2~1",
    "main@{1}",
    "@{0}",
    "@",
    "HEAD:docs",
    "HEAD^{tree}",
    "v1^{tree}",
    ":/nasty",
    "HEAD^{/second}",
    "v1^0",
    "tags/v1",
    "heads/main",
    "side@{0}",
    "HEAD:",
    "@{-1}",
]


def test_every_revision_syntax_resolves_as_in_git(repo, top):
    history(top)
    for rev in REVS:
        wanted = line("rev-parse", "--verify", rev, cwd=top)
        if line("cat-file", "-t", wanted, cwd=top) == "tag":
            wanted = line("rev-parse", "--verify", rev + "^{}", cwd=top)
        assert repo.resolve(rev) == wanted, rev
        assert repo.tree_of(rev) == line("rev-parse", "--verify", wanted + "^{tree}", cwd=top), rev
    full = line("rev-parse", "HEAD", cwd=top)
    assert repo.resolve(full) == repo.resolve(full[:12]) == repo.resolve(full[:7].upper()) == full
    assert repo.resolve(line("rev-parse", "v1", cwd=top)) == line("rev-parse", "v1^{}", cwd=top)


@pytest.mark.parametrize(
    "rev",
    ["", "nothing", "-x", "--all", "--help", "--end-of-options", "HEAD:nothing", "HEAD~99", "^HEAD", "HEAD..HEAD", "main side", "a\0b",
     "\udcff", "refs/heads/nothing", "refs/heads/../HEAD", "HEAD:docs/a.md", "blob-tag", "@{99}", "1" * 40, "1" * 64, "-", "*", "refs/"],
)  # fmt: skip
def test_what_is_no_revision_is_an_error(repo, top, rev):
    history(top)
    with pytest.raises(UnknownRevision) as caught:
        repo.resolve(rev)
    assert caught.value.rev == rev


def test_unborn_and_detached_head(repo, top):
    assert repo.read_ref("HEAD") is None
    with pytest.raises(UnknownRevision):
        repo.resolve("HEAD")
    first = commit_all(top)
    assert repo.read_ref("HEAD") == repo.read_ref("refs/heads/main") == first
    git("checkout", "-q", "--detach", cwd=top)
    assert repo.read_ref("HEAD") == repo.resolve("HEAD") == first
    for name in (
        "refs/heads/none",
        "refs/heads/a..b",
        "",
        "refs",
        "refs/heads",
        "../config",
        "config",
        "refs/../HEAD",
        "refs/heads/\udcff",
    ):
        assert repo.read_ref(name) is None, name


def test_entries_by_path(repo, top):
    for name in ODD_NAMES:
        write(top, name, b"in " + name)
    commit_all(top)
    tree = repo.tree_of("HEAD")
    for name in ODD_NAMES:
        entry = repo.entry_at(tree, name)
        assert entry.name == name.rpartition(b"/")[2]
        assert repo.read_blob(entry.oid) == b"in " + name
    assert repo.entry_at(tree, b"dir").mode == DIRECTORY
    assert repo.entry_at(tree, b"") == TreeEntry(b"", DIRECTORY, tree)
    for name in (b"nothing", b"dir/nothing", b"plain.md/x", b"dir/", b"/dir", b"dir//sub dir"):
        assert repo.entry_at(tree, name) is None, name


def test_read_tree_gives_a_list_of_ones_own(repo):
    oid = repo.write_tree([TreeEntry(b"a", FILE, repo.write_blob(b"x"))])
    repo.read_tree(oid).clear()
    assert len(repo.read_tree(oid)) == 1


def test_update_ref_compares_and_swaps(repo, top):
    one, two, three = (a_commit(repo, message=str(n)) for n in range(3))
    name = "refs/kb/sections"
    repo.update_ref(name, one, None, "kb: one\nline")
    assert repo.read_ref(name) == line("rev-parse", name, cwd=top) == one
    repo.update_ref(name, two, one, "kb: two")
    for old, actual in ((one, two), (None, two), (three, two)):
        with pytest.raises(RefMoved) as caught:
            repo.update_ref(name, three, old, "kb: three")
        assert (caught.value.name, caught.value.expected, caught.value.actual) == (name, old, actual)
    with pytest.raises(RefMoved) as caught:
        repo.update_ref("refs/kb/none", three, one, "kb: no")
    assert (caught.value.expected, caught.value.actual) == (one, None)
    assert repo.read_ref(name) == two
    reflog = line("reflog", "show", "--format=%gs %gn %H", name, cwd=top).split("\n")
    assert reflog == [f"kb: two C O Mitter {two}", f"kb: one line C O Mitter {one}"]


def test_update_ref_of_packed_refs(repo, top):
    one, two = a_commit(repo, message="1"), a_commit(repo, message="2")
    repo.update_ref("refs/kb/x", one, None, "kb: one")
    git("pack-refs", "--all", cwd=top)
    with pytest.raises(RefMoved):
        repo.update_ref("refs/kb/x", two, None, "kb: no")
    with pytest.raises(RefRefused, match="'refs/kb/x' exists"):
        repo.update_ref("refs/kb/x/y", two, None, "kb: no")
    repo.update_ref("refs/kb/x", two, one, "")
    assert repo.read_ref("refs/kb/x") == two


def test_a_locked_ref_is_told_from_other_trouble(repo, top):
    git("config", "core.filesRefLockTimeout", "20", cwd=top)
    one = a_commit(repo)
    repo.update_ref("refs/kb/x", one, None, "kb: one")
    lock = write(top, ".git/refs/kb/x.lock", b"")
    with pytest.raises(RefLocked, match=r"refs/kb/x\.lock"):
        repo.update_ref("refs/kb/x", a_commit(repo, message="2"), one, "kb: two")
    os.unlink(lock)
    for name in ("refs/kb/x/y", "refs/kb", "refs/a..b", "refs/a b", "main", "-x", "refs/\0", "refs/x.lock", "refs/"):
        with pytest.raises(RefRefused):
            repo.update_ref(name, one, None, "kb: no")
    with pytest.raises(RefRefused, match="nonexistent object"):
        repo.update_ref("refs/kb/new", "1" * repo.place.oid_hex_length, None, "kb: no")


RACER = """if True:
    import sys
    from git_kb.repo.discover import discover
    from git_kb.repo.ident import Ident
    from git_kb.repo.open import open_repository
    from git_kb.repo.protocol import RefMoved, RefLocked
    top, backend, who, n = sys.argv[1:]
    with open_repository(discover(top), backend) as repo:
        for i in range(int(n)):
            while True:
                old = repo.read_ref("refs/kb/race")
                ident = Ident(who, "x@example.com", i)
                new = repo.write_commit(repo.write_tree([]), [old] if old else [], f"{who} {i}", ident, ident)
                try:
                    repo.update_ref("refs/kb/race", new, old, "kb: race")
                    break
                except (RefMoved, RefLocked):
                    continue
"""


def test_writers_that_race_lose_nothing(repo, top, body):
    """Four processes push eight commits each onto one ref: all 32 are in its history at the end."""
    argv = [sys.executable, "-c", RACER, top, body[0]]
    racers = [subprocess.Popen([*argv, f"w{n}", "8"], env={**os.environ, "PYTHONPATH": ROOT}) for n in range(4)]
    assert [racer.wait(60) for racer in racers] == [0, 0, 0, 0]
    subjects = line("log", "--format=%s", "refs/kb/race", cwd=top).split("\n")
    assert sorted(subjects) == sorted(f"w{n} {i}" for n in range(4) for i in range(8))


def test_same_object_from_many_processes(repo, top, body):
    code = """if True:
        import sys
        from git_kb.repo.discover import discover
        from git_kb.repo.open import open_repository
        with open_repository(discover(sys.argv[1]), sys.argv[2]) as repo:
            for n in range(150):
                repo.write_blob(b"%d" % n)
    """
    writers = [
        subprocess.Popen([sys.executable, "-c", code, top, body[0]], env={**os.environ, "PYTHONPATH": ROOT}) for _ in range(4)
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0, 0]


@in_one_repo
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 40)), min_size=1, max_size=25))
def test_commits_come_as_in_git_rev_list(repo, top, shape):
    """Random histories; dates differ, as git does not say which of two equals comes first."""
    commits = []
    for n, (first, second, skew) in enumerate(shape):
        parents = dict.fromkeys(commits[-1 - back] for back in (first, second) if back < len(commits))
        commits.append(a_commit(repo, *parents, message=str(n), when=1_600_000_000 + (n * 50 + skew * 10_007 + n) % 900))
    whens = [repo.read_commit(oid).committer.when for oid in dict.fromkeys(commits)]
    got = list(repo.iter_commits(commits[-1]))
    wanted = line("rev-list", "--date-order", commits[-1], cwd=top).split("\n")
    if len(set(whens)) == len(whens):
        assert got == wanted
    assert sorted(got) == sorted(wanted)
    seen = set()
    for oid in reversed(got):
        assert seen.issuperset(repo.read_commit(oid).parents)
        seen.add(oid)


def test_shallow_history_ends_at_the_boundary(top, body, tmp_path):
    for n in range(5):
        write(top, "a", b"%d" % n)
        commit_all(top, str(n), GIT_COMMITTER_DATE=f"{1700000000 + n} +0000")
    shallow = str(tmp_path / "shallow")
    git("clone", "-q", "--depth=2", f"file://{top}", shallow, cwd=top)
    with open_repository(discover(shallow), body[0]) as repo:
        commits = list(repo.iter_commits(repo.resolve("HEAD")))
        assert commits == line("rev-list", "HEAD", cwd=shallow).split("\n")
        assert len(commits) == 2
        assert repo.read_commit(commits[1]).parents == ()


def test_alternates_and_linked_work_trees(top, body, tmp_path):
    write(top, "a", b"shared")
    commit_all(top)
    git("clone", "-q", "--shared", top, str(tmp_path / "borrower"), cwd=top)
    git("worktree", "add", "-q", "-b", "other", str(tmp_path / "linked"), cwd=top)
    write(tmp_path / "linked", "b")
    commit_all(str(tmp_path / "linked"))
    for path in ("borrower", "linked"):
        with open_repository(discover(str(tmp_path / path)), body[0]) as repo:
            head = line("rev-parse", "HEAD", cwd=str(tmp_path / path))
            assert repo.read_ref("HEAD") == repo.resolve("HEAD") == head
            assert repo.read_blob(repo.entry_at(repo.tree_of("HEAD"), b"a").oid) == b"shared"
            repo.update_ref(f"refs/kb/{path}", head, None, "kb: test")
    assert line("rev-parse", "refs/kb/linked", cwd=top) == line("rev-parse", "other", cwd=top)


def test_bare_repository(tmp_path, body):
    top = init(tmp_path / "bare.git", body[1], "--bare")
    with open_repository(discover(top), body[0]) as repo:
        repo.update_ref("refs/heads/main", a_commit(repo), None, "kb: test")
        assert repo.resolve("HEAD") == line("rev-parse", "HEAD", cwd=top)


def test_environment_moves_the_object_database(top, body, tmp_path):
    """As in a receiving push: reads see the quarantine and the main database, writes go to the quarantine."""
    old = line("hash-object", "-w", "--stdin", cwd=top, input=b"old")
    quarantine = str(tmp_path / "quarantine")
    os.mkdir(quarantine)
    env = {**os.environ, "GIT_OBJECT_DIRECTORY": quarantine, "GIT_ALTERNATE_OBJECT_DIRECTORIES": f"{top}/.git/objects"}
    with open_repository(discover(top, env), body[0]) as repo:
        new = repo.write_blob(b"new")
        many = write_blobs(repo, [b"%d" % n for n in range(200)])
        assert [repo.read_blob(oid) for oid in (old, new, many[-1])] == [b"old", b"new", b"199"]
    assert git("cat-file", "-t", new, cwd=top, check=False) == git("cat-file", "-t", many[0], cwd=top, check=False) == b""
    assert git("cat-file", "blob", new, cwd=top, GIT_OBJECT_DIRECTORY=quarantine) == b"new"


def test_a_partial_clone_fetches_what_is_missing(top, body, tmp_path):
    write(top, "a", b"far away")
    commit_all(top)
    git("config", "uploadpack.allowFilter", "true", cwd=top)
    git("config", "uploadpack.allowAnySHA1InWant", "true", cwd=top)
    partial = str(tmp_path / "partial")
    git("clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{top}", partial, cwd=top)
    with open_repository(discover(partial), body[0]) as repo:
        oid = repo.entry_at(repo.tree_of("HEAD"), b"a").oid
        assert not repo.has_object(oid)
        assert repo.read_blob(oid) == b"far away"
    os.rename(top, top + "-gone")
    try:
        git("clone", "-q", "--no-checkout", "--no-local", partial, str(tmp_path / "again"), cwd=tmp_path, check=False)
        with open_repository(discover(partial), body[0]) as repo, pytest.raises(MissingObject):
            repo.read_blob("2" * 40)
    finally:
        os.rename(top + "-gone", top)


@needs_reftable
@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_reftable(tmp_path, object_format):
    top = init(tmp_path / "repo", object_format, "--ref-format=reftable")
    with open_repository(discover(top)) as repo:
        assert repo.read_ref("HEAD") is None
        first = a_commit(repo)
        repo.update_ref("refs/heads/main", first, None, "kb: test")
        assert repo.read_ref("HEAD") == repo.resolve("main") == first
        with pytest.raises(RefMoved):
            repo.update_ref("refs/heads/main", first, None, "kb: test")


def test_refs_that_dulwich_cannot_read_come_from_git(top, body):
    """What happens with reftable, on the files this git has."""
    commit = commit_all(top)
    place = discover(top)
    place.ref_format = "reftable"
    with open_repository(place, "dulwich") as repo:
        assert repo.read_ref("HEAD") == repo.read_ref("refs/heads/main") == commit
        for name in ("refs/heads/none", "main", "-x", "refs/\0", "refs/heads/a..b", "config"):
            assert repo.read_ref(name) is None, name


def test_alternates_that_are_not_there_are_no_trouble(top, body):
    write(top, ".git/objects/info/alternates", b"# a comment\n/none\n../none\n")
    with open_repository(discover(top), body[0]) as repo:
        assert repo.read_blob(repo.write_blob(b"x")) == b"x"
        oids = write_blobs(repo, [b"%d" % n for n in range(100)])
        assert repo.read_blob(oids[50]) == b"50"


def test_libraries_read_what_they_can_without_asking_git(repo, top, monkeypatch):
    """The fallback is for what they cannot; packs that appear later are none of that."""
    monkeypatch.setattr(repo, "_read_with_git", None)
    for n in range(3):
        oids = write_blobs(repo, [b"%d %d" % (n, i) for i in range(100)])
        loose = line("hash-object", "-w", "--stdin", cwd=top, input=b"loose %d" % n)
        assert [repo.read_blob(oid) for oid in (oids[7], loose)] == [b"%d 7" % n, b"loose %d" % n]
        assert repo.has_object(oids[9])
        assert repo.has_object(loose)


def test_dubious_ownership_is_gits_call(top, body, monkeypatch):
    """Git accepted the repository by a setting that libgit2 does not see."""
    env = {**os.environ, "GIT_TEST_ASSUME_DIFFERENT_OWNER": "1", "GIT_CONFIG_COUNT": "1"}
    env |= {"GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": top}
    with open_repository(discover(top, env), body[0]) as repo:
        assert repo.read_blob(repo.write_blob(b"x")) == b"x"


MALFORMED_TREES = [b"x", b"100644 a\0short", b"100644 a", b"0o7 a\0" + b"1" * 32, b"-1 a\0" + b"1" * 32, b" a\0" + b"1" * 32]


@pytest.mark.parametrize("data", MALFORMED_TREES)
def test_malformed_trees_are_damage(tmp_path, body, data):
    top = init(tmp_path / "broken", body[1])
    oid = line("hash-object", "-t", "tree", "-w", "--stdin", "--literally", cwd=top, input=data)
    with open_repository(discover(top), body[0]) as repo, pytest.raises(DamagedObject, match=oid):
        repo.read_tree(oid)


@pytest.mark.parametrize(
    "data", [b"", b"x", b"tree x\nauthor a\ncommitter b\n\n", b"tree " + b"1" * 40 + b"\nauthor A <a> 1 +0000\n\nx"]
)
def test_malformed_commits_are_damage(tmp_path, body, data):
    top = init(tmp_path / "broken", body[1])
    oid = line("hash-object", "-t", "commit", "-w", "--stdin", "--literally", cwd=top, input=data)
    with open_repository(discover(top), body[0]) as repo:
        with pytest.raises(DamagedObject, match=oid):
            repo.read_commit(oid)
        with pytest.raises(DamagedObject, match=oid):
            repo.tree_of(oid)
