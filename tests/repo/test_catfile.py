"""Objects by `git cat-file`."""

import os

import pytest

from git_kb.repo.catfile import read_objects
from git_kb.repo.discover import discover

from .gitrepo import git


@pytest.fixture
def place(tmp_path):
    git("init", "-q", cwd=tmp_path)
    return discover(str(tmp_path), os.environ)


def blob(place, data):
    return git("hash-object", "-w", "--stdin", cwd=place.work_tree, input=data).decode().strip()


def test_content_comes_in_order_and_what_is_missing_is_none(place):
    datas = [b"", b"one\n", b"\0\n\n blob 3\n", b"x" * 5000]
    oids = [blob(place, data) for data in datas]
    gone = "0" * 40
    assert read_objects(place, []) == []
    assert read_objects(place, [oids[3], gone, oids[0], "no such:name with blanks", oids[2], oids[2], oids[1]]) == [
        datas[3], None, datas[0], None, datas[2], datas[2], datas[1],
    ]  # fmt: skip


def test_a_damaged_object_takes_no_other_with_it(place):
    oids = [blob(place, data) for data in (b"one", b"two", b"three")]
    path = f"{place.work_tree}/.git/objects/{oids[1][:2]}/{oids[1][2:]}"
    os.chmod(path, 0o644)
    with open(path, "wb") as file:
        file.write(b"junk")
    assert read_objects(place, oids) == [b"one", None, b"three"]
