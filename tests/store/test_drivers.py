"""The drivers in a clone's configuration, and who says that they are missing."""

import os

import pytest
from kb import Kb, git

from git_kb.store.drivers import driver_settings, install_drivers, missing_drivers, unconfigured_drivers


@pytest.fixture
def kb(tmp_path):
    return Kb.ready(tmp_path / "r")


def test_init_sets_them_once(kb):
    assert missing_drivers(kb.place()) == []
    before = kb.read(".git/config")
    assert "is complete already; nothing to do" in kb.run("init").err
    assert kb.read(".git/config") == before
    for key, value in driver_settings().items():
        assert kb.git("config", "--local", "--get-all", key) == value


def test_what_differs_is_set_right_and_the_rest_is_left_alone(kb):
    kb.git("config", "merge.kb-page.driver", "old %A")
    kb.git("config", "merge.kb-page.recursive", "text")
    kb.git("config", "merge.other.driver", "other %A")
    assert missing_drivers(kb.place()) == ["merge.kb-page.driver"]
    assert install_drivers(kb.place()) == ["merge.kb-page.driver"]
    assert missing_drivers(kb.place()) == []
    assert kb.git("config", "merge.kb-page.recursive") == "text"
    assert kb.git("config", "merge.other.driver") == "other %A"


def test_a_clone_is_told_that_it_lacks_them(kb, tmp_path):
    kb.git("clone", "-q", kb.top, str(tmp_path / "clone"))
    clone = Kb(tmp_path / "clone")
    line = "  .gitattributes names merge drivers that this clone lacks (kb-manifest, kb-page, kb-index); run 'git kb init'"
    assert line in clone.ok("status").splitlines()
    assert clone.json("status")["unconfigured_drivers"] == ["kb-manifest", "kb-page", "kb-index"]
    checked = clone.run("init", "--check")
    assert checked.code == 1
    assert [text.split(": ")[1].split()[0] for text in checked.out.splitlines()] == list(driver_settings())
    assert git("status", "--porcelain", cwd=clone.top) == ""
    clone.ok("init")
    assert clone.run("init", "--check") == (0, "", "")
    assert "merge drivers" not in clone.ok("status")


def test_check_writes_nothing(tmp_path):
    kb = Kb.create(tmp_path / "r")
    before = kb.read(".git/config")
    checked = kb.run("init", "--check")
    assert checked.code == 1
    for name in ("kb.config.json", "kb/catalog.toml", "kb/AGENTS.md", ".gitattributes", "merge.kb-index.driver"):
        assert name in checked.out
    assert kb.git("status", "--porcelain") == ""
    assert kb.read(".git/config") == before


@pytest.mark.parametrize("name", ["kb.config.json", "kb/catalog.toml", "kb/AGENTS.md", ".gitattributes"])
def test_check_names_each_missing_file(kb, name):
    os.unlink(kb.path(name))
    assert kb.run("init", "--check").out == f"missing or not up to date: {name}\n"


def test_without_attributes_there_is_nothing_to_say(kb):
    """Whose attributes name no driver of ours needs none."""
    kb.write(".gitattributes", "* text=auto\n")
    for name in ("manifest", "page", "index"):
        kb.git("config", "--remove-section", f"merge.kb-{name}")
    assert unconfigured_drivers(kb.place()) == []


def test_a_linked_work_tree_has_the_configuration_of_all(kb, tmp_path):
    kb.git("worktree", "add", "-q", str(tmp_path / "linked"))
    linked = Kb(tmp_path / "linked")
    assert missing_drivers(linked.place()) == unconfigured_drivers(linked.place()) == []


def test_each_kind_of_file_has_its_driver(kb):
    out = kb.git(
        "check-attr",
        "merge",
        "--",
        "kb/documents/a.toml",
        "kb/wiki/index-sources-2.md",
        "kb/wiki/pages/index.md",
        "kb/wiki/a.md",
        "a.md",
    )
    assert [line.split(": ")[2] for line in out.splitlines()] == ["kb-manifest", "kb-index", "kb-page", "kb-page", "unspecified"]
