"""Completion is made of the parsers, and shells read it. bash is asked for answers, zsh and fish where they are installed."""

import configparser
import os
import shutil
import subprocess

import pytest
from kb import ROOT, Kb

from git_kb.cli.completion import POSITIONAL, VALUES, files, options_of
from git_kb.cli.main import COMMANDS

GIT_COMPLETION = next(
    (
        path
        for path in (
            "/usr/share/bash-completion/completions/git",
            "/etc/bash_completion.d/git",
            "/usr/share/git-core/contrib/completion/git-completion.bash",
        )
        if os.path.exists(path)
    ),
    None,
)
needs_bash = pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return name of the shell -> path of its file, and a knowledge base."""
    top = tmp_path_factory.mktemp("completion")
    paths = {}
    for name, text in files().items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        paths[name.split("-")[0].split("/")[0]] = str(path)
    kb = Kb.ready(top / "r", {"docs/guide.md": "# Guide\n\nText.\n", "docs/two words.md": "# Two\n\nText.\n", "top.md": "# Top\n"})
    kb.git("tag", "v1.0")
    return paths, kb


def answers(made, *words, dashed=True, cwd=None):
    """Return what bash offers for the last word."""
    paths, kb = made
    script = f'. "{paths["bash"]}"\n' if dashed else f'. "{GIT_COMPLETION}"\n. "{paths["bash"]}"\n'
    call = "__git_kb_main" if dashed else "__git_wrap__git_main"
    script += f'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${{#COMP_LINE}}\n{call}\nprintf "%s\\n" "${{COMPREPLY[@]}}"\n'
    done = subprocess.run(["bash", "-c", script, "bash", *words], cwd=cwd or kb.top, capture_output=True, text=True, timeout=60)
    assert "rror" not in done.stderr, done.stderr
    return done.stdout.rstrip("\n").split("\n") if done.stdout.strip() else []


def kbid(kb):
    return kb.ok("ls-sections", "--format", "{kbid}", "docs--guide.md").strip()


@needs_bash
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["se"], ["search"]),
        (["ls-"], ["ls-sections", "ls-documents", "ls-segments"]),
        (["nothing"], []),
        (["help", "bl"], ["blame"]),
        (["-C", "/", "init", "--na"], ["--name"]),
        (["search", "--mod"], ["--mode"]),
        (["search", "--mode", "s"], ["sections", "stats"]),
        (["search", "--mode=d"], ["documents"]),
        (["search", "--color=a"], ["always", "auto"]),
        (["search", "--color", "a"], []),
        (["search", "--at", "v"], ["v1.0"]),
        (["search", "--at=v"], ["v1.0"]),
        (["search", "wo"], []),
        (["ingest", "d"], ["docs"]),
        (["ingest", "docs/t"], ["docs/two words.md"]),
        (["ingest", "--tier", ""], ["S", "A", "B"]),
        (["blame", "docs--"], ["docs--guide.md", "docs--two_words.md~"]),
        (["show", "top"], ["top.md"]),
        (["show", "--", "--a"], []),
        (["diff", "v"], ["v1.0"]),
        (["diff", "to"], ["top.md"]),
        (["log", "docs--g"], ["docs--guide.md"]),
    ],
)
def test_bash(made, words, expected):
    found = answers(made, "git-kb", *words)
    assert [f[: len(e)] if e.endswith("~") else f for f, e in zip(found, expected, strict=True)] == expected
    if GIT_COMPLETION:
        assert answers(made, "git", "kb", *words, dashed=False) == found


@needs_bash
def test_bash_knows_ids(made):
    _, kb = made
    whole = kbid(kb)
    assert answers(made, "git-kb", "show", whole[:4]) == [whole]
    assert answers(made, "git-kb", "cat-section", "-p", whole[:2])[0].startswith(whole[:2])
    assert answers(made, "git-kb", "cat-section", whole[:1]) == []
    (chunk,) = answers(made, "git-kb", "show", "docs--guide.md#c-")
    assert kb.run("show", chunk).code == 0
    # From a subdirectory, and from outside with -C.
    assert answers(made, "git-kb", "show", "docs--g", cwd=os.path.join(kb.top, "docs")) == ["docs--guide.md"]
    assert answers(made, "git-kb", "-C", kb.top, "show", "docs--g", cwd="/") == ["docs--guide.md"]
    assert answers(made, "git-kb", "show", "docs--g", cwd="/") == []


@needs_bash
@pytest.mark.parametrize("verb", COMMANDS)
def test_bash_offers_every_option_of_the_parser(made, verb):
    names = {n for option in options_of(verb) for n in option.names}
    assert names >= {"-h", "--help"}
    assert set(answers(made, "git-kb", verb, "-")) == names


def test_the_tables_speak_of_commands():
    assert set(POSITIONAL) <= set(COMMANDS)
    assert {o.value for verb in COMMANDS for o in options_of(verb) if o.value} >= set(VALUES.values()) & {"revs"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_read_it(made, shell):
    paths, _ = made
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run([shell, "-n", paths[shell]], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
def test_fish(made, tmp_path):
    paths, kb = made

    def offered(line):
        done = subprocess.run(
            ["fish", "--no-config", "-c", f"source {paths['fish']}; complete -C '{line}'"],
            cwd=kb.top, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        return [row.split("\t")[0] for row in done.stdout.splitlines()]

    assert offered("git-kb sear") == ["search"]
    assert sorted(offered("git-kb search --mode ")) == ["documents", "sections", "stats"]
    assert "docs--guide.md" in offered("git-kb show docs--")
    assert offered("git-kb blame --at v") == ["v1.0"]


def test_it_is_shipped():
    config = configparser.ConfigParser(interpolation=None)
    config.read(os.path.join(ROOT, "setup.cfg"))
    shipped = {f"{directory}/{os.path.basename(path)}" for directory, path in config["options.data_files"].items()}
    for name in files():
        assert f"share/{name}" in shipped
        assert config["options.data_files"][f"share/{os.path.dirname(name)}"] == f"build/completion/{name}"
