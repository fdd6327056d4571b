import os

import pytest

from git_kb.repo import worktree
from git_kb.repo.discover import NeedsWorkTree, discover
from git_kb.repo.objects import object_id
from git_kb.repo.worktree import (
    ASSUME_UNCHANGED,
    CLEAN,
    DELETED,
    GITLINK,
    INTENT_TO_ADD,
    MODIFIED,
    NESTED,
    SKIP_WORKTREE,
    SYMLINK,
    UNMERGED,
    UNTRACKED,
    UnreadableSource,
    check_ignored,
    hash_files,
    list_sources,
    read_sources,
)

from .gitrepo import ODD_NAMES, commit_all, git, init, line, write


@pytest.fixture
def wt(plain_top):
    return discover(plain_top)


def states(place, *specs):
    return {file.path: file.state for file in list_sources(place, specs)}


def test_odd_names_tracked_and_not(plain_top, wt):
    for name in ODD_NAMES:
        write(plain_top, name)
    files = list(list_sources(wt))
    assert [(f.path, f.oid, f.tracked, f.state, f.mode) for f in files] == [
        (name, None, False, UNTRACKED, 0o100644) for name in sorted(ODD_NAMES)
    ]
    commit_all(plain_top)
    oid = line("hash-object", "--stdin", cwd=plain_top, input=b"text\n")
    files = list(list_sources(wt))
    assert [(f.path, f.oid, f.tracked, f.state) for f in files] == [(name, oid, True, CLEAN) for name in sorted(ODD_NAMES)]
    for name in ODD_NAMES:
        assert states(wt, name) == {name: CLEAN}
    assert set(states(wt, b"dir")) == set(states(wt, b"dir/")) == {b"dir/sub dir/deep.md"}
    assert hash_files(wt, ODD_NAMES) == dict.fromkeys(ODD_NAMES, oid)


def test_many_pathspecs_do_not_meet_a_limit(plain_top, wt, monkeypatch):
    for name in ODD_NAMES:
        write(plain_top, name)
    commit_all(plain_top)
    write(plain_top, b"dir/new")
    many = [b"none/%d" % n for n in range(20_000)]
    wanted = {b"dir/sub dir/deep.md": CLEAN, b"dir/new": UNTRACKED, b"tab\t.md": CLEAN}
    assert states(wt, *many, b"dir", b"tab\t.md", b"plain") == wanted
    assert states(wt, b"dir", b"tab\t.md", b"plain") == wanted
    assert set(states(wt, b".")) == set(states(wt)) == set(states(wt, b"")) == {*ODD_NAMES, b"dir/new"}


def test_every_state(plain_top, wt, tmp_path):
    for name in ("clean", "modified", "deleted", "assumed", "assumed-gone", "skipped", "now-link", "now-dir", "mode", "gone/x"):
        write(plain_top, name)
    os.symlink("clean", f"{plain_top}/link")
    write(plain_top, ".gitignore", b"ignored\nignored-dir/\n*.tmp\n")
    write(plain_top, "tracked.tmp")
    git("add", "-f", "tracked.tmp", cwd=plain_top)
    commit_all(plain_top)
    write(plain_top, "modified", b"other\n")
    write(plain_top, "assumed", b"other\n")
    git("update-index", "--assume-unchanged", "assumed", "assumed-gone", cwd=plain_top)
    git("update-index", "--skip-worktree", "skipped", cwd=plain_top)
    for name in ("deleted", "assumed-gone", "skipped", "now-link", "now-dir", "gone/x"):
        os.unlink(f"{plain_top}/{name}")
    os.symlink("clean", f"{plain_top}/now-link")
    write(plain_top, "now-dir/inside")
    os.chmod(f"{plain_top}/mode", 0o755)
    write(plain_top, "intended")
    git("add", "-N", "intended", cwd=plain_top)
    write(plain_top, "staged")
    git("add", "staged", cwd=plain_top)
    os.chmod(write(plain_top, "untracked-x"), 0o755)
    os.symlink("nowhere", f"{plain_top}/untracked-link")
    for name in ("ignored", "ignored-dir/x", "x.tmp"):
        write(plain_top, name)
    os.mkfifo(f"{plain_top}/fifo")
    nested = init(f"{plain_top}/nested", wt.object_format)
    write(nested, "inner")
    commit_all(nested)
    files = {file.path.decode(): file for file in list_sources(wt)}
    assert {name: file.state for name, file in files.items()} == {
        ".gitignore": CLEAN,
        "clean": CLEAN,
        "tracked.tmp": CLEAN,
        "staged": CLEAN,
        "modified": MODIFIED,
        "mode": MODIFIED,
        "deleted": DELETED,
        "gone/x": DELETED,
        "now-dir": DELETED,
        "assumed": ASSUME_UNCHANGED,
        "assumed-gone": ASSUME_UNCHANGED,
        "skipped": SKIP_WORKTREE,
        "link": SYMLINK,
        "now-link": SYMLINK,
        "untracked-link": SYMLINK,
        "intended": INTENT_TO_ADD,
        "untracked-x": UNTRACKED,
        "now-dir/inside": UNTRACKED,
        "nested": NESTED,
    }
    assert list(files) == sorted(files)
    modes = {name: files[name].mode for name in ("mode", "untracked-x", "clean", "now-link", "link", "untracked-link", "nested")}
    assert modes == {
        "mode": 0o100755,
        "untracked-x": 0o100755,
        "clean": 0o100644,
        "now-link": 0o120000,
        "link": 0o120000,
        "untracked-link": 0o120000,
        "nested": 0o160000,
    }
    unreadable = []
    read = {file.path.decode(): (file.oid, data) for file, data in read_sources(wt, files.values(), unreadable.append)}
    assert {error.path.decode(): error.why for error in unreadable} == {
        "deleted": "it is deleted",
        "gone/x": "it is deleted",
        "now-dir": "it is deleted",
        "nested": "it is a repository",
    }
    ignore = b"ignored\nignored-dir/\n*.tmp\n"
    odd = {"modified": b"other\n", "link": b"clean", "now-link": b"clean", "untracked-link": b"nowhere", ".gitignore": ignore}
    assert {name: data for name, (_, data) in read.items()} == {
        name: odd.get(name, b"text\n") for name in files if name not in ("deleted", "gone/x", "now-dir", "nested")
    }
    assert all(oid == object_id("blob", data, wt.object_format) for oid, data in read.values())


def test_a_conflict_is_one_unmerged_file(plain_top, wt):
    for name in ("both", "theirs-gone", "clean"):
        write(plain_top, name)
    commit_all(plain_top)
    git("switch", "-q", "-c", "side", cwd=plain_top)
    write(plain_top, "both", b"side\n")
    os.unlink(f"{plain_top}/theirs-gone")
    commit_all(plain_top)
    git("switch", "-q", "main", cwd=plain_top)
    for name in ("both", "theirs-gone"):
        write(plain_top, name, b"main\n")
    commit_all(plain_top)
    git("merge", "-q", "side", cwd=plain_top, check=False)
    files = list(list_sources(wt))
    assert [(f.path, f.state, f.oid is None) for f in files] == [
        (b"both", UNMERGED, True),
        (b"clean", CLEAN, False),
        (b"theirs-gone", UNMERGED, True),
    ]
    with pytest.raises(UnreadableSource, match="cannot read 'both': it has a merge conflict"):
        list(read_sources(wt, files))
    git("merge", "--abort", cwd=plain_top)


def test_submodules_and_linked_work_trees(plain_top, wt, tmp_path):
    inner = init(tmp_path / "inner", wt.object_format)
    write(inner, "in")
    commit_all(inner)
    git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner, "sub", cwd=plain_top)
    write(plain_top, "a")
    commit_all(plain_top)
    assert states(wt) == {b".gitmodules": CLEAN, b"a": CLEAN, b"sub": GITLINK}
    assert states(discover(f"{plain_top}/sub")) == {b"in": CLEAN}
    git("worktree", "add", "-q", str(tmp_path / "linked"), cwd=plain_top)
    write(tmp_path / "linked", "a", b"changed here")
    assert states(discover(str(tmp_path / "linked")))[b"a"] == MODIFIED
    assert states(wt)[b"a"] == CLEAN


def test_sparse_checkout_deletes_nothing(plain_top, wt):
    for name in ("keep/a", "away/b", "top"):
        write(plain_top, name)
    commit_all(plain_top)
    git("sparse-checkout", "set", "keep", cwd=plain_top)
    assert not os.path.exists(f"{plain_top}/away")
    files = list(list_sources(wt))
    assert {f.path: f.state for f in files} == {b"keep/a": CLEAN, b"away/b": SKIP_WORKTREE, b"top": CLEAN}
    assert [data for _, data in read_sources(wt, files)] == [b"text\n"] * 3


def test_a_file_only_touched_reads_as_what_it_was(plain_top, wt):
    write(plain_top, "a")
    commit_all(plain_top)
    os.utime(f"{plain_top}/a", (1, 1))
    (file,) = list_sources(wt)
    ((read, data),) = read_sources(wt, [file])
    assert (read.oid, data) == (file.oid, b"text\n")


def test_unborn_branch_index_file_and_subdirectory(plain_top, tmp_path):
    write(plain_top, "sub/a")
    git("add", "-A", cwd=plain_top)
    assert states(discover(f"{plain_top}/sub")) == {b"sub/a": CLEAN}
    other = discover(plain_top, {**os.environ, "GIT_INDEX_FILE": str(tmp_path / "other-index")})
    assert states(other) == {b"sub/a": UNTRACKED}


def test_no_work_tree_no_files(tmp_path, plain_top):
    bare = init(tmp_path / "bare.git", "sha1", "--bare")
    for path in (bare, plain_top + "/.git"):
        place = discover(path)
        for ask in (list_sources, lambda p: hash_files(p, []), lambda p: check_ignored(p, []), lambda p: read_sources(p, [])):
            with pytest.raises(NeedsWorkTree, match="must be run in a work tree"):
                list(ask(place))


def test_clean_form_after_line_end_conversion_and_filters(plain_top, wt):
    git("config", "filter.up.clean", "tr a-z A-Z", cwd=plain_top)
    write(plain_top, ".gitattributes", b"*.txt text eol=crlf\n*.up filter=up\nraw.txt -text\n")
    names = {"a.txt": b"a\r\nb\r\n", "raw.txt": b"a\r\nb\r\n", "b.up": b"shout\n", "lf.txt": b"a\nb\n", "new\nline.up": b"odd\n"}
    clean = {"a.txt": b"a\nb\n", "raw.txt": b"a\r\nb\r\n", "b.up": b"SHOUT\n", "lf.txt": b"a\nb\n", "new\nline.up": b"ODD\n"}
    for name, data in names.items():
        write(plain_top, name, data)
    wanted = {name.encode(): object_id("blob", data, wt.object_format) for name, data in clean.items()}

    def read(files):
        return {f.path: (f.oid, data) for f, data in read_sources(wt, files) if f.path != b".gitattributes"}

    expected = {name.encode(): (wanted[name.encode()], data) for name, data in clean.items()}
    n_objects = line("count-objects", cwd=plain_top)
    assert hash_files(wt, [name.encode() for name in names]) == wanted
    assert read(list_sources(wt)) == expected
    assert line("count-objects", cwd=plain_top) == n_objects
    commit_all(plain_top)
    assert {f.path: f.oid for f in list_sources(wt) if f.path in wanted} == wanted
    assert read(list_sources(wt)) == expected
    write(plain_top, "b.up", b"again\n")
    assert read(list_sources(wt))[b"b.up"][1] == b"AGAIN\n"


def test_a_filter_that_fails_is_reported_not_skipped(plain_top, wt):
    git("config", "filter.bad.clean", "false", cwd=plain_top)
    git("config", "filter.bad.required", "true", cwd=plain_top)
    write(plain_top, ".gitattributes", b"*.bad filter=bad\n")
    for name in ("a", "b.bad", "c"):
        write(plain_top, name)
    errors = []
    read = [file.path for file, _ in read_sources(wt, list_sources(wt), errors.append)]
    assert read == [b".gitattributes", b"a", b"c"]
    assert [(error.path, error.why) for error in errors] == [(b"b.bad", "git cannot read it: clean filter 'bad' failed")]


def test_files_that_are_not_there_or_not_ours(plain_top, wt, tmp_path):
    (tmp_path / "secret").write_bytes(b"secret")
    os.symlink(tmp_path, f"{plain_top}/out")
    os.mkdir(f"{plain_top}/dir")
    write(plain_top, "a")
    asked = [
        b"a",
        b"none",
        b"dir",
        b"out/secret",
        b"out",
        b"../secret",
        str(tmp_path / "secret").encode(),
        b"",
        b"a\0b",
        b"dir/../a",
    ]
    text = object_id("blob", os.fsencode(tmp_path), wt.object_format)
    assert hash_files(wt, asked) == {b"a": object_id("blob", b"text\n", wt.object_format), b"out": text}
    errors = []
    file = next(f for f in list_sources(wt) if f.path == b"a")
    strays = [worktree.SourceFile(path, 0o100644, None, False, UNTRACKED, True) for path in asked if b"\0" not in path]
    assert [f.path for f, _ in read_sources(wt, [*strays, file], errors.append)] == [b"a", b"a"]
    assert len(errors) == len(strays) - 1


def test_hashing_goes_on_after_a_file_that_vanishes(plain_top, wt):
    for name in ("a", "b", "c"):
        write(plain_top, name)
    oid = object_id("blob", b"text\n", wt.object_format)
    assert worktree._hash_objects(wt, [b"gone", b"a", b"gone too", b"b", b"gone"], []) == {b"a": oid, b"b": oid}


def test_ignored_paths(plain_top, wt):
    write(plain_top, ".gitignore", b"*.log\n!keep.log\nbuild/\n\\:(glob)x\n")
    write(plain_top, "tracked.log")
    git("add", "-f", "tracked.log", cwd=plain_top)
    os.symlink("/", f"{plain_top}/out")
    odd = [b"new\nline.log", b"-x.log", b"\xff.log", b":(glob)x"]
    asked = [b"a.log", b"keep.log", b"build/x", b"a.md", b"tracked.log", b"out/x.log", b"../x.log", b"", *odd]
    assert check_ignored(wt, asked) == {b"a.log", b"build/x", *odd}
    assert check_ignored(wt, [b"a.md"]) == check_ignored(wt, []) == set()


def test_a_missing_object_is_reported(plain_top, wt):
    write(plain_top, "a")
    oid = line("hash-object", "a", cwd=plain_top)
    (file,) = list_sources(wt)
    stray = worktree.SourceFile(b"b", 0o100644, oid, True, CLEAN, False)
    errors = []
    assert [f.path for f, _ in read_sources(wt, [stray, file], errors.append)] == [b"a"]
    assert errors[0].why == f"its object '{oid}' is missing"


def test_windows_keep_the_order(plain_top, wt, monkeypatch):
    monkeypatch.setattr(worktree, "WINDOW_FILES", 7)
    monkeypatch.setattr(worktree, "WINDOW_BYTES", 100)
    for n in range(50):
        write(plain_top, f"{n:02}", b"%d" % n * (n % 30))
    commit_all(plain_top)
    for n in range(0, 50, 3):
        write(plain_top, f"{n:02}", b"new %d" % n)
    read = [(int(file.path), data) for file, data in read_sources(wt, list_sources(wt))]
    assert read == [(n, b"new %d" % n if n % 3 == 0 else b"%d" % n * (n % 30)) for n in range(50)]


def test_stopping_early_leaves_no_process(plain_top, wt):
    for n in range(20):
        write(plain_top, str(n), b"x" * 100_000)
    commit_all(plain_top)
    reading = read_sources(wt, list_sources(wt))
    next(reading)
    reading.close()
    assert len(list(read_sources(wt, list_sources(wt)))) == 20
