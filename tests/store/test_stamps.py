"""Stamps: the quick answer to "has a manifest changed?"."""

import os

import pytest

from git_kb.store import stamps
from git_kb.store.stamps import quick_key, stamp_directory


@pytest.fixture
def directory(tmp_path):
    path = tmp_path / "documents"
    path.mkdir()
    for name in ("a.toml", "b.toml", "c.txt"):
        (path / name).write_text(name)
    return str(path)


def test_only_manifests_count(directory):
    found, key = stamp_directory(directory)
    assert list(found) == ["a.toml", "b.toml"]
    assert quick_key(directory, 2) == key
    with open(directory + "/c.txt", "a") as file:
        file.write("more")
    assert quick_key(directory, 2) == key


def put(path, text, mode="w"):
    with open(path, mode) as file:
        file.write(text)


CHANGES = {
    "made": lambda d: put(d + "/n.toml", ""),
    "removed": lambda d: os.unlink(d + "/a.toml"),
    "renamed": lambda d: os.rename(d + "/a.toml", d + "/z.toml"),
    "grown": lambda d: put(d + "/a.toml", "x", "a"),
    "touched": lambda d: os.utime(d + "/a.toml", (1, 1)),
    "replaced": lambda d: (put(d + "/t", "a.toml"), os.replace(d + "/t", d + "/a.toml")),
    "same size in place": lambda d: put(d + "/a.toml", "b.toml", "r+"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_seen(directory, change):
    _, before = stamp_directory(directory)
    CHANGES[change](directory)
    assert quick_key(directory, 2) != before


@pytest.mark.parametrize("change", ["made", "removed", "renamed", "replaced"])
def test_many_files_are_seen_by_their_directory(directory, change, monkeypatch):
    monkeypatch.setattr(stamps, "MAX_STATS", 1)
    found, before = stamp_directory(directory)
    assert quick_key(directory, len(found)) == before
    CHANGES[change](directory)
    assert quick_key(directory, len(found)) != before


def test_a_missing_directory_is_an_empty_one(tmp_path):
    (tmp_path / "empty").mkdir()
    assert stamp_directory(str(tmp_path / "none")) == stamp_directory(str(tmp_path / "empty")) == ({}, b"files ")
    assert quick_key(str(tmp_path / "none"), 0) == b"files "
    (tmp_path / "file").write_text("x")
    assert stamp_directory(str(tmp_path / "file")) == ({}, b"files ")


def test_links_are_not_followed(directory, tmp_path):
    os.symlink("a.toml", directory + "/l.toml")
    stamps = stamp_directory(directory)[0]
    assert list(stamps) == ["a.toml", "b.toml", "l.toml"]
    assert stamps["l.toml"] != stamps["a.toml"]
