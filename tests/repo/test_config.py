import os

import pytest

from git_kb.repo.config import BadConfig, read_config, unset_local, write_local
from git_kb.repo.discover import discover
from git_kb.repo.process import GitFailed

from .gitrepo import git, init, line


@pytest.fixture
def top(tmp_path):
    return init(tmp_path / "repo")


@pytest.fixture
def place(top):
    return discover(top)


def test_nothing_set(place):
    config = read_config(place)
    assert config.keys() == []
    assert (config.get("kb.x"), config.get("kb.x", "d"), config.get_all("kb.x")) == (None, "d", [])
    assert (config.get_bool("kb.x", True), config.get_int("kb.x", 7), config.get_path("kb.x", "/d")) == (True, 7, "/d")
    assert config.get_choice("kb.x", ("a", "b"), "b") == "b"


def test_scopes_values_and_case(place, top):
    git("config", "--global", "kb.model", "global", cwd=top)
    git("config", "--add", "kb.model", "local\nwith a line end ✓", cwd=top)
    git("config", "kb.Watch.Odd Name.maxSize", "1", cwd=top)
    git("config", "kbx.no", "1", cwd=top)
    git("config", "other.kb.no", "1", cwd=top)
    config = read_config(place)
    assert config.get_all("kb.model") == ["global", "local\nwith a line end ✓"]
    assert config.get("KB.Model") == "local\nwith a line end ✓"
    assert config.get("kb.Watch.Odd Name.MAXSIZE") == "1"
    assert config.get("kb.watch.odd name.maxsize") is None
    assert config.keys() == ["kb.Watch.Odd Name.maxsize", "kb.model"]


def test_command_line_settings_count(top):
    place = discover(top, {**os.environ, "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "kb.x", "GIT_CONFIG_VALUE_0": "y"})
    assert read_config(place).get("kb.x") == "y"


@pytest.mark.parametrize("text", ["true", "yes", "on", "TRUE", "1", "-2", "1k", "false", "no", "Off", "0", ""])
def test_truth_values_are_gits(place, top, text):
    git("config", "kb.x", text, cwd=top)
    assert read_config(place).get_bool("kb.x") == (line("config", "--type=bool", "kb.x", cwd=top) == "true")


@pytest.mark.parametrize("text", ["0", "12", "-3", "+4", "2k", "3M", "1g", "-1k"])
def test_numbers_are_gits(place, top, text):
    git("config", "kb.x", text, cwd=top)
    assert read_config(place).get_int("kb.x") == int(line("config", "--type=int", "kb.x", cwd=top))


def test_a_key_without_value_is_true(place, top):
    with open(f"{top}/.git/config", "a") as file:
        file.write("[kb]\n\tbare\n")
    config = read_config(place)
    assert config.get_bool("kb.bare")
    assert config.get("kb.bare") == ""


@pytest.mark.parametrize("text", ["maybe", "1.5", "k", "-", "٣", "1kk", "0x10"])
def test_bad_values_name_the_key(place, top, text):
    git("config", "kb.x", text, cwd=top)
    config = read_config(place)
    for get in (config.get_bool, config.get_int):
        with pytest.raises(BadConfig, match=r"for 'kb\.x'") as caught:
            get("kb.x")
        assert caught.value.value == text
        assert "git config kb.x" in caught.value.hint
    with pytest.raises(BadConfig, match="one of a, b expected"):
        config.get_choice("kb.x", ("a", "b"), "a")


def test_paths_expand_as_in_git(place, top):
    git("config", "kb.x", "~/notes", cwd=top)
    assert read_config(place).get_path("kb.x") == os.environ["HOME"] + "/notes"


def test_writing_is_local(place, top):
    write_local(place, "kb.x", "one\ntwo")
    assert line("config", "--local", "kb.x", cwd=top) == "one\ntwo"
    assert read_config(place).get("kb.x") == "one\ntwo"
    assert unset_local(place, "kb.x")
    assert not unset_local(place, "kb.x")
    with pytest.raises(GitFailed):
        write_local(place, "no-dot", "x")


def test_a_broken_configuration_is_gits_error(place, top):
    with open(f"{top}/.git/config", "a") as file:
        file.write("[kb\n")
    with pytest.raises(GitFailed, match="bad config line"):
        read_config(place)
