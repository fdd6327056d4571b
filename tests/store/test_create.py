import subprocess

import pytest

from git_kb.repo.discover import NeedsWorkTree, discover
from git_kb.store.create import BEGIN, OutsideLink, create_root
from git_kb.store.state import worktree_config


@pytest.fixture
def place(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    return discover(str(tmp_path))


def test_twice_is_once(place, tmp_path):
    assert create_root(place, "n", 0.0) == ["kb.config.json", "kb/catalog.toml", "kb/AGENTS.md", ".gitattributes"]
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file() and ".git/" not in str(p)}
    assert create_root(place, "other", 99.0) == []
    assert before == {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file() and ".git/" not in str(p)}
    assert worktree_config(place).name == "n"


@pytest.mark.parametrize("old", [b"", b"*.png binary\n", b"*.png binary", b"*.a b\r\n*.c d\r\n"])
def test_the_users_attributes_stay_byte_for_byte(place, tmp_path, old):
    path = tmp_path / ".gitattributes"
    path.write_bytes(old)
    create_root(place, None, 0.0)
    new = path.read_bytes()
    assert new.startswith(old)
    assert (b"\r\n" in new) == (b"\r\n" in old)
    create_root(place, None, 0.0)
    assert path.read_bytes() == new


def test_an_old_block_is_replaced_in_place(place, tmp_path):
    path = tmp_path / ".gitattributes"
    create_root(place, None, 0.0)
    fresh = path.read_bytes()
    path.write_bytes(b"before\n" + fresh.replace(b"linguist-generated", b"old") + b"after\n")
    assert create_root(place, None, 0.0) == [".gitattributes"]
    assert path.read_bytes() == b"before\n" + fresh + b"after\n"
    assert path.read_bytes().count(BEGIN.encode()) == 1


def test_a_linked_kb_directory_is_refused(place, tmp_path, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (tmp_path / "kb").symlink_to(outside)
    with pytest.raises(OutsideLink):
        create_root(place, None, 0.0)
    assert list(outside.iterdir()) == []


def test_a_bare_repository_has_no_place_for_it(tmp_path):
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "b"], check=True)
    with pytest.raises(NeedsWorkTree):
        create_root(discover(str(tmp_path / "b")), None, 0.0)
