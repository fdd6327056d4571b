"""The documentation, the packaging and the commands say the same."""

import ast
import configparser
import json
import os
import re
import shlex
from pathlib import Path

import pytest
from kb import ROOT, Kb, git, in_process

from git_kb.cli.main import COMMANDS, command_module, command_parser


def read(*parts):
    with open(os.path.join(ROOT, *parts), encoding="utf-8") as file:
        return file.read()


README = read("README.md")


def setup_cfg():
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(read("setup.cfg"))
    return parser


def source_files():
    for top, _, names in os.walk(os.path.join(ROOT, "git_kb")):
        for name in sorted(names):
            if name.endswith(".py"):
                yield os.path.relpath(os.path.join(top, name), ROOT)


def documents():
    return [os.path.join("docs", n) for n in sorted(os.listdir(os.path.join(ROOT, "docs"))) if n.endswith(".md")]


@pytest.mark.parametrize("verb", COMMANDS)
def test_a_command_is_complete(verb):
    module = command_module(verb)
    assert module.__name__ == "git_kb.cli." + verb.replace("-", "_")
    assert re.fullmatch(r"[a-z].*[^.]", module.SUMMARY)
    assert module.__doc__.startswith(f"git kb {verb}: ")
    script = read("bin", f"git-kb-{verb}")
    assert f'main_verb("{verb}")' in script
    assert script.startswith("#!/usr/bin/env python3\n")
    assert os.access(os.path.join(ROOT, "bin", f"git-kb-{verb}"), os.X_OK)
    config = setup_cfg()
    assert f"bin/git-kb-{verb}" in config["options"]["scripts"].split()
    page = f"man/git-kb-{verb}.1:function=page_{verb.replace('-', '_')}:"
    assert any(line.startswith(page) for line in config["build_manpages"]["manpages"].splitlines())
    assert re.search(rf"^   {verb} +{re.escape(module.SUMMARY)}$", in_process(ROOT, "-h").out, re.MULTILINE)


def test_nothing_is_packaged_that_is_no_command():
    verbs = {""} | {f"-{verb}" for verb in COMMANDS}
    config = setup_cfg()
    assert (
        set(config["options"]["scripts"].split())
        == {f"bin/git-kb{v}" for v in verbs}
        == {f"bin/{n}" for n in os.listdir(os.path.join(ROOT, "bin"))}
    )
    pages = {line.split(":")[0] for line in config["build_manpages"]["manpages"].split("\n") if line}
    assert pages == {f"man/git-kb{v}.1" for v in verbs}


@pytest.mark.parametrize("verb", COMMANDS)
def test_manual_pages_can_be_built(verb):
    from git_kb.cli import pages

    page = getattr(pages, f"page_{verb.replace('-', '_')}")()
    assert page.prog == f"git-kb-{verb}"
    assert "Exit status: 0 done" in page.format_help()
    assert len(page.description.split()) > 5
    for action in page._actions:
        assert action.help, action


def manual_pages():
    """Return the settings of each page in setup.cfg, and its file name as `file`."""
    for line in filter(None, setup_cfg()["build_manpages"]["manpages"].splitlines()):
        file, *settings = line.split(":")
        yield {"file": file, **dict(s.split("=", 1) for s in settings)}


def test_whatis_knows_every_page():
    """The NAME section as lexgrog(1) reads it: name, dash, one line."""
    from argparse_manpage.manpage import Manpage

    from git_kb.cli import pages

    listed = {}
    for settings in manual_pages():
        parser = getattr(pages, settings["function"])()
        text = str(Manpage(parser, {**settings, "authors": [settings["author"]], "format": "pretty"}))
        name = re.search(r"^\.SH NAME\n(\S+) \\- (\S.*)\n\.SH ", text, re.MULTILINE)
        assert name, text[:400]
        listed[name[1].replace("\\-", "-")] = name[2].replace("\\-", "-")
        assert settings["file"] == f"man/{parser.prog}.1"
    assert listed.pop("git-kb") == setup_cfg()["metadata"]["description"].replace("A ", "a ", 1)
    assert listed == {f"git-kb-{verb}": command_module(verb).SUMMARY for verb in COMMANDS}


def test_the_suite_page_names_every_command():
    from git_kb.cli import pages

    text = pages.suite().format_help()
    for verb in COMMANDS:
        assert f"git-kb-{verb}(1)" in text


def test_the_porcelain_is_in_the_readme():
    from git_kb.cli.main import PORCELAIN

    for verb in set(PORCELAIN) - {"index", "fsck"}:
        assert f"git kb {verb}" in README


def test_every_command_that_is_spoken_of_exists():
    """In hints, docstrings and documents: 'git kb <verb>' in quotes, backquotes or code."""
    spoken = re.compile(r"""['`]git kb ([a-z][a-z-]*)|^    git kb ([a-z][a-z-]*)""", re.MULTILINE)
    for path in [*source_files(), *documents(), "README.md"]:
        for match in spoken.finditer(read(path)):
            verb = match[1] or match[2]
            assert verb in COMMANDS or verb in ("config", "help"), f"{path} speaks of 'git kb {verb}'"


def test_every_option_in_a_hint_exists():
    spoken = re.compile(r"'git kb ([a-z-]+)((?: --[a-z-]+)+)")
    for path in [*source_files(), "README.md"]:
        for match in spoken.finditer(read(path)):
            options = command_parser(match[1], command_module(match[1]))._option_string_actions
            for option in match[2].split():
                assert option in options, f"{path} speaks of 'git kb {match[1]} {option}'"


def test_every_file_that_is_spoken_of_exists():
    """Modules named in documents, and documents named in modules."""
    for path in [*documents(), "README.md"]:
        for name in re.findall(
            r"`((?:git_kb/)?(?:model|text|repo|store|index|ingest|search|output|merge|cli)/[a-z_0-9]+\.py)`", read(path)
        ):
            assert os.path.isfile(os.path.join(ROOT, name if name.startswith("git_kb/") else f"git_kb/{name}")), f"{path}: {name}"
        # What stands in code is an example.
        for name in re.findall(r"\]\(([^)#:]+)\)", re.sub(r"^    .*$|`[^`\n]*`", "", read(path), flags=re.MULTILINE)):
            assert os.path.exists(os.path.join(ROOT, os.path.dirname(path), name)), f"{path}: {name}"
    for path in source_files():
        for name in re.findall(r"docs/[a-zA-Z-]+\.md", read(path)):
            # docs/ of a user's repository stands in examples.
            assert os.path.isfile(os.path.join(ROOT, name)) or name in ("docs/guide.md", "docs/README.md"), f"{path}: {name}"


@pytest.mark.parametrize("path", [p for p in documents() if os.path.basename(p).startswith("format-")])
def test_a_format_document_has_its_code_and_its_history(path):
    text = read(path)
    named = re.findall(r"`((?:git_kb/)?[a-z]+/[a-z_]+\.py)`", text)
    assert named
    assert all(os.path.isfile(os.path.join(ROOT, "git_kb", n.removeprefix("git_kb/"))) for n in named)
    assert "## History of this format" in text


def test_the_map_has_every_layer():
    text = read("docs", "ARCHITECTURE.md")
    for layer in sorted(os.listdir(os.path.join(ROOT, "git_kb"))):
        if os.path.isfile(os.path.join(ROOT, "git_kb", layer, "__init__.py")):
            assert f"`{layer}/" in text or f"| {layer}" in text or f" {layer}/" in text, layer


def test_the_configuration_table_is_that_of_the_code():
    from git_kb.store.config import _KEYS, Config

    rows = dict(re.findall(r"^\| `([a-z._]+)` \| [^|]+ \| ([^|]+) \|", read("docs", "config.md"), re.MULTILINE))
    assert set(rows) == {*_KEYS, "version"}
    config = Config()
    for key, (attribute, kind) in _KEYS.items():
        if isinstance(kind, tuple):
            assert rows[key].strip() == str(getattr(config, attribute))


def test_manifest_keys_are_those_of_the_code():
    from git_kb.store.manifest import _DOCUMENT_KEYS, _ROW_KEYS

    text = read("docs", "format-manifest.md")
    for keys, title in ((_DOCUMENT_KEYS, "## Document keys"), (_ROW_KEYS, "## Section rows")):
        section = text.partition(title)[2].partition("\n## ")[0]
        named = [k for cell in re.findall(r"^\| ([^|]+) \|", section, re.MULTILINE) for k in re.findall(r"`([a-z_]+)`", cell)]
        assert sorted(named) == sorted(keys)


def readme_commands():
    """Return the commands of the README's "Use" that need no particular file of the reader's."""
    use = README.partition("## Use")[2].partition("\n### ")[0]
    return [line.partition("  #")[0].strip() for line in use.splitlines() if line.startswith("    git ")]


def test_the_readme_runs(tmp_path):
    """The commands under "Use", on this project's own documentation."""
    kb = Kb.create(tmp_path / "repo", {})
    for name in ("README.md", *documents()):
        kb.write(name, read(name))
    kb.write("src/errors.py", read("git_kb", "errors.py"))
    kb.write(
        "docs/guide.md", "# Guide\n\nLifetimes are elided. Lifetime elision follows three rules. See [the top](../README.md).\n"
    )
    kb.commit("sources")
    git("init", "-q", "--bare", str(tmp_path / "remote.git"), cwd="/")
    kb.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    commands = readme_commands()
    assert len(commands) >= 9
    for line in commands:
        words = shlex.split(line)
        if words[:2] != ["git", "kb"]:
            for part in line.split(" && "):
                git(*shlex.split(part)[1:], cwd=kb.top)
            kb.git("tag", "v1.0", check=False)
            continue
        if words[2] == "show":
            words[3] = kb.hits("elision")[0]
        done = kb.run(*words[2:])
        assert done.code == 0, (line, done)
        assert done.out or done.err or words[2] in ("status", "diff")
    kb.check()


def test_no_program_is_started_elsewhere():
    """The layers under cli/ neither print nor look at the process's environment (docs/ARCHITECTURE.md)."""
    starters = {"git_kb/repo/process.py", "git_kb/repo/spawn.py", "git_kb/repo/pager.py"}
    environment = starters | {"git_kb/repo/discover.py", "git_kb/cli/env.py"}
    for path in source_files():
        tree = ast.parse(read(path))
        imported = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
        called = {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
        environ = any(
            isinstance(n, ast.Attribute)
            and n.attr in ("environ", "getenv")
            and isinstance(n.value, ast.Name)
            and n.value.id == "os"
            for n in ast.walk(tree)
        )
        assert "subprocess" not in imported or path in starters, path
        assert not called & {"print", "input", "eval", "exec", "breakpoint"}, path
        assert not environ or path in environment, path


def test_no_path_of_a_machine_stands_in_a_file():
    for path in [*source_files(), *documents(), "README.md", "setup.cfg", "Makefile"]:
        assert not re.search(r"(?<![\w.])/(?:work|tmp/w|root|home)/", read(path)), path


def test_documents_that_help_speaks_of_are_installed():
    """A manual page is read where there is no repository of git-kb."""
    installed = set()
    for directory, patterns in setup_cfg()["options.data_files"].items():
        if not directory.startswith("share/doc/"):
            continue  # tests/cli/test_completion.py
        for pattern in filter(None, (p.strip() for p in patterns.split(","))):
            found = {str(p.relative_to(ROOT)) for p in Path(ROOT).glob(pattern)}
            assert found, pattern
            assert {os.path.normpath(f"share/doc/git-kb/{os.path.dirname(name)}") for name in found} == {directory}
            installed |= found
    spoken = {name for path in source_files() if "cli" in path for name in re.findall(r"docs/[\w-]+\.md", read(path))}
    assert "docs/query-language.md" in spoken
    assert spoken | set(documents()) | {"README.md"} <= installed


def test_every_key_of_an_answer_is_described(tmp_path):
    kb = Kb.create(
        tmp_path / "r", {"a.md": "# Hive\n\nPaint the hive blue:\n\n```sh\npaint hive\n```\n", "b.md": "# Wax\n\nMelt wax.\n"}
    )
    kb.ok("init")
    kb.ok("ingest")
    table = read("docs/search-json.md").partition("## `query`")[2]

    def keys(value):
        if isinstance(value, dict):
            return {*value, *(k for v in value.values() for k in keys(v))}
        return {k for v in value for k in keys(v)} if isinstance(value, list) else set()

    answer = json.loads(kb.run("query", "--json", "How do I paint the hive with wax and nosuchword?").out)
    assert all(answer[k] for k in ("sentences", "code", "sources", "gaps", "explore"))
    for key in keys(answer):
        assert re.search(rf"`\.?{key}(\[\])?`", table), key
