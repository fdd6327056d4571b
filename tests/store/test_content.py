"""Section content for a few hits, by one git process."""

import os

import pytest
from kb import Kb

from git_kb.store.content import read_contents


@pytest.fixture
def kb(tmp_path):
    return Kb.ready(tmp_path / "repo")


def kbids(kb):
    return kb.ok("ls-sections", "--format", "{kbid}").split()


def test_all_of_them(kb):
    names = kbids(kb)
    found = read_contents(kb.place(), names)
    assert list(found) == names
    for name, section in found.items():
        assert section.content.decode() == kb.ok("cat-section", "-p", name)
        assert section.mime == kb.ok("cat-section", "-t", name).strip()


def test_missing_ones_are_left_out(kb):
    names = kbids(kb)
    assert list(read_contents(kb.place(), ["a" * 26, names[0], "b" * 26, names[1], "c" * 26])) == names[:2]
    assert read_contents(kb.place(), []) == {}
    assert read_contents(kb.place(), ["a" * 26]) == {}


def test_damaged_ones_are_left_out(kb):
    names = kbids(kb)
    oid = kb.git("rev-parse", f"refs/kb/sections:{names[1][:2]}/{names[1][2:]}")
    os.unlink(kb.path(f".git/objects/{oid[:2]}/{oid[2:]}"))
    assert list(read_contents(kb.place(), names)) == [n for n in names if n != names[1]]


def test_without_a_pool(kb):
    names = kbids(kb)
    kb.git("update-ref", "-d", "refs/kb/sections")
    assert read_contents(kb.place(), names) == {}
