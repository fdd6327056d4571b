import os

import pytest

from git_kb.repo.discover import MOVES_GIT, NoRepository, Place, discover_plain
from git_kb.repo.discover import discover as ask_git

from .gitrepo import commit_all, git, init, line, write


def env(**more):
    return {**os.environ, **more}


def discover(cwd, environ=None):
    """Return what git says; what is found without git, if anything, has to be the same."""
    place = ask_git(cwd, environ)
    plain = discover_plain(cwd, os.environ if environ is None else environ)
    if plain is not None:
        assert facts(plain) == facts(place)
    return place


def facts(place):
    return {name: getattr(place, name) for name in Place.__slots__ if name != "env"}


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
@pytest.mark.parametrize("name", ["plain", "with space", "new\nline", 'quo"te', "trailing\n", os.fsdecode(b"\xff"), "--kb"])
def test_main_work_tree_from_top_and_below(tmp_path, name, object_format):
    top = init(tmp_path / name, object_format)
    os.makedirs(f"{top}/a\nb/c")
    for below, prefix in (("", b""), ("/a\nb", b"a\nb/"), ("/a\nb/c", b"a\nb/c/")):
        place = discover(top + below)
        assert (place.work_tree, place.git_dir, place.common_dir, place.prefix) == (top, top + "/.git", top + "/.git", prefix)
        assert (place.object_format, place.ref_format, place.is_bare, place.is_shallow) == (object_format, "files", False, False)
        assert (place.kb_dir, place.worktree_id, place.objects_dir) == (top + "/.git/kb", "", top + "/.git/objects")
    assert place.oid_hex_length == (64 if object_format == "sha256" else 40)


def test_relative_directory_and_symbolic_link(tmp_path, monkeypatch):
    top = init(tmp_path / "repo")
    os.mkdir(f"{top}/sub")
    os.symlink(f"{top}/sub", tmp_path / "link")
    monkeypatch.chdir(tmp_path)
    for cwd in ("repo/sub", "link"):
        place = discover(cwd)
        assert (place.work_tree, place.prefix) == (os.path.realpath(top), b"sub/")
    monkeypatch.chdir(f"{top}/sub")
    assert discover(".").work_tree == top


def test_inside_the_git_directory_there_is_no_work_tree(tmp_path):
    top = init(tmp_path / "repo")
    for cwd in ("/.git", "/.git/refs"):
        place = discover(top + cwd)
        assert (place.work_tree, place.git_dir, place.is_bare, place.prefix) == (None, top + "/.git", False, b"")


def test_bare(tmp_path):
    top = init(tmp_path / "bare.git", "sha1", "--bare")
    for cwd in (top, top + "/refs"):
        place = discover(cwd)
        assert (place.work_tree, place.git_dir, place.is_bare, place.kb_dir) == (None, top, True, top + "/kb")


def test_linked_work_tree_shares_the_kb_directory(tmp_path):
    top = init(tmp_path / "repo")
    commit_all(top)
    git("worktree", "add", "-q", str(tmp_path / "linked"), cwd=top)
    os.mkdir(tmp_path / "linked/sub")
    place = discover(str(tmp_path / "linked/sub"))
    assert place.git_dir == top + "/.git/worktrees/linked"
    assert (place.common_dir, place.kb_dir, place.worktree_id) == (top + "/.git", top + "/.git/kb", "linked")
    assert (place.work_tree, place.prefix) == (str(tmp_path / "linked"), b"sub/")


def test_submodule_is_a_repository_of_its_own(tmp_path):
    inner, outer = init(tmp_path / "inner"), init(tmp_path / "outer")
    commit_all(inner)
    git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner, "sub", cwd=outer)
    place = discover(f"{outer}/sub")
    assert (place.work_tree, place.git_dir, place.worktree_id) == (f"{outer}/sub", f"{outer}/.git/modules/sub", "")
    assert place.common_dir == place.git_dir


def test_git_dir_and_work_tree_from_the_environment(tmp_path):
    top = init(tmp_path / "repo")
    os.mkdir(tmp_path / "elsewhere")
    os.mkdir(tmp_path / "elsewhere/sub")
    both = env(GIT_DIR=top + "/.git", GIT_WORK_TREE=str(tmp_path / "elsewhere"))
    for cwd, prefix in ((tmp_path / "elsewhere/sub", b"sub/"), (tmp_path, b"")):
        place = discover(str(cwd), both)
        assert (place.work_tree, place.git_dir, place.prefix) == (str(tmp_path / "elsewhere"), top + "/.git", prefix)
    place = discover(str(tmp_path), env(GIT_DIR=top + "/.git"))
    assert place.work_tree == str(tmp_path)
    assert discover(str(tmp_path), env(GIT_DIR="repo/.git")).git_dir == top + "/.git"


def test_unborn_detached_and_shallow(tmp_path):
    top = init(tmp_path / "repo")
    assert discover(top).work_tree == top
    write(top, "a")
    first = commit_all(top)
    write(top, "b")
    commit_all(top)
    git("clone", "-q", "--depth=1", f"file://{top}", str(tmp_path / "shallow"), cwd=top)
    assert discover(str(tmp_path / "shallow")).is_shallow
    git("checkout", "-q", first, cwd=top)
    assert not discover(top).is_shallow


def test_objects_may_be_elsewhere(tmp_path):
    top = init(tmp_path / "repo")
    os.mkdir(f"{top}/.git/quarantine")
    place = discover(top, env(GIT_OBJECT_DIRECTORY=".git/quarantine", GIT_ALTERNATE_OBJECT_DIRECTORIES="/a:b"))
    assert place.objects_dir == f"{top}/.git/quarantine"
    assert place.alternates == ["/a", f"{top}/b"]


def test_gits_refusals_are_passed_on(tmp_path, monkeypatch):
    with pytest.raises(NoRepository, match=r"^not a git repository \(or any") as caught:
        discover(str(tmp_path), env(GIT_CEILING_DIRECTORIES=str(tmp_path.parent)))
    assert caught.value.exit_code == 128
    with pytest.raises(NoRepository, match="cannot change to"):
        discover(str(tmp_path / "nothing"))
    with pytest.raises(NoRepository, match="not a git repository: '/nothing'"):
        discover(str(tmp_path), env(GIT_DIR="/nothing"))
    top = init(tmp_path / "repo")
    with pytest.raises(NoRepository, match=r"dubious ownership(.|\n)*safe.directory"):
        discover(top, env(GIT_TEST_ASSUME_DIFFERENT_OWNER="1"))
    git("config", "core.repositoryFormatVersion", "1", cwd=top)
    git("config", "extensions.fromTheFuture", "1", cwd=top)
    with pytest.raises(NoRepository, match="fromthefuture"):
        discover(top)


def test_place_asks_git_about_the_same_repository_from_anywhere(tmp_path, monkeypatch):
    top = init(tmp_path / "repo")
    commit_all(top)
    git("worktree", "add", "-q", str(tmp_path / "linked"), cwd=top)
    for path in (top, str(tmp_path / "linked"), top + "/.git"):
        place = discover(path)
        asked = line("rev-parse", "--absolute-git-dir", cwd="/", **place.git_env())
        assert asked == place.git_dir
    assert discover(top).git_env({"X": "y"})["X"] == "y"


def test_a_plain_repository_is_found_without_git(tmp_path):
    top = init(tmp_path / "repo")
    os.makedirs(f"{top}/a/b")
    for below in ("", "/a", "/a/b"):
        assert discover_plain(top + below, os.environ) is not None
        discover(top + below)


@pytest.mark.parametrize(
    "setting",
    ["core.worktree=/", "core.bare=true", "core.repositoryFormatVersion=1", "extensions.worktreeConfig=true", "include.path=x"],
)
def test_settings_that_move_things_are_left_to_git(tmp_path, setting):
    top = init(tmp_path / "repo")
    git("config", *setting.split("="), cwd=top)
    assert discover_plain(top, os.environ) is None


@pytest.mark.parametrize("name", MOVES_GIT)
def test_an_environment_that_moves_things_is_left_to_git(tmp_path, name):
    top = init(tmp_path / "repo")
    assert discover_plain(top, env(**{name: "1"})) is None


@pytest.mark.parametrize("damage", ["HEAD", "objects", "refs", "config"])
def test_what_is_not_whole_is_left_to_git(tmp_path, damage):
    top = init(tmp_path / "repo")
    os.rename(f"{top}/.git/{damage}", f"{top}/.git/away")
    assert discover_plain(top, os.environ) is None


def test_a_link_or_file_for_git_directory_and_a_bare_one_around_us_are_left_to_git(tmp_path):
    top = init(tmp_path / "repo")
    os.mkdir(tmp_path / "linked")
    os.symlink(f"{top}/.git", tmp_path / "linked/.git")
    write(str(tmp_path / "named"), ".git", f"gitdir: {top}/.git\n".encode())
    os.mkdir(f"{top}/sub")
    write(f"{top}/sub", "HEAD", b"ref: refs/heads/main\n")
    for cwd in ("linked", "named", "repo/sub", "repo/.git", "repo/.git/refs"):
        assert discover_plain(str(tmp_path / cwd), os.environ) is None
