import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from git_kb.repo import trees
from git_kb.repo.ident import Ident
from git_kb.repo.objects import BadPath
from git_kb.repo.protocol import DIRECTORY, EXECUTABLE, FILE, DamagedObject
from git_kb.repo.trees import Change, diff_trees, path_history, update_tree, walk_tree

from .gitrepo import ODD_NAMES, commit_all, git, line, write

in_one_repo = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)

# Few and similar names, so that files and directories clash and sort around each other.
parts = st.sampled_from([b"a", b"a.b", b"a-b", b"b", b"\xff", b"c\n"])
paths = st.lists(parts, min_size=1, max_size=3).map(b"/".join)
files = st.tuples(st.sampled_from([FILE, EXECUTABLE]), st.integers(0, 3))
models = st.dictionaries(paths, files, max_size=12)
edits = st.dictionaries(paths, st.one_of(st.none(), files), max_size=8)


def parents(path):
    return [path[:n] for n, byte in enumerate(path) if byte == ord("/")]


def consistent(model):
    """Drop the files that stand where a directory is needed."""
    return {path: file for path, file in model.items() if not any(other.startswith(path + b"/") for other in model)}


def apply(model, changes):
    """The model of update_tree: deletions first. None where it has to refuse."""
    after = dict(model)
    for path, file in changes.items():
        if file is None:
            if any(other.startswith(path + b"/") for other in model):
                return None
            after.pop(path, None)
    after.update((path, file) for path, file in changes.items() if file is not None)
    return after if consistent(after) == after else None


def with_oids(repo, model):
    return {path: file and (file[0], repo.write_blob(b"%d" % file[1])) for path, file in model.items()}


def tree_by_git(top, model):
    """Write a tree through a fresh index, with `git update-index` and `git write-tree`."""
    rows = b"".join(b"%06o %s\t%s\0" % (mode, oid.encode(), path) for path, (mode, oid) in model.items())
    git("read-tree", "--empty", cwd=top)
    git("update-index", "-z", "--index-info", cwd=top, input=rows)
    return line("write-tree", cwd=top)


@in_one_repo
@given(models, edits)
@example({b"a": (FILE, 0)}, {b"a": None, b"a/b": (FILE, 1)})
@example({b"a/b": (FILE, 0)}, {b"a/b": None, b"a": (FILE, 1)})
@example({b"a/b": (FILE, 0)}, {b"a": (FILE, 1)})
@example({b"a": (FILE, 0)}, {b"a/b": (FILE, 1)})
@example({b"a/b": (FILE, 0)}, {b"a": None, b"a/a": (FILE, 1)})
@example({b"a": (FILE, 0)}, {b"a": (FILE, 1), b"a/b": None})
@example({b"a/a/a": (FILE, 0), b"b": (FILE, 0)}, {b"a/a/a": None})
def test_update_tree_agrees_with_a_dict_and_with_git(repo, top, model, changes):
    model = consistent(model)
    before = update_tree(repo, None, with_oids(repo, model))
    assert before == tree_by_git(top, with_oids(repo, model))
    after = apply(model, changes)
    if after is None:
        with pytest.raises(BadPath):
            update_tree(repo, before, with_oids(repo, changes))
        return
    tree = update_tree(repo, before, with_oids(repo, changes))
    assert tree == tree_by_git(top, with_oids(repo, after))
    assert {path: (entry.mode, entry.oid) for path, entry in walk_tree(repo, tree)} == with_oids(repo, after)
    assert (tree == before) == (after == model)


@in_one_repo
@given(models, models)
def test_diff_trees_agrees_with_git_diff_tree(repo, top, old, new):
    one, two = (update_tree(repo, None, with_oids(repo, consistent(model))) for model in (old, new))
    got = [
        b":%06o %06o %s %s\0%s\0" % (*_modes(change), *_oids(repo, change), change.path) for change in diff_trees(repo, one, two)
    ]
    raw = git("diff-tree", "-r", "-z", "--raw", "--no-renames", "--full-index", one, two, cwd=top).split(b"\0")
    wanted = [b"%s\0%s\0" % (head.rpartition(b" ")[0], path) for head, path in zip(raw[::2], raw[1::2], strict=False)]
    assert got == wanted
    backward = [Change(path, new, old) for path, old, new in diff_trees(repo, two, one)]
    assert backward == list(diff_trees(repo, one, two))


def _modes(change):
    return [entry.mode if entry else 0 for entry in (change.old, change.new)]


def _oids(repo, change):
    return [entry.oid.encode() if entry else b"0" * repo.place.oid_hex_length for entry in (change.old, change.new)]


def test_diff_against_nothing_and_with_a_prefix(repo):
    tree = update_tree(repo, None, with_oids(repo, {b"a/b": (FILE, 1), b"c": (FILE, 2)}))
    assert [change.path for change in diff_trees(repo, None, tree, b"kb/")] == [b"kb/a/b", b"kb/c"]
    assert [(path, new) for path, _, new in diff_trees(repo, tree, None)] == [(b"a/b", None), (b"c", None)]
    assert list(diff_trees(repo, tree, tree)) == list(diff_trees(repo, None, None)) == []


class Counting:
    """A repository that counts the trees read and written."""

    def __init__(self, repo):
        self.repo, self.read, self.written = repo, [], 0

    def read_tree(self, oid):
        self.read.append(oid)
        return self.repo.read_tree(oid)

    def write_tree(self, entries):
        self.written += 1
        return self.repo.write_tree(entries)


def test_only_touched_subtrees_are_read_and_written(repo):
    tree = update_tree(repo, None, with_oids(repo, {b"%d/%d/f" % (n, m): (FILE, n) for n in range(8) for m in range(8)}))
    counting = Counting(repo)
    other = update_tree(counting, tree, with_oids(repo, {b"3/4/new": (FILE, 1), b"3/4/f": None}))
    assert (len(counting.read), counting.written) == (3, 3)
    counting = Counting(repo)
    assert len(list(diff_trees(counting, tree, other))) == 2
    assert len(counting.read) == 6
    counting = Counting(repo)
    assert update_tree(counting, tree, with_oids(repo, {b"3/4/f": (FILE, 3), b"9/9": None})) == tree
    assert counting.written == 0


def test_a_whole_subtree_can_be_put(repo):
    inner = update_tree(repo, None, with_oids(repo, {b"x": (FILE, 1), b"y/z": (FILE, 2)}))
    tree = update_tree(repo, None, {b"a/b": (DIRECTORY, inner)})
    assert [path for path, _ in walk_tree(repo, tree)] == [b"a/b/x", b"a/b/y/z"]
    other = update_tree(repo, None, with_oids(repo, {b"w": (FILE, 1)}))
    assert [path for path, _ in walk_tree(repo, update_tree(repo, tree, {b"a/b": (DIRECTORY, other)}))] == [b"a/b/w"]
    with pytest.raises(BadPath):
        update_tree(repo, tree, {b"a/b": (DIRECTORY, other), b"a/b/c": (FILE, repo.write_blob(b"x"))})


@pytest.mark.parametrize(
    "path", [b"", b"/a", b"a/", b"a//b", b"./a", b"a/../b", b".git/config", b"a/.GIT/x", b"a\0b", b"/".join([b"d"] * 401)]
)
def test_bad_paths_are_refused_for_adding_and_deleting(repo, path):
    for change in ((FILE, repo.write_blob(b"x")), None):
        with pytest.raises(BadPath):
            update_tree(repo, None, {path: change})


def test_deep_trees_are_walked_and_endless_ones_refused(repo, top, monkeypatch):
    deep = b"/".join([b"d"] * 400)
    tree = update_tree(repo, None, {deep: (FILE, repo.write_blob(b"x"))})
    assert [path for path, _ in walk_tree(repo, tree)] == [deep]
    monkeypatch.setattr(trees, "MAX_TREE_DEPTH", 300)
    with pytest.raises(DamagedObject, match="nested too deep"):
        list(walk_tree(repo, tree))


def test_odd_names_survive(repo, top):
    for name in ODD_NAMES:
        write(top, name, b"x")
    commit_all(top)
    entries = {name: (FILE, repo.write_blob(b"x")) for name in ODD_NAMES}
    assert update_tree(repo, None, entries) == line("rev-parse", "HEAD^{tree}", cwd=top)


steps = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.one_of(st.none(), st.integers(0, 2)), st.integers(0, 2)),
    min_size=1,
    max_size=14,
)


@in_one_repo
@given(steps)
def test_path_history_agrees_with_git_rev_list(repo, top, steps):
    """Random histories with merges: one path changes, comes and goes, another changes on its own."""
    commits = []
    for n, (first, second, content, other) in enumerate(steps):
        model = {b"other": (FILE, other)} | ({b"d/path": (FILE, content)} if content is not None else {})
        tree = update_tree(repo, None, with_oids(repo, model))
        ident = Ident("A", "a@example.com", 1_600_000_000 + n)
        on = dict.fromkeys(commits[-1 - back] for back in (first, second) if back < len(commits))
        commits.append(repo.write_commit(tree, on, str(n), ident, ident))
    for path in (b"d/path", b"d", b"other", b"nothing"):
        wanted = line("rev-list", commits[-1], "--", path.decode(), cwd=top).split()
        assert list(path_history(repo, commits[-1], path)) == wanted
