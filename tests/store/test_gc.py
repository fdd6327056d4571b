"""`git kb gc`: what anything names stays, what nothing names goes, and the pool's history with it."""

import json
import os
import random
import subprocess
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kb import Kb, assert_message, command, git, in_process, needs_reftable, process_environ

from git_kb.model.section import encode_section, make_section, section_id
from git_kb.store import gc as gc_module
from git_kb.store.named import named_sections
from git_kb.store.pool import Pool, PoolWriter
from git_kb.store.tidy import unused_caches

REF = "refs/kb/sections"
NIGHT = settings.default.max_examples > 1000
N = 40
TEXTS = [f"Section {n}." for n in range(N)]


def encoded(text):
    data = encode_section(make_section("text/plain", text))
    return section_id(data), data


KBIDS = [encoded(text)[0] for text in TEXTS]


def fill(kb, *lots):
    """Put sections in the pool, a commit a lot."""
    with kb.repo() as repo:
        for lot in lots:
            writer = PoolWriter(Pool(repo))
            for text in lot:
                writer.add(*encoded(text))
            writer.commit("some sections")


def manifest(docid, kbids):
    rows = [
        f'\n[[sections]]\nkbid = "{k}"\nchunk = "c-00000000"\nsource_key = "0000000000000000"\nn_lines = 1\nn_bytes = 1\n'
        for k in kbids
    ]
    return f'format = 1\ndocid = "{docid}"\ntitle = "t"\nsource = "{docid}"\nblob = "{"0" * 40}"\ntype = "text/plain"\n' + "".join(
        rows
    )


def name(kb, docid, *numbers, top=None):
    """Write a manifest that names some sections."""
    path = os.path.join(top or kb.top, "kb", "documents", f"{docid}.toml")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(manifest(docid, [KBIDS[n] for n in numbers]))


def sections(kb, ref=REF):
    return {n.replace("/", "") for n in git("ls-tree", "-r", "--name-only", ref, cwd=kb.top).split()}


def gc(kb, *args, **more):
    done = kb.run("gc", "--prune=now", "--json", *args, **more)
    assert done.code == 0, done
    return json.loads(done.out)


@pytest.fixture
def kb(tmp_path):
    """A pool of 40 sections in four commits, of which nothing is named yet."""
    kb = Kb.create(tmp_path / "repo", {"a.txt": "a\n"})
    fill(kb, *(TEXTS[at : at + 10] for at in range(0, N, 10)))
    return kb


def stays(kb, *numbers):
    """Collect, have git collect too, and check that just these sections are left, whole."""
    gc(kb)
    kb.git("gc", "-q", "--prune=now")
    assert sections(kb) == {KBIDS[n] for n in numbers}
    with kb.repo() as repo:
        assert all(section is not None for _, section in Pool(repo).read_many(KBIDS[n] for n in numbers))
    kb.git("fsck", "--strict", "--no-dangling", "--connectivity-only")


def test_what_nothing_names_goes(kb):
    answer = gc(kb)
    assert (answer["removed_sections"], answer["kept"]) == (N, 0)
    assert answer["removed_bytes"] == sum(len(encoded(t)[1]) for t in TEXTS)
    assert sections(kb) == set()
    assert gc(kb)["removed_sections"] == 0
    kb.git("gc", "-q", "--prune=now")
    assert b"Section 3." not in b"".join(objects(kb))
    fill(kb, TEXTS[:3])
    assert len(sections(kb)) == 3


def objects(kb):
    out = subprocess.run(["git", "cat-file", "--batch-all-objects", "--batch"], cwd=kb.top, capture_output=True, check=True).stdout
    return [out]


def committed(kb, docid="d", *numbers):
    name(kb, docid, *numbers)
    return kb.commit(docid)


# Each leaves section 7 named in one way only.
def branch(kb):
    kb.git("switch", "-q", "-c", "side")
    committed(kb, "d", 7)
    kb.git("switch", "-q", "main")


def deleted_branch(kb):
    branch(kb)
    kb.git("branch", "-q", "-D", "side")


def tag(kb):
    kb.git("switch", "-q", "--detach")
    committed(kb, "d", 7)
    kb.git("tag", "-a", "-m", "x", "v1")
    kb.git("switch", "-q", "main")
    kb.git("reflog", "expire", "--expire=now", "--all")


def tag_of_a_tree(kb):
    committed(kb, "d", 7)
    kb.git("tag", "tree", "HEAD^{tree}")
    forget_commit(kb)


def forget_commit(kb):
    kb.git("reset", "-q", "--hard", "HEAD~")
    kb.git("update-ref", "-d", "ORIG_HEAD")
    kb.git("reflog", "expire", "--expire=now", "--all")


def remote_branch(kb):
    committed(kb, "d", 7)
    kb.git("update-ref", "refs/remotes/origin/main", "HEAD")
    forget_commit(kb)


def odd_ref(kb):
    committed(kb, "d", 7)
    kb.git("update-ref", "refs/review/1/head", "HEAD")
    forget_commit(kb)


def earlier_commit(kb):
    committed(kb, "d", 7)
    committed(kb, "d", 8)
    kb.git("rm", "-q", "-r", "kb")
    kb.commit("gone")


def merged_ours(kb):
    """A merge that takes nothing over: a simplified history would leave the side out."""
    branch(kb)
    committed(kb, "e")
    kb.git("merge", "-q", "-s", "ours", "-m", "merge", "side")
    kb.git("branch", "-q", "-D", "side")
    kb.git("reflog", "expire", "--expire=now", "--all")


def reset(kb):
    committed(kb, "d", 7)
    kb.git("reset", "-q", "--hard", "HEAD~")
    kb.git("update-ref", "-d", "ORIG_HEAD")


def orig_head(kb):
    reset_to = kb.git("rev-parse", "HEAD")
    committed(kb, "d", 7)
    kb.git("reset", "-q", "--hard", reset_to)
    kb.git("reflog", "expire", "--expire=now", "--all")
    assert os.path.exists(kb.path(".git/ORIG_HEAD"))


def amended(kb):
    committed(kb, "d", 7)
    name(kb, "d", 8)
    kb.git("add", "-A")
    kb.git("commit", "-q", "--amend", "-m", "amended")


def stash(kb):
    committed(kb, "d", 8)
    name(kb, "d", 7)
    kb.git("stash", "-q")


def older_stash(kb):
    stash(kb)
    name(kb, "d", 9)
    kb.git("stash", "-q")


def stash_of_untracked(kb):
    name(kb, "d", 7)
    kb.git("stash", "-q", "-u")


def stash_of_the_index(kb):
    committed(kb, "d", 8)
    name(kb, "d", 7)
    kb.git("add", "-A")
    name(kb, "d", 8)
    kb.git("stash", "-q")


def staged(kb):
    name(kb, "d", 7)
    kb.git("add", "-A")
    name(kb, "d", 8)


def staged_and_deleted(kb):
    name(kb, "d", 7)
    kb.git("add", "-A")
    os.unlink(kb.path("kb/documents/d.toml"))


def untracked(kb):
    name(kb, "d", 7)


def ignored(kb):
    kb.write(".gitignore", "kb\n")
    name(kb, "d", 7)


def conflict(kb):
    committed(kb, "d", 8)
    kb.git("switch", "-q", "-c", "side", "HEAD~")
    committed(kb, "d", 7)
    kb.git("switch", "-q", "main")
    kb.git("merge", "side", check=False)
    kb.git("branch", "-q", "-D", "side")
    kb.git("checkout", "-q", "--ours", "kb")
    os.unlink(kb.path(".git/MERGE_HEAD"))
    kb.git("reflog", "expire", "--expire=now", "--all")


def merge_head(kb):
    branch(kb)
    committed(kb, "e")
    kb.git("merge", "-q", "--no-commit", "--no-ff", "side")
    kb.git("branch", "-q", "-D", "side")
    kb.git("reset", "-q", "--", "kb")
    os.unlink(kb.path("kb/documents/d.toml"))
    kb.git("reflog", "expire", "--expire=now", "--all")
    kb.git("update-ref", "-d", "ORIG_HEAD")


def rebase_under_way(kb):
    committed(kb, "d", 8)
    kb.git("switch", "-q", "-c", "side", "HEAD~")
    committed(kb, "d", 7)
    kb.git("rebase", "-q", "main", check=False)
    kb.git("checkout", "-q", "main", "--", "kb")
    for ref in ("ORIG_HEAD", "REBASE_HEAD", "refs/heads/side", "CHERRY_PICK_HEAD"):
        kb.git("update-ref", "-d", ref)
    kb.git("reflog", "expire", "--expire=now", "--all")
    assert os.path.isdir(kb.path(".git/rebase-merge"))


def fetch_head(kb):
    committed(kb, "d", 7)
    kb.git("fetch", "-q", ".", "HEAD")
    forget_commit(kb)


def work_tree(kb, *more):
    top = kb.top + "-linked"
    kb.git("worktree", "add", "-q", "--detach", top)
    return Kb(top)


def head_of_a_work_tree(kb):
    committed(work_tree(kb), "d", 7)


def reflog_of_a_work_tree(kb):
    linked = work_tree(kb)
    committed(linked, "d", 7)
    linked.git("reset", "-q", "--hard", "HEAD~")
    linked.git("update-ref", "-d", "ORIG_HEAD")


def index_of_a_work_tree(kb):
    staged_and_deleted_in(work_tree(kb))


def staged_and_deleted_in(kb):
    name(kb, "d", 7)
    kb.git("add", "-A")
    os.unlink(kb.path("kb/documents/d.toml"))


def disk_of_a_work_tree(kb):
    name(work_tree(kb), "d", 7)


def merge_in_a_work_tree(kb):
    merge_head(work_tree_on_a_branch(kb))


def work_tree_on_a_branch(kb):
    top = kb.top + "-linked"
    kb.git("worktree", "add", "-q", "-b", "linked", top)
    linked = Kb(top)
    linked.git("switch", "-q", "--detach")
    linked.git("branch", "-q", "-f", "main-of-linked")
    real = linked.git

    def git_there(*args, **more):
        return real(*("linked" if a == "main" else a for a in args), **more)

    linked.git = git_there
    linked.git("switch", "-q", "main")
    return linked


def own_ref_of_a_work_tree(kb):
    linked = work_tree(kb)
    committed(linked, "d", 7)
    linked.git("update-ref", "refs/worktree/mine", "HEAD")
    forget_commit(linked)


def vanished_work_tree(kb):
    linked = work_tree(kb)
    committed(linked, "d", 7)
    os.rename(linked.top, linked.top + "-moved")


def other_index(kb):
    name(kb, "d", 7)
    kb.git("add", "-A", GIT_INDEX_FILE=kb.path(".git/other-index").decode())
    os.unlink(kb.path("kb/documents/d.toml"))
    return {"GIT_INDEX_FILE": ".git/other-index"}


def damaged_manifest(kb):
    kb.write("kb/documents/d.toml", f"this is <<<<<<< no TOML {KBIDS[7]} at all")


def escaped(kb):
    text = manifest("d", [KBIDS[7]]).replace(KBIDS[7], "".join(f"\\u{ord(c):04X}" for c in KBIDS[7]))
    kb.write("kb/documents/d.toml", text)


def escaped_in_part(kb):
    kbid = KBIDS[7]
    long = kbid[:3] + f"\\U{ord(kbid[3]):08x}" + kbid[4:9] + "\\\n    " + kbid[9:]
    kb.write("kb/documents/d.toml", manifest("d", [kbid]).replace(f'"{kbid}"', f'"""{long}"""'))


def superseded(kb):
    text = manifest("d", []) + manifest("d", [KBIDS[8]]).partition("\n[[")[2].join(("\n[[", f'supersedes = "{KBIDS[7]}"\n'))
    kb.write("kb/documents/d.toml", text)


WAYS = {
    f.__name__: (f, also)
    for f, also in (
        (branch, ()), (deleted_branch, ()), (tag, ()), (tag_of_a_tree, ()), (remote_branch, ()), (odd_ref, ()), (earlier_commit, (8,)),
        (merged_ours, ()), (reset, ()), (orig_head, ()), (amended, (8,)), (stash, (8,)), (older_stash, (8, 9)), (stash_of_untracked, ()),
        (stash_of_the_index, (8,)), (staged, (8,)), (staged_and_deleted, ()), (untracked, ()), (ignored, ()), (conflict, (8,)),
        (merge_head, ()), (rebase_under_way, (8,)), (fetch_head, ()), (head_of_a_work_tree, ()), (reflog_of_a_work_tree, ()),
        (index_of_a_work_tree, ()), (disk_of_a_work_tree, ()), (merge_in_a_work_tree, ()), (own_ref_of_a_work_tree, ()),
        (vanished_work_tree, ()), (other_index, ()), (damaged_manifest, ()), (escaped, ()), (escaped_in_part, ()), (superseded, (8,)),
    )
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_what_is_named_in_any_way_stays(kb, way):
    make, also = WAYS[way]
    environ = make(kb) or {}
    wanted = {KBIDS[n] for n in (7, *also)}
    assert gc(kb, "-n", **environ)["kept"] == len(wanted)
    gc(kb, **environ)
    assert sections(kb) == wanted
    kb.git("gc", "-q", "--prune=now")
    with kb.repo() as repo:
        assert all(section is not None for _, section in Pool(repo).read_many(wanted))


def test_a_work_tree_sees_what_the_main_one_names(kb):
    name(kb, "d", 7)
    linked = work_tree(kb)
    assert gc(linked)["kept"] == 1
    assert sections(kb) == {KBIDS[7]}


def test_what_a_section_that_stays_refers_to_stays(kb):
    """Through any number of steps, by whole and short kbids; what only a section that goes refers to goes."""
    first, last = f"See $(code: {KBIDS[3][:8]}).", f"See $(text:{KBIDS[5].upper()})."
    middle = f"To $(link: {encoded(last)[0]})."
    fill(kb, [first, middle, last, f"Gone, with $(code: {KBIDS[4]})."])
    kb.write("kb/documents/d.toml", manifest("d", [encoded(first)[0], encoded(middle)[0]]))
    gc(kb)
    assert sections(kb) == {KBIDS[3], KBIDS[5], *(encoded(t)[0] for t in (first, middle, last))}


class Actions:
    """Random work in one repository, by git alone."""

    def __init__(self, kb, seed):
        self.kb, self.choose, self.n = kb, random.Random(seed), 0

    def some(self):
        """Return the numbers of some sections that the pool has, as an ingest would see to."""
        there = sections(self.kb)
        left = [n for n in range(N - 5) if KBIDS[n] in there]
        return self.choose.sample(left, min(len(left), self.choose.randrange(1, 4)))

    def tops(self):
        return [
            Kb(line.removeprefix("worktree "))
            for line in self.kb.git("worktree", "list", "--porcelain").splitlines()
            if line.startswith("worktree ")
        ]

    def step(self):
        self.n += 1
        tree = self.choose.choice(self.tops())
        do = lambda *args: tree.git(*args, check=False)  # noqa: E731
        docid = self.choose.choice("abc")
        branches = self.kb.git("for-each-ref", "--format=%(refname:short)", "refs/heads").split()
        match self.choose.randrange(16):
            case 0 | 1 | 2:
                name(tree, docid, *self.some())
            case 3 | 4 | 5:
                name(tree, docid, *self.some())
                do("add", "-A")
                do("commit", "-q", "-m", f"{self.n}")
            case 6:
                do("switch", "-q", "-c", f"b{self.n}")
            case 7:
                do("switch", "-q", self.choose.choice(branches))
            case 8:
                do("reset", "-q", self.choose.choice(("--hard", "--soft", "--mixed")), "HEAD~")
            case 9:
                do("stash", "-q", *self.choose.choice(((), ("-u",), ("--keep-index",))))
            case 10:
                do("stash", self.choose.choice(("pop", "drop")), "-q")
            case 11:
                do("tag", f"t{self.n}")
            case 12:
                self.kb.git("branch", "-q", "-D", self.choose.choice(branches), check=False)
            case 13:
                do("merge", "-q", "-s", self.choose.choice(("ours", "ort")), "-m", "merge", self.choose.choice(branches))
                do("merge", "--abort")
            case 14:
                if len(self.tops()) < 3:
                    self.kb.git(
                        "worktree",
                        "add",
                        "-q",
                        *self.choose.choice((("--detach",), ("-b", f"w{self.n}"))),
                        f"{self.kb.top}-{self.n}",
                    )
            case 15:
                do("add", "-A")
                do("commit", "-q", "--amend", "-m", f"{self.n}")


@pytest.mark.parametrize("seed", range(60 if NIGHT else 8))
def test_nothing_that_is_named_is_dropped(kb, seed):
    """Git decides what is reachable: every manifest that its own collection leaves, or that stands on a disk, finds its sections."""
    actions = Actions(kb, seed)
    for n in range(25):
        actions.step()
        if n % 12 == 11:
            gc(kb)
    gc(kb)
    kb.git("gc", "-q", "--prune=now")
    left, found = sections(kb), set()
    manifests = [tree.manifests() for tree in actions.tops()]
    texts = [data.decode() for some in manifests for data in some.values()]
    listing = kb.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")
    for line in listing.splitlines():
        oid, kind = line.split()
        if kind == "blob" and (text := kb.git("cat-file", "blob", oid)).startswith("format = 1\n"):
            texts.append(text)
    for text in texts:
        found.update(word.strip('"') for word in text.split() if word.strip('"') in KBIDS)
    assert found <= left
    assert not left & set(KBIDS[N - 5 :])
    with kb.repo() as repo:
        assert all(section is not None for _, section in Pool(repo).read_many(sorted(left)))
    kb.git("fsck", "--strict", "--no-dangling")


def test_every_revision_still_answers(tmp_path):
    """With real documents: branches, tags, a stash and another work tree, at each of which everything can be searched and checked."""
    kb = Kb.ready(tmp_path / "repo")
    revisions = [kb.git("rev-parse", "HEAD")]
    words = {revisions[0]: "syrup"}
    for n, word in enumerate(("hornet", "wasp", "ant", "moth")):
        kb.write("docs/guide.md", f"# Guide\n\nThe {word}.\n\n## Part {n}\n\nMore of the {word}.\n")
        kb.ok("ingest", "-q")
        if n % 2:
            kb.git("switch", "-q", "-c", f"side{n}")
        revisions.append(kb.commit(word))
        words[revisions[-1]] = word
    kb.write("docs/guide.md", "# Guide\n\nThe stashed beetle.\n")
    kb.ok("ingest", "-q")
    kb.git("stash", "-q")
    revisions.append(kb.git("rev-parse", "stash@{0}"))
    words[revisions[-1]] = "beetle"
    kb.write("docs/guide.md", "# Guide\n\nThe lost gnat.\n")
    kb.ok("ingest", "-q")
    kb.git("checkout", "-q", ".")
    kb.git("clean", "-qfd")
    before = len(sections(kb))
    gc(kb)
    kb.git("gc", "-q", "--prune=now")
    assert len(sections(kb)) == before - 1
    for rev in revisions:
        assert kb.json("fsck", "--at", rev)["errors"] == []
        assert kb.hits("--at", rev, words[rev])
    assert kb.json("fsck")["errors"] == []
    kb.git("fsck", "--strict", "--no-dangling")


def test_the_log_stays(kb):
    """Commits that lose nothing stay themselves; others keep author, date and message; those with nothing left go."""
    before = kb.git("log", "--format=%an %ae %at %ct %s", REF).splitlines()
    first = kb.git("rev-parse", f"{REF}~3")
    name(kb, "d", *range(10), 11, 35)
    gc(kb)
    assert kb.git("log", "--format=%an %ae %at %ct %s", REF).splitlines() == before[:3]
    assert kb.git("rev-parse", f"{REF}~2") == first
    assert [len(sections(kb, f"{REF}~{n}")) for n in (2, 1, 0)] == [10, 11, 12]


def test_two_clones_that_drop_the_same_make_the_same_pool(kb, tmp_path):
    git("clone", "-q", kb.top, str(tmp_path / "other"), cwd="/")
    other = Kb(tmp_path / "other")
    other.git("fetch", "-q", "origin", f"{REF}:{REF}")
    for one in (kb, other):
        name(one, "d", 3, 14, 25)
        gc(one)
    assert kb.git("rev-parse", REF) == other.git("rev-parse", REF)


@given(st.data())
@settings(max_examples=25)
def test_any_history_without_any_sections(shared, data):
    """The tip has what is left, each commit has what it had without what is gone, and no commit is there for nothing."""
    texts = st.sets(st.integers(0, 12), max_size=4)
    commits = []
    for _ in range(data.draw(st.integers(1, 6))):
        parents = data.draw(st.lists(st.sampled_from(commits), max_size=2, unique=True)) if commits else []
        has = set(data.draw(texts)).union(*(content for _, content in parents))
        commits.append((commit(shared, has, [oid for oid, _ in parents]), frozenset(has)))
    tip, has = commits[-1]
    gone = set(data.draw(st.sets(st.integers(0, 12))))
    new = gc_module.without_sections(shared, tip, {KBIDS[n] for n in gone})
    assert pool_of(shared, new) == {KBIDS[n] for n in has - gone}
    for oid in shared.iter_commits(new):
        read = shared.read_commit(oid)
        assert not pool_of(shared, oid) & {KBIDS[n] for n in gone}
        assert len(read.parents) != 1 or shared.read_commit(read.parents[0]).tree != read.tree or oid in {c for c, _ in commits}
    if not gone & has:
        assert new == tip
    assert gc_module.without_sections(shared, new, {KBIDS[n] for n in gone}) == new


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with Kb.create(tmp_path_factory.mktemp("shared") / "repo", {}).repo() as repository:
        yield repository


def commit(repo, numbers, parents):
    from git_kb.repo.ident import Ident
    from git_kb.repo.protocol import DIRECTORY, FILE, TreeEntry

    below = {}
    for n in numbers:
        below.setdefault(KBIDS[n][:2], []).append(TreeEntry(KBIDS[n][2:].encode(), FILE, repo.write_blob(encoded(TEXTS[n])[1])))
    tree = repo.write_tree(TreeEntry(prefix.encode(), DIRECTORY, repo.write_tree(some)) for prefix, some in below.items())
    who = Ident("A", "a@example.com", 1_700_000_000)
    return repo.write_commit(tree, parents, "sections", who, who)


def pool_of(repo, oid):
    return {(a.name + e.name).decode() for a in repo.read_tree(repo.read_commit(oid).tree) for e in repo.read_tree(a.oid)}


def dated(kb, when, *texts):
    for text in texts:
        done = kb.run("hash-section", "-w", "--stdin", stdin=text.encode())
        assert done.code == 0, (when, done)


def test_the_grace_period(tmp_path, monkeypatch):
    """What came in lately stays for a while: by the pool's dates, and by when it came to this clone."""
    kb = Kb.create(tmp_path / "repo", {"a.txt": "a\n"})
    now = int(time.time())
    for age_days, text in ((40, "Old."), (20, "Older than two weeks."), (3, "New.")):
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"{now - 86400 * age_days} +0000")
        dated(kb, age_days, text)
    monkeypatch.setenv("GIT_COMMITTER_DATE", f"{now} +0000")
    for prune, n in (("never", 0), ("30.days.ago", 1), ("1.day.ago", 3), ("now", 3), (None, 2)):
        answer = kb.json("gc", "-n", *([f"--prune={prune}"] if prune else []))
        assert (answer["removed_sections"], answer["recent"]) == (n, 3 - n), prune
    kb.git("config", "gc.pruneExpire", "30.days.ago")
    assert kb.json("gc", "-n")["removed_sections"] == 1
    kb.git("config", "gc.pruneExpire", "never")
    assert kb.json("gc")["removed_sections"] == 0
    kb.git("config", "gc.pruneExpire", "nonsense")
    assert_message(kb.run("gc"), 128, "malformed expiration date 'nonsense'", "hint: ")
    kb.git("config", "--unset", "gc.pruneExpire")
    # Who gets it all today has it new, old as its commits may be.
    git("init", "-q", str(tmp_path / "clone"), cwd="/")
    clone = Kb(tmp_path / "clone")
    clone.ok("sync", kb.top)
    assert (clone.json("gc")["removed_sections"], clone.json("gc")["recent"]) == (0, 3)
    assert clone.json("gc", "--prune=now")["removed_sections"] == 3
    answer = kb.json("gc")
    assert (answer["removed_sections"], answer["recent"]) == (2, 1)
    # And again, with what the reflog has forgotten by now.
    assert kb.json("gc")["removed_sections"] == 0
    assert kb.json("gc", "--prune=1.day.ago")["removed_sections"] == 1


@pytest.mark.parametrize("text", ["", "nonsense", "\n", "a" * 5000, "\udcff"])
def test_dates_that_are_none(kb, text):
    done = kb.run("gc", f"--prune={text}")
    assert done.code == 128, done
    assert "malformed expiration date" in done.err
    assert len(sections(kb)) == N


def test_a_dry_run_changes_nothing(kb):
    kb.ok("init", "-q")
    before = kb.git("for-each-ref"), kb.kb_files(), kb.git("count-objects", "-v"), kb.git("reflog", REF)
    done = kb.run("gc", "-n", "--prune=now")
    assert done.err.startswith(f"sections: {N} would be dropped")
    assert (kb.git("for-each-ref"), kb.kb_files(), kb.git("count-objects", "-v"), kb.git("reflog", REF)) == before


UNREADABLE = {
    "branch": lambda kb: kb.write(".git/refs/heads/broken", "1" * 40 + "\n"),
    "commit": lambda kb: os.unlink(loose(kb, "HEAD")),
    "tree": lambda kb: os.unlink(loose(kb, "HEAD^{tree}")),
    "manifest": lambda kb: os.unlink(loose(kb, "HEAD:kb/documents/d.toml")),
    "index": lambda kb: kb.write(".git/index", b"junk"),
    "pool commit": lambda kb: os.unlink(loose(kb, f"{REF}~1")),
    "locked work tree": lambda kb: (kb.git("worktree", "lock", work_tree(kb).top), os.rename(kb.top + "-linked", kb.top + "-away")),
}


def loose(kb, rev):
    oid = kb.git("rev-parse", rev)
    return kb.path(f".git/objects/{oid[:2]}/{oid[2:]}")


@pytest.mark.parametrize("what", UNREADABLE)
def test_what_cannot_be_read_may_name_anything(kb, what):
    name(kb, "d", 7)
    kb.commit("named")
    UNREADABLE[what](kb)
    before = kb.git("rev-parse", REF)
    done = kb.run("gc", "--prune=now")
    assert done.code == 128
    assert "cannot tell which sections" in done.err or "the section pool" in done.err
    assert "Traceback" not in done.err
    assert kb.git("rev-parse", REF) == before


def test_an_unborn_pool_and_no_knowledge_base(tmp_path):
    kb = Kb.create(tmp_path / "repo", {"a.txt": "a\n"})
    assert gc(kb)["removed_sections"] == 0
    assert kb.git("for-each-ref", "refs/kb") == ""
    git("init", "-q", "--bare", str(tmp_path / "bare.git"), cwd="/")
    assert in_process(tmp_path / "bare.git", "gc").code == 0


def test_on_a_server(kb, tmp_path):
    """A bare repository is collected by what its branches name."""
    name(kb, "d", 7)
    kb.commit("named")
    git("init", "-q", "--bare", str(tmp_path / "bare.git"), cwd="/")
    kb.git("push", "-q", str(tmp_path / "bare.git"), "main", REF)
    done = in_process(tmp_path / "bare.git", "gc", "--prune=now", "--json")
    assert json.loads(done.out)["removed_sections"] == N - 1
    # A clone that has not collected brings all of it back.
    kb.ok("sync", str(tmp_path / "bare.git"))
    assert len(git("ls-tree", "-r", REF, cwd=tmp_path / "bare.git").splitlines()) == N


def test_what_a_remote_still_has_comes_back(kb, tmp_path):
    git("init", "-q", "--bare", str(tmp_path / "r.git"), cwd="/")
    kb.git("remote", "add", "origin", str(tmp_path / "r.git"))
    kb.ok("sync")
    name(kb, "d", 7)
    done = kb.run("gc", "--prune=now")
    assert f"  {N - 1} of them were on a remote when last synced: the next 'git kb sync' brings those back\n" in done.err
    kb.ok("sync")
    assert len(sections(kb)) == N
    # And without a second copy of its history.
    assert len(kb.git("rev-list", REF).split()) == 4


@pytest.mark.parametrize("mode", ["sha256", pytest.param("reftable", marks=needs_reftable)])
def test_other_repositories(tmp_path, mode):
    top = str(tmp_path / "repo")
    git("init", "-q", "-b", "main", "--object-format=sha256" if mode == "sha256" else "--ref-format=reftable", top, cwd="/")
    kb = Kb(top)
    fill(kb, TEXTS[:20], TEXTS[20:])
    name(kb, "d", 7)
    kb.commit("named")
    name(kb, "d", 30)
    stays(kb, 7, 30)


def test_ingests_wait_for_it(kb, monkeypatch):
    """An ingest does not store what the pool has; so the pool must not lose it before the manifest is there."""
    kb.ok("init", "-q")
    kb.write("n.txt", TEXTS[7] + "\n")
    real = gc_module.named_sections
    running = []

    def slow(*args):
        named = real(*args)
        running.append(
            subprocess.Popen(command("ingest", "-q", "n.txt"), cwd=kb.top, env=process_environ(), stderr=subprocess.PIPE)
        )
        time.sleep(1)
        assert running[0].poll() is None
        assert not kb.documents()
        return named

    monkeypatch.setattr(gc_module, "named_sections", slow)
    gc(kb)
    (ingest,) = running
    assert ingest.communicate(timeout=60)[1] == b""
    assert ingest.returncode == 0
    assert kb.json("fsck")["errors"] == []
    assert kb.hits("7")


def test_what_comes_in_meanwhile_stays(kb, monkeypatch, tmp_path):
    """A sync takes no lock: the compare-and-swap fails, and what it brought stays."""
    real = gc_module.without_sections
    left = [2]

    def slow(repo, tip, dropped, beat):
        new = real(repo, tip, dropped, beat)
        if left[0]:
            left[0] -= 1
            fill(kb, [f"Brought meanwhile {left[0]}."])
        return new

    monkeypatch.setattr(gc_module, "without_sections", slow)
    name(kb, "d", 7)
    gc(kb)
    assert sections(kb) == {KBIDS[7], *(encoded(f"Brought meanwhile {n}.")[0] for n in (0, 1))}


def test_loose_objects_are_packed(tmp_path):
    kb = Kb.create(tmp_path / "repo", {"a.txt": "a\n"})
    fill(kb, *(map(str, range(at, at + 40)) for at in range(0, 160, 40)))
    n_loose = int(kb.git("count-objects").split()[0])
    answer = kb.json("gc")
    assert answer["recent"] + answer["removed_sections"] == 160
    kb = Kb.create(tmp_path / "other", {"a.txt": "a\n"})
    fill(kb, *(map(str, range(at, at + 40)) for at in range(0, 160, 40)))
    answer = kb.json("gc", "--prune=never")
    assert answer["packed_objects"] > 160
    assert int(kb.git("count-objects").split()[0]) == n_loose - answer["packed_objects"]
    assert len(sections(kb)) == 160
    kb.git("fsck", "--strict", "--no-dangling")


def test_unused_caches_go(tmp_path):
    kb = Kb.ready(tmp_path / "repo")
    kb.ok("search", "syrup")
    kb.ok("search", "--at", "HEAD", "syrup")
    kb.run("recall", "docs/guide.md")
    linked = work_tree(kb)
    linked.ok("search", "syrup")
    with kb.repo() as repo:
        assert unused_caches(repo, 0) == []
    old = {f"{kind}/{name}" for kind, name in (p.split("/", 1) for p in kb.kb_files() if "/" in p)}
    assert "views/worktree-repo-linked.kbv" in old
    kb.git("worktree", "remove", "--force", linked.top)
    for path in (
        "views/tree-" + "1" * 40 + ".kbv",
        "views/.worktree.kbv.0123456789ab.tmp",
        "segments/seg-" + "0" * 32 + ".kbs",
        "signatures/seg-" + "0" * 32 + ".kbm",
        "references/ref-" + "0" * 32 + ".kbr",
        "dates/" + "1" * 40 + ".kbd",
        "views/notes.txt",
    ):
        kb.write(f".git/kb/{path}", b"junk")
    answer = gc(kb, "-n")
    done = gc(kb)
    assert (done["removed_caches"], done["removed_cache_bytes"]) == (answer["removed_caches"], answer["removed_cache_bytes"])
    left = {p for p in kb.kb_files() if "/" in p}
    tree_views = {p for p in old if p.startswith("views/tree-")}
    assert left == old - tree_views - {"views/worktree-repo-linked.kbv"} | {"views/notes.txt"}
    assert kb.hits("syrup")
    assert kb.json("fsck")["errors"] == []


def test_references_of_dropped_sections_are_forgotten(tmp_path):
    kb = Kb.ready(tmp_path / "repo")
    kb.write("docs/new.md", "# New\n\nSee [the guide](guide.md).\n")
    kb.ok("ingest", "-q")
    kb.ok("recall", "docs/guide.md")
    (kbid,) = [r["kbid"] for r in map(json.loads, kb.ok("ls-sections", "--json").splitlines()) if r["docid"] == "docs--new.md"]
    os.unlink(kb.path("docs/new.md"))
    kb.ok("ingest", "-q", "--prune")
    assert gc(kb)["removed"] == [kbid]
    from git_kb.index.references import open_files
    from git_kb.model.section import kbid_bytes

    files, damaged = open_files(kb.place().kb_dir)
    assert not damaged
    known = {raw for file in files for raw in file.kbids()}
    assert known
    assert kbid_bytes(kbid) not in known
    for file in files:
        file.close()


def test_stale_sources(tmp_path):
    """Seed: sections whose source no longer has their heading. They stay."""
    kb = Kb.ready(tmp_path / "repo")
    assert gc(kb)["stale_sources"] == 0
    guide = kb.read("docs/guide.md").decode()
    kb.write("docs/guide.md", guide.replace("## Feed the colony", "## Feed it"))
    answer = gc(kb)
    assert (answer["stale_sources"], answer["stale"]) == (1, [{"source": "docs/guide.md", "headings": ["Feed the colony"]}])
    # Changed, with all its headings: not stale in this sense.
    kb.write("docs/guide.md", guide + "\nMore.\n")
    assert gc(kb)["stale_sources"] == 0
    os.unlink(kb.path("docs/guide.md"))
    done = kb.run("gc")
    assert "stale: 3 sections under headings that their source no longer has (use 'git kb ingest'):\n" in done.err
    assert "  docs/guide.md: Guide, Install the hive, Feed the colony\n" in done.err
    # A manifest that only the whole reader understands, and one that none does.
    text = kb.read("kb/documents/docs--guide.md.toml")
    kb.write("kb/documents/docs--guide.md.toml", text.replace(b"format = 1\n", b"format=1\n"))
    assert kb.json("gc")["stale_sources"] == 3
    kb.write("kb/documents/notes.txt.toml", "nonsense")
    assert kb.json("gc")["stale_sources"] == 3
    kb.git("rm", "-q", "--cached", "docs/guide.md")
    assert kb.json("gc")["stale_sources"] == 3
    assert len(sections(kb)) == 6


def test_seed_keys(kb):
    answer = gc(kb)
    assert {"removed_sections", "removed_bytes", "stale_sources", "elapsed_ms"} <= answer.keys()


def test_a_pool_without_a_reflog(kb, tmp_path):
    """As plain git fetch makes it: then the dates of its commits count."""
    git("init", "-q", str(tmp_path / "clone"), cwd="/")
    clone = Kb(tmp_path / "clone")
    clone.git("fetch", "-q", kb.top, f"{REF}:{REF}")
    assert clone.json("gc", "--prune=never")["removed_sections"] == 0
    assert clone.json("gc", "--prune=2000-01-01")["recent"] == N
    assert clone.json("gc")["removed_sections"] == N


def test_partial_and_shallow_clones(kb, tmp_path):
    """Manifests that are not here yet are fetched; where that cannot be, nothing is dropped. A shallow history names what it has."""
    for number in range(3):
        committed(kb, "d", number)
    for key in ("uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"):
        kb.git("config", key, "true")
    clones = {}
    for kind, option in (("blobs", "--filter=blob:none"), ("trees", "--filter=tree:0"), ("shallow", "--depth=1")):
        git("clone", "-q", "--no-checkout", option, f"file://{kb.top}", str(tmp_path / kind), cwd="/")
        clones[kind] = Kb(tmp_path / kind)
        clones[kind].ok("sync")
        clones[kind].git("update-ref", "-d", "refs/kb/remotes/origin/sections")
    for kind in ("blobs", "trees"):
        clones[kind].git("remote", "set-url", "origin", "/nonexistent")
        done = clones[kind].run("gc", "--prune=now")
        assert done.code == 128
        assert "cannot tell which sections" in done.err
        assert len(sections(clones[kind])) == N
        clones[kind].git("remote", "set-url", "origin", f"file://{kb.top}")
        assert gc(clones[kind])["kept"] == 3
        assert sections(clones[kind]) == set(KBIDS[:3])
    assert gc(clones["shallow"])["kept"] == 1
    assert sections(clones["shallow"]) == {KBIDS[2]}


def test_named_sections_reads_each_manifest_once(kb):
    for n in range(3):
        committed(kb, "d", n)
    committed(kb, "e", 3)
    named = named_sections(kb.place())
    # What is on disk is in the history.
    assert (named.n_manifests, named.kbids) == (4, {KBIDS[n] for n in range(4)})
    name(kb, "e", 4)
    assert named_sections(kb.place()).n_manifests == 5
