"""Two pools into one: what gets into the union, and that everybody who unites the same pools makes the same commit."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kb import Kb

from git_kb.model.section import DamagedSection, Section, check_section, encode_section, section_id
from git_kb.repo.ident import Ident
from git_kb.repo.protocol import DIRECTORY, EXECUTABLE, FILE, GITLINK, SYMLINK, TreeEntry
from git_kb.store.pool import Pool
from git_kb.store.sync import _goal
from git_kb.store.unite import MAX_DATE, OURS, THEIRS, count_differences, union_tree, unite_trees, write_union

WHO = Ident("A U Thor", "author@example.com", 1_700_000_000)


@pytest.fixture(params=["sha1", "sha256"])
def repo(tmp_path, request):
    kb = Kb.create(tmp_path / "repo", {}, request.param)
    with kb.repo() as repository:
        yield repository
    kb.git("fsck", "--strict", "--no-dangling")


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One repository for all examples of a property; objects never clash."""
    with Kb.create(tmp_path_factory.mktemp("shared") / "repo", {}).repo() as repository:
        yield repository


def encoded(text, mime="text/plain"):
    data = encode_section(Section(mime, text.encode() if isinstance(text, str) else text))
    return section_id(data), data


def tree_of(repo, entries):
    """Store a pool's tree: path -> (mode, oid)."""
    below = {}
    top = []
    for path, (mode, oid) in entries.items():
        prefix, slash, name = path.partition("/")
        if slash:
            below.setdefault(prefix, []).append(TreeEntry(name.encode(), mode, oid))
        else:
            top.append(TreeEntry(path.encode(), mode, oid))
    top += [TreeEntry(prefix.encode(), DIRECTORY, repo.write_tree(some)) for prefix, some in below.items()]
    return repo.write_tree(top)


def whole(repo, *texts):
    """Return path -> (mode, oid) of sound sections."""
    entries = {}
    for text in texts:
        kbid, data = encoded(text)
        entries[f"{kbid[:2]}/{kbid[2:]}"] = FILE, repo.write_blob(data)
    return entries


def pool(repo, *texts, when=WHO.when, parents=()):
    """Store a pool commit of these sections."""
    ident = WHO._replace(when=when)
    return repo.write_commit(tree_of(repo, whole(repo, *texts)), parents, "some sections", ident, ident)


def kbids_of(repo, tree):
    return sorted(
        (above.name + entry.name).decode()
        for above in (repo.read_tree(tree) if tree else ())
        for entry in repo.read_tree(above.oid)
    )


def unite(repo, ours, theirs):
    trees = [repo.read_commit(c).tree if c else None for c in (ours, theirs)]
    return _goal(repo, unite_trees(repo, *trees), ours, theirs)


texts = st.lists(st.integers(0, 30).map(lambda n: f"Section {n}."), max_size=12)


@given(texts, texts)
def test_the_union_has_all_of_both_whichever_comes_first(shared, mine, yours):
    left, right = (tree_of(shared, whole(shared, *some)) for some in (mine, yours))
    union, turned = unite_trees(shared, left, right), unite_trees(shared, right, left)
    assert union_tree(shared, union) == union_tree(shared, turned) == tree_of(shared, whole(shared, *mine, *yours))
    assert (union.n_received, union.n_sent) == (len({*yours} - {*mine}), len({*mine} - {*yours}))
    assert (turned.n_received, turned.n_sent) == (union.n_sent, union.n_received)
    assert count_differences(shared, left, right) == (union.n_sent, union.n_received)
    assert not union.left_out
    assert union_tree(shared, unite_trees(shared, left, left)) == left


@given(texts.filter(bool), texts.filter(bool), st.integers(0, 1 << 62), st.integers(0, 1 << 33))
def test_the_same_two_pools_make_the_same_commit(shared, mine, yours, when, later):
    """Whoever does it, and on whichever side each stands."""
    ours, theirs = pool(shared, *mine, when=when), pool(shared, *yours, when=later)
    union = unite_trees(shared, *(shared.read_commit(c).tree for c in (ours, theirs)))
    turned = unite_trees(shared, *(shared.read_commit(c).tree for c in (theirs, ours)))
    tree, commit = write_union(shared, union, [ours, theirs])
    assert (tree, commit) == write_union(shared, turned, [theirs, ours])
    made = shared.read_commit(commit)
    assert sorted(made.parents) == sorted({ours, theirs})
    assert made.committer == made.author == Ident("git-kb", "git-kb@localhost", min(max(when, later), MAX_DATE))


@given(st.lists(st.tuples(st.integers(0, 3), st.one_of(st.none(), st.integers(0, 25))), max_size=40))
def test_clones_converge_without_ping_pong(shared, steps):
    """A step is a clone that ingests a section, or syncs. At the end all sync twice: one commit, which no further sync moves."""
    clones, remote, n_pushed = [None] * 4, None, 0
    everything = set()

    def sync(n):
        nonlocal remote, n_pushed
        before = kbids_of(shared, shared.read_commit(remote).tree if remote else None)
        clones[n] = unite(shared, clones[n], remote)
        if clones[n] != remote:
            n_pushed += 1
            # What is pushed has more in it, and the ref only moves forward.
            after = kbids_of(shared, shared.read_commit(clones[n]).tree)
            assert set(before) < set(after)
            assert remote is None or remote in set(shared.iter_commits(clones[n]))
        remote = clones[n]

    for n, number in steps:
        if number is None:
            sync(n)
            continue
        text = f"Section {number}."
        everything.add(encoded(text)[0])
        old = clones[n]
        # Each clone has a clock and an author of its own.
        ident = Ident(f"Clone {n}", "c@example.com", 1_700_000_000 + 7 * n)
        tree = union_tree(shared, unite_trees(shared, shared.read_commit(old).tree if old else None, None)) if old else None
        added = unite_trees(shared, tree, tree_of(shared, whole(shared, text)))
        whole_tree, _ = write_union(shared, added, [])
        if whole_tree != tree:
            clones[n] = shared.write_commit(whole_tree, [old] if old else [], "ingest", ident, ident)
    for n in (0, 1, 2, 3, 2, 1, 0):
        sync(n)
    assert len({*clones, remote}) == 1
    assert kbids_of(shared, shared.read_commit(remote).tree if remote else None) == sorted(everything)
    n_before = n_pushed
    for n in (3, 1, 0, 2):
        sync(n)
    assert n_pushed == n_before


def odd_objects(repo):
    """Return what may stand in a hostile pool's tree beside sections: name -> (path, mode, oid)."""
    kbid, data = encoded("A section.")
    path = f"{kbid[:2]}/{kbid[2:]}"
    blob = repo.write_blob(data)
    other = repo.write_blob(b"not a section")
    empty = repo.write_tree([])

    def named(raw):
        name = section_id(raw)
        return f"{name[:2]}/{name[2:]}", FILE, repo.write_blob(raw)

    return {
        "another section's name": (f"aa/{'b' * 24}", FILE, blob),
        "no section": (path, FILE, other),
        "another content": (path, FILE, repo.write_blob(encoded("Another section.")[1])),
        "executable": (path, EXECUTABLE, blob),
        "link": (path, SYMLINK, blob),
        "submodule": (path, GITLINK, blob),
        "directory in its place": (path, DIRECTORY, empty),
        "short name": (f"{kbid[:2]}/{kbid[2:20]}", FILE, blob),
        "upper case": (path.upper(), FILE, blob),
        "at the top": (kbid, FILE, blob),
        "file for a prefix": ("zz", FILE, blob),
        "other directory": (f"docs/{kbid[2:]}", FILE, blob),
        "wrong size": named(b"section text/plain 3\0abcd"),
        "leading zero": named(b"section text/plain 04\0abcd"),
        "no header": named(b"abcd"),
        "odd type": named(b"section Text/Plain 4\0abcd"),
        "no type": named(b"section plain 4\0abcd"),
        "control in type": named(b"section text/\x1bplain 4\0abcd"),
        "empty": named(b"section text/plain 0\0"),
        "blank at the end": named(b"section text/plain 5\0abcd\n"),
        "mark at the start": named(b"section text/plain 7\0\xef\xbb\xbfabcd"),
        "carriage return": named(b"section text/plain 5\0ab\r\nc"),
        "not UTF-8": named(b"section text/plain 4\0ab\xffd"),
        "not normalised": named(b"section text/plain 3\0e\xcc\x81"),
        "missing object": (path, FILE, ("0123456789" * 7)[: len(blob)]),
    }


@pytest.mark.parametrize("side", [OURS, THEIRS])
def test_what_is_no_section_is_left_out_and_named(repo, side):
    sound = whole(repo, "Sound.", "Sound too.")
    clean = tree_of(repo, sound)
    for what, (path, mode, oid) in odd_objects(repo).items():
        hostile = tree_of(repo, {**sound, path: (mode, oid)})
        for other in (None, clean, tree_of(repo, whole(repo, "Sound."))):
            union = unite_trees(repo, *((hostile, other) if side == OURS else (other, hostile)))
            assert union_tree(repo, union) == clean, what
            assert [(e.path, e.side) for e in union.left_out] in (
                [(path, side)],
                [(path.partition("/")[0], side)],
            ), what
            assert union.left_out[0].unreadable == (what == "missing object")


def test_of_two_contents_under_one_name_the_right_one_stays(repo):
    good = whole(repo, "A section.")
    (path,) = good
    bad = {path: (FILE, repo.write_blob(b"section text/plain 6\0forged"))}
    trees = tree_of(repo, good), tree_of(repo, bad)
    for ours, theirs, side in ((*trees, THEIRS), (*trees[::-1], OURS)):
        union = unite_trees(repo, ours, theirs)
        assert union_tree(repo, union) == trees[0]
        assert [(e.path, e.side, e.why) for e in union.left_out] == [(path, side, "its hash is not its name")]


def test_an_unreadable_object_of_ours_is_no_reason_to_give_up(repo):
    """Git could not push a history that holds it, so ours is no parent of the union."""
    sound, (path, mode, oid) = whole(repo, "Sound."), odd_objects(repo)["missing object"]
    broken = repo.write_commit(tree_of(repo, {**sound, path: (mode, oid)}), [], "broken", WHO, WHO)
    theirs = pool(repo, "Another.")
    commit = unite(repo, broken, theirs)
    assert repo.read_commit(commit).parents == (theirs,)
    assert repo.read_commit(unite(repo, broken, None)).parents == ()
    assert kbids_of(repo, repo.read_commit(commit).tree) == sorted(encoded(t)[0] for t in ("Sound.", "Another."))


def test_much_goes_into_one_pack(tmp_path):
    kb = Kb.create(tmp_path / "repo", {})
    with kb.repo() as repo:
        ours, theirs = pool(repo, *map(str, range(400))), pool(repo, *map(str, range(200, 800)))
        n_before = int(kb.git("count-objects").split()[0])
        commit = unite(repo, ours, theirs)
        assert int(kb.git("count-objects").split()[0]) == n_before
        assert len(kbids_of(repo, repo.read_commit(commit).tree)) == 800
    kb.git("update-ref", "refs/kb/sections", commit)
    kb.git("fsck", "--strict", "--no-dangling")
    with kb.repo() as repo:
        assert len(Pool(repo)) == 800


@given(st.text(min_size=1).map(lambda t: unicodedata.normalize("NFC", t)))
def test_what_we_store_we_take(text):
    from git_kb.model.section import EmptyContent, make_section

    try:
        data = encode_section(make_section("text/markdown", text))
    except EmptyContent:
        return
    check_section(data, section_id(data))


@pytest.mark.parametrize("mark", ["\u0859", "\u085b"])
def test_characters_that_not_all_know_are_no_fault(mark):
    """Marks of class 220, since Unicode 6.0, behind one of class 230: to older tables that is in order."""
    assert not unicodedata.is_normalized("NFC", f"x\u0301{mark}")
    kbid, data = encoded(f"x\u0301{mark}")
    check_section(data, kbid)
    kbid, data = encoded(f"e\u0301{mark}")
    with pytest.raises(DamagedSection):
        check_section(data, kbid)
