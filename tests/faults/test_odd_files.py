"""Something else stands where a file belongs that commands read: none hangs, each says what is wrong or does without."""

import json
import os

import pytest
from kb import Kb, needs_obedience, process
from odd import ODD, link_to_itself, named_pipe, time_limit

NAMES = [
    "kb.config.json",
    "kb/catalog.toml",
    "kb/AGENTS.md",
    "kb/documents/notes.txt.toml",
    "kb/documents",
    "kb",
    ".gitattributes",
    ".gitignore",
    ".git/info/exclude",
    "notes.txt",
    "docs",
]
COMMANDS = [
    ["init"],
    ["ingest"],
    ["ingest", "-f", "notes.txt"],
    ["search", "syrup"],
    ["search", "--limit", "3", "--json", "syrup"],
    ["query", "syrup"],
    ["show", "notes.txt"],
    ["status"],
    ["log", "notes.txt"],
    ["index", "--rebuild"],
    ["fsck"],
    ["ls-documents"],
    ["ls-sections"],
    ["chunk", "notes.txt"],
    ["tokens", "notes.txt"],
    ["hash-section", "notes.txt"],
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tmp_path_factory.mktemp("model") / "repo"


@pytest.fixture
def kb(model, tmp_path):
    with time_limit(100):
        yield Kb.copy(model, tmp_path / "repo", "search", "syrup")


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: odd.__name__)
@pytest.mark.parametrize("name", NAMES)
def test_no_command_hangs_or_traces_back(kb, name, odd):
    path = kb.path(name).decode()
    for args in COMMANDS:
        if not os.path.lexists(path) or odd.__name__ != "directory":
            odd(path)
        # An exception that is no KbError would come out of here.
        done = kb.run(*args)
        assert done.code in (0, 1, 128), (args, done)
        assert (done.err != "") >= (done.code == 128), (args, done)


@pytest.mark.parametrize(
    ("name", "args", "says"),
    [
        ("kb.config.json", ["ingest"], "'kb.config.json': cannot be read: not a regular file but a named pipe"),
        ("kb/documents", ["search", "x"], "'kb/documents' is a named pipe, not a directory"),
        ("kb", ["init"], "'kb' is a named pipe, not a directory"),
        ("kb/AGENTS.md", ["init"], "'kb/AGENTS.md' is not a regular file"),
        (".gitattributes", ["ingest"], "/.gitattributes' is a named pipe, not a file"),
        (".gitignore", ["status"], "/.gitignore' is a named pipe, not a file"),
        (".git/info/exclude", ["status"], "/exclude' is a named pipe, not a file"),
        ("notes.txt", ["chunk", "notes.txt"], "cannot read 'notes.txt': not a regular file but a named pipe"),
        ("notes.txt", ["tokens", "notes.txt"], "cannot read 'notes.txt': not a regular file but a named pipe"),
        ("notes.txt", ["hash-section", "notes.txt"], "cannot read 'notes.txt': not a regular file but a named pipe"),
    ],
)
def test_it_is_said_what_and_where_and_what_to_do(kb, name, args, says):
    named_pipe(kb.path(name).decode())
    done = kb.run(*args)
    assert done.code == 128
    assert done.err.startswith("fatal: ")
    assert says in done.err
    assert "\nhint: " in done.err


def test_an_odd_manifest_is_named_and_the_rest_is_read(kb):
    named_pipe(kb.path("kb/documents/notes.txt.toml").decode())
    done = kb.run("search", "syrup")
    assert done.code == 0
    assert "manifest 'notes.txt.toml' is damaged: it cannot be read: not a regular file but a named pipe" in done.err
    kb.ok("ingest")
    assert kb.run("search", "swarm").err == ""


def test_a_pipe_of_the_shell_is_read(kb):
    """`git kb chunk <(cat notes.txt)`."""
    reader, writer = os.pipe()
    os.write(writer, kb.read("notes.txt"))
    os.close(writer)
    with os.fdopen(reader):
        assert '"first_line": 1' in kb.ok("chunk", "--name", "notes.txt", f"/dev/fd/{reader}")


def unreadable(path):
    os.chmod(path, 0)


def a_link_elsewhere(path):
    os.rename(path, path + ".real")
    os.symlink(os.path.basename(path) + ".real", path)


@pytest.mark.parametrize("odd", [*ODD, unreadable, a_link_elsewhere], ids=lambda odd: odd.__name__)
@needs_obedience
def test_a_configuration_that_cannot_be_read_is_told_by_all_that_use_it(kb, odd):
    odd(kb.path("kb.config.json").decode())
    told = "'kb.config.json': cannot be read: "
    for args in (["ingest"], ["ingest", "-n", "notes.txt"], ["status"]):
        done = process(kb.top, *args, obey=True)
        assert done.code == 128, (args, done)
        assert done.err.startswith(f"fatal: {told}"), (args, done)
        assert "\nhint: " in done.err
    for args in (["search", "syrup"], ["search", "--json", "syrup"], ["query", "syrup"]):
        done = process(kb.top, *args, obey=True)
        assert (done.code, done.out != "") == (0, True), (args, done)
        assert done.err.startswith(f"warning: {told}"), (args, done)
        assert "; ranking with the defaults\n" in done.err
    done = process(kb.top, "fsck", obey=True)
    assert done.code == 1
    assert done.out.startswith(f"damaged_config kb.config.json: {told}")


@pytest.mark.parametrize(
    "text", ["", "{", '{"name": "x",', "junk", '{\n<<<<<<< ours\n"name": "a"\n=======\n"name": "b"\n>>>>>>> theirs\n}\n']
)
def test_a_damaged_configuration_is_told_by_a_search_that_needs_nothing_of_it(kb, text):
    kb.write("kb.config.json", text)
    done = kb.run("search", "syrup")
    assert done.code == 0
    assert done.err.startswith("warning: 'kb.config.json': is not JSON")


@pytest.mark.parametrize("text", ["{", "[]", '{"version": 2}', '{"chunk": 3}'])
def test_a_configuration_that_makes_no_sense_is_found_by_fsck(kb, text):
    kb.write("kb.config.json", text)
    assert [e["type"] for e in json.loads(kb.run("fsck", "--json").out)["errors"]] == ["damaged_config"]
    assert kb.json("fsck", "--cached")["errors"] == []


@pytest.mark.parametrize("odd", [named_pipe, link_to_itself])
def test_as_its_own_process(kb, odd):
    """A traceback would be seen here, whatever catches it in a test."""
    odd(kb.path("kb.config.json").decode())
    done = process(kb.top, "status")
    assert "Traceback" not in done.err
    assert done.code == 128
