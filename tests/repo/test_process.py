import itertools
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from git_kb.repo.discover import discover
from git_kb.repo.process import CatFile, GitFailed, foreign_env, git, git_at, own_env

from .gitrepo import commit_all, init, line, write
from .gitrepo import git as run

sizes = st.lists(st.one_of(st.integers(0, 300), st.sampled_from([4095, 4096, 65535, 65536, 65537, 300_000])), max_size=120)


@pytest.fixture
def top(tmp_path):
    return init(tmp_path / "repo")


def test_git_returns_output_and_raises_its_words(top):
    assert git(["hash-object", "--stdin"], top, b"hello\n") == b"ce013625030ba8dba906f756967f9e9ca394464a\n"
    with pytest.raises(GitFailed, match=r"^Needed a single revision$") as caught:
        git(["rev-parse", "--verify", "nothing"], top)
    assert (caught.value.status, caught.value.args_) == (128, ["rev-parse", "--verify", "nothing"])
    assert git(["rev-parse", "--verify", "nothing"], top, check=False) == b""


def test_a_silent_failure_still_has_a_message(top):
    with pytest.raises(GitFailed, match="git rev-parse ended with status 1"):
        git(["rev-parse", "--verify", "--quiet", "nothing"], top)


def test_own_env_keeps_what_a_hook_sets_and_foreign_env_drops_it():
    env = {**os.environ, "GIT_DIR": "/x", "GIT_INDEX_FILE": "/x/next-index", "GIT_SSH": "ssh"}
    assert own_env(env) == {**env, "GIT_OPTIONAL_LOCKS": "0"}
    clean = foreign_env(env)
    assert not {"GIT_DIR", "GIT_INDEX_FILE"} & set(clean)
    assert clean["GIT_SSH"] == "ssh"


def test_git_at_runs_in_its_repository_whatever_the_caller_is_in(top, tmp_path, monkeypatch):
    other = init(tmp_path / "other")
    write(top, "in-top")
    place = discover(top)
    monkeypatch.chdir(other)
    assert git_at(place, ["ls-files", "--others"]) == (0, b"in-top\n")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(sizes, st.data())
def test_cat_file_gives_every_object_in_order(tmp_path, sizes, data):
    top = str(tmp_path / "repo")
    if not os.path.exists(top):
        init(top)
    blobs = [bytes([n % 251]) * size for n, size in enumerate(sizes)]
    # git hash-object takes paths, not a stream of contents, so the blobs go in through fast-import.
    stream = b"".join(b"blob\nmark :%d\ndata %d\n%s\n" % (n, len(blob), blob) for n, blob in enumerate(blobs, 1))
    marks = str(tmp_path / "marks")
    run("fast-import", "--quiet", f"--export-marks={marks}", cwd=top, input=stream)
    with open(marks, "rb") as file:
        oids = {int(mark[1:]): oid for mark, oid in (row.split() for row in file)}
    asked = data.draw(st.lists(st.sampled_from([*range(1, len(blobs) + 1), 0]), max_size=300)) if blobs else [0]
    names = [oids[n] if n else b"0" * 40 for n in asked]
    with CatFile(top) as cat_file:
        answers = list(cat_file.read_many(iter(names)))
    assert [name for name, *_ in answers] == names
    assert [(kind, found) for _, _, kind, found in answers] == [("blob", blobs[n - 1]) if n else ("missing", b"") for n in asked]


def test_cat_file_streams_more_than_the_pipes_hold(top):
    blob = os.urandom(100_000)
    oid = run("hash-object", "-w", "--stdin", cwd=top, input=blob).strip()
    with CatFile(top) as cat_file:
        for _, _, _, data in itertools.islice(cat_file.read_many(itertools.repeat(oid)), 300):
            assert data == blob
        assert cat_file.read(oid) == (oid, "blob", blob)


def test_cat_file_resolves_any_name(top):
    names = [b"new\nline", b"cr\r", b"a b", b"-x", b"\xff"]
    for name in names:
        write(top, name, b"in " + name)
    commit = commit_all(top).encode()
    with CatFile(top) as cat_file:
        for _, oid, kind, data in cat_file.read_many(b":" + name for name in names):
            assert (kind, len(oid)) == ("blob", 40)
            assert data.startswith(b"in ")
        assert [d for *_, d in cat_file.read_many(b"HEAD:" + name for name in names)] == [b"in " + name for name in names]
        assert cat_file.read(b"HEAD")[:2] == (commit, "commit")
        assert cat_file.read(b"HEAD^{tree}")[1] == "tree"
        long = b"x" * 10_000
        missing = [b"", b" ", b"no", b"no such 3", b"a\0b", b"no\nline", long, b"no", long, b"HEAD:no missing"]
        assert list(cat_file.read_many(missing)) == [(name, b"", "missing", b"") for name in missing]


def test_a_read_left_early_or_nested_in_another_disturbs_nothing(top):
    oids = [run("hash-object", "-w", "--stdin", cwd=top, input=b"%d" % n).strip() for n in range(5)]
    with CatFile(top) as cat_file:
        for *_, data in cat_file.read_many(oids):
            assert data == b"0"
            break
        seen = [(data, cat_file.read(oids[3])[2]) for *_, data in cat_file.read_many(oids)]
    assert seen == [(b"%d" % n, b"3") for n in range(5)]


def test_objects_written_after_the_start_are_found(top):
    with CatFile(top) as cat_file:
        assert cat_file.read(b"1" * 40)[1] == "missing"
        oid = run("hash-object", "-w", "--stdin", cwd=top, input=b"later").strip()
        assert cat_file.read(oid) == (oid, "blob", b"later")


def test_a_damaged_object_gives_gits_words(top):
    oid = line("hash-object", "-w", "--stdin", cwd=top, input=b"hello" * 100)
    path = f"{top}/.git/objects/{oid[:2]}/{oid[2:]}"
    os.chmod(path, 0o644)
    os.truncate(path, os.path.getsize(path) - 3)
    with CatFile(top) as cat_file, pytest.raises(GitFailed, match=oid):
        cat_file.read(oid.encode())


def test_cat_file_in_a_directory_without_repository(tmp_path):
    with CatFile(str(tmp_path)) as cat_file, pytest.raises(GitFailed, match="not a git repository"):
        cat_file.read(b"HEAD")
