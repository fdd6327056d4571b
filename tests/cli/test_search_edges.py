"""Any string is a query, from the command line too; colours and hyperlinks as the user wants them."""

import io
import json
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kb import Kb

from git_kb.cli.env import Env
from git_kb.cli.main import run

_KB = []


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    kb = Kb.ready(tmp_path_factory.mktemp("edges") / "repo")
    kb.write("odd.md", "# Odd 🚀\n\nC++ -> 蜜蜂 `--dry-run` $HOME.\n")
    kb.ok("ingest", "-q", "odd.md")
    return kb


@pytest.fixture(autouse=True)
def _known(kb):
    _KB[:] = [kb]


PIECES = [
    '"', "“", "”", "(", ")", "-", " ", " OR ", "*", "~2", ":", "heading:", "code:", "tag:", "path:", "before:", "after:2024", "-after:",
    "type:", "hive", "swarm", "hievs", "C++", "->", "🚀", "蜂", "蜜蜂", "the", "to be", "\t", "\x00", "\x1b[31m", "\ud800", "é", "$(image: x)",
]  # fmt: skip
anything = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PIECES), max_size=12).map("".join))


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(anything, st.sampled_from(["sections", "documents", "stats", ""]), st.booleans())
def test_any_string_is_a_query(text, mode, as_json):
    kb = _KB[0]
    arguments = ["--mode", mode] * bool(mode) + ["--json"] * as_json
    done = kb.run("search", *arguments, "--", text)
    assert done.code in (0, 1), (text, done)
    assert (done.code == 0) == bool(
        json.loads(done.out).get("results", json.loads(done.out).get("total_matches")) if as_json else done.out
    )
    assert "\x1b" not in done.out + done.err or as_json
    if not mode and not as_json:
        assert kb.run("search", *text.split()).code in (0, 1, 129)


def test_a_query_of_ten_thousand_words(kb):
    words = " ".join(f"word{n}" for n in range(10_000))
    done = kb.run("search", words + " hive")
    assert done.code == 0
    assert "of its 20001 terms the 64 that tell most are looked for" in done.err or "terms the 64" in done.err
    assert kb.hits("hive " + words) == kb.hits("hive")


def test_a_query_of_a_megabyte(kb):
    done = kb.run("search", "hive " + "x " * 500_000)
    assert done.code == 0
    assert "longer than" in done.err


class Terminal(io.StringIO):
    def isatty(self):
        return True


def on_terminal(kb, *arguments, **environ):
    env = Env(kb.top, {**os.environ, "TERM": "xterm-256color", **environ}, Terminal(), io.StringIO())
    try:
        assert run(["search", *arguments], env) == 0
    finally:
        env.close()
    return env.out.getvalue()


RED = "\x1b[1;31m"


def test_colours_are_as_in_git(kb):
    for arguments in (["hive"], ["-q", "hive"]):
        assert RED in on_terminal(kb, *arguments)
        assert RED not in kb.ok("search", *arguments)
        assert RED not in on_terminal(kb, *arguments, NO_COLOR="1")
        assert RED not in on_terminal(kb, *arguments, TERM="dumb")
        assert RED in kb.ok("search", *arguments, GIT_PAGER_IN_USE="1")
    assert RED in kb.ok("search", "--color", "hive")
    assert RED in kb.ok("search", "--color=always", "hive", NO_COLOR="1")
    assert RED not in on_terminal(kb, "--color=never", "hive")
    assert RED not in on_terminal(kb, "--no-color", "hive")
    assert RED in on_terminal(kb, "--color=auto", "hive")
    assert kb.run("search", "--color=pink", "hive").code == 129


@pytest.mark.parametrize(
    ("key", "value", "tty", "piped"),
    [
        ("color.ui", "always", True, True),
        ("color.ui", "never", False, False),
        ("color.ui", "false", False, False),
        ("color.ui", "auto", True, False),
        ("color.kb", "never", False, False),
        ("color.kb", "always", True, True),
    ],
)
def test_colours_by_configuration(kb, key, value, tty, piped):
    kb.git("config", key, value)
    try:
        assert (RED in on_terminal(kb, "hive")) == tty
        assert (RED in kb.ok("search", "hive")) == piped
        assert RED not in kb.ok("search", "hive", NO_COLOR="1")
    finally:
        kb.git("config", "--unset", key)
    environ = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": key, "GIT_CONFIG_VALUE_0": value}
    assert (RED in kb.ok("search", "hive", **environ)) == piped


LINK = "\x1b]8;;file://"


def test_hyperlinks(kb):
    top = kb.top
    assert LINK not in kb.ok("search", "hive")
    assert LINK not in on_terminal(kb, "hive")
    linked = on_terminal(kb, "hive", TERM="xterm-kitty")
    assert f"{top}/docs/guide.md#5\x1b\\" in linked
    assert f"{top}/docs/guide.md#" in on_terminal(kb, "--mode", "documents", "hive", TERM="xterm-kitty")
    assert LINK not in on_terminal(kb, "hive", TERM="xterm-kitty", GIT_KB_HYPERLINKS="never")
    assert LINK in on_terminal(kb, "hive", GIT_KB_HYPERLINKS="always")
    assert LINK in kb.ok("search", "hive", GIT_KB_HYPERLINKS="always")
    assert LINK not in kb.ok("search", "hive", GIT_KB_HYPERLINKS="auto")
    kb.git("config", "kb.hyperlinks", "never")
    assert LINK not in on_terminal(kb, "hive", TERM="xterm-kitty")
    kb.git("config", "kb.hyperlinks", "always")
    kb.git("config", "kb.hyperlinkFormat", "vscode://file{path}:{line}")
    assert f"\x1b]8;;vscode://file{top}/docs/guide.md:5\x1b\\" in on_terminal(kb, "hive")
    assert LINK not in kb.ok("search", "hive")
    kb.git("config", "--remove-section", "kb")


@pytest.mark.parametrize("value", ["pink", "always!", "2x", " "])
@pytest.mark.parametrize("key", ["color.kb", "color.ui", "kb.hyperlinks"])
def test_a_setting_that_means_nothing_is_fatal_as_in_git(kb, key, value):
    environ = {"TERM": "xterm-kitty", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": key, "GIT_CONFIG_VALUE_0": value}
    for arguments in (["hive"], ["-q", "hive"]):
        env = Env(kb.top, {**os.environ, **environ}, Terminal(), io.StringIO())
        assert run(["search", *arguments], env) == 128
        env.close()
        said = env.err.getvalue()
        assert said.startswith(f"fatal: bad value '{value}' for '{key}': ")
        assert said.count(key) == 2  # the hint names it, too
        assert env.out.getvalue() == ""


@pytest.mark.parametrize("key", ["color.kb", "kb.hyperlinks"])
@pytest.mark.parametrize(("value", "on"), [("true", True), ("YES", True), ("1", True), ("0", False), ("off", False), ("", False)])
def test_truth_values_of_settings_are_those_of_git(kb, key, value, on):
    environ = {"TERM": "xterm-kitty", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": key, "GIT_CONFIG_VALUE_0": value}
    assert ((RED if key == "color.kb" else LINK) in on_terminal(kb, "hive", **environ)) == on


def test_a_variable_that_means_nothing_is_fatal_as_in_git(kb):
    for arguments in (["hive"], ["-q", "hive"], ["--mode", "documents", "hive"]):
        done = kb.run("search", *arguments, GIT_KB_HYPERLINKS="sometimes")
        assert (done.code, done.out) == (128, "")
        assert done.err == (
            "fatal: bad value 'sometimes' for the variable 'GIT_KB_HYPERLINKS'\nhint: unset it, or set it to always, never or auto\n"
        )
    assert kb.run("search", "hive", GIT_KB_HYPERLINKS="").code == 0


@pytest.mark.parametrize(
    "format", ["{path}", "nowhere", "file://{line}", "file://{path}#{row}", "file://{path", "9x:{path}", ":{path}"]
)
def test_a_format_that_makes_no_link_is_fatal(kb, format):
    kb.git("config", "kb.hyperlinkFormat", format)
    done = kb.run("search", "hive", GIT_KB_HYPERLINKS="always")
    assert (done.code, done.out) == (128, "")
    assert done.err.startswith(f"fatal: bad value '{format}' for 'kb.hyperlinkFormat': a URL with {{path}}")
    assert kb.run("search", "hive").code == 0


def test_a_path_does_not_get_out_of_its_link(tmp_path):
    name = "a\x1b\\\x07;b\n.md"
    kb = Kb.ready(tmp_path / "repo", {name: "# Odd\n\nquince\n"})
    out = on_terminal(kb, "--no-color", "quince", GIT_KB_HYPERLINKS="always")
    assert "/a%1B%5C%07%3Bb%0A.md#1\x1b\\a\\x1b\\\\x07;b\\n.md:1\x1b]8;;\x1b\\" in out
    assert out.count("\x1b") == 4
